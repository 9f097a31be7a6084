package agent

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
)

// Accounting is worth less than the cluster: a head node on which it does not come up
// is ready without it, and says so in its status.

// noAccounting begins the reason why a head node has no accounting.
const noAccounting = "there is no accounting (and no slurmrestd): "

// accountingServices are those without which there is no accounting.
var accountingServices = []string{"mariadb", "slurmdbd"}

// database finds a database for accounting, installs one, or says why there is none.
func (h *headNode) database(ctx context.Context) (string, error) {
	h.poor, h.uninstalled = "", false
	p := h.params()
	switch {
	case p.NoAccounting:
		return "the file's slurmdbd", nil
	case p.Database:
		return h.fileDatabase(ctx)
	}
	if found := mariadb(ctx, h.machine); found.Daemon != "" {
		return found.Daemon, nil
	}
	if err := h.machine.InstallDatabase(ctx); err != nil {
		h.poor = noAccounting + err.Error()
		h.uninstalled = true
		return h.poor, nil
	}
	return h.takeDatabase(ctx)
}

// fileDatabase looks whether slurmdbd can be told how the file's database is reached.
func (h *headNode) fileDatabase(ctx context.Context) (string, error) {
	accounting, err := h.accounting(ctx)
	if err != nil {
		return "", err
	}
	if why := accounting.Database.Unreadable(); why != "" {
		h.poor = noAccounting + why + ": see the secret of Database/PasswordSecretArn"
		return h.poor, nil
	}
	return "the file's database", nil
}

// takeDatabase takes a server that was installed just now.
func (h *headNode) takeDatabase(ctx context.Context) (string, error) {
	found := mariadb(ctx, h.machine)
	if found.Daemon == "" {
		h.poor = noAccounting + "MariaDB was installed, and its server is nowhere"
		return h.poor, nil
	}
	// Packages start a server of their own.
	_, err := h.machine.Quiet(ctx, []string{"mariadb", "mysql", "mysqld"})
	return found.Daemon + ", installed now", err
}

// account goes on trying to install a database, beside everything else, and takes up
// one whose installation has ended: on a new machine the system's own updates may hold
// the lock of packages for long.
func (h *headNode) account(ctx context.Context) error {
	switch {
	case !h.uninstalled:
		return nil
	case h.installed == nil:
		done := make(chan error, 1)
		h.installed = done
		h.background.Go(func() { done <- h.machine.InsistOnDatabase(ctx) })
		return nil
	}
	select {
	case err := <-h.installed:
		h.installed, h.uninstalled = nil, false
		if err != nil {
			h.poor = noAccounting + err.Error()
			return nil
		}
	default:
		return nil
	}
	h.poor = ""
	if _, err := h.takeDatabase(ctx); err != nil {
		return err
	}
	if _, err := h.apply(ctx); err != nil {
		return err
	}
	_, err := h.accounts(ctx)
	return err
}

// mariadb finds the server, wherever the distribution has it.
func mariadb(ctx context.Context, m boot.Machine) services.MariaDB {
	found := services.MariaDB{
		Daemon:  m.Find("mariadbd", "/usr/libexec/mariadbd", "/usr/libexec/mysqld", "mysqld"),
		Install: m.Find("mariadb-install-db", "mysql_install_db"),
	}
	if found.Daemon == "" {
		return found
	}
	if out, err := m.Command(ctx, found.Daemon, "--version"); err == nil && needsPlugin(out) {
		found.Load = services.BySocket
	}
	return found
}

// needsPlugin tells of what a server says of its version whether it knows users by
// their socket only with a library: before 10.4.3.
func needsPlugin(said string) bool {
	_, rest, _ := strings.Cut(said, "Ver ")
	text, _, ok := strings.Cut(rest, "-MariaDB")
	var version []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false // the version is not known, and new ones have it
		}
		version = append(version, n)
	}
	return ok && slices.Compare(version, []int{10, 4, 3}) < 0
}

// headServices are a head node's services. slurmrestd is none without accounting: it
// does not start where Slurm has no slurmdbd.
func (h *headNode) headServices(ctx context.Context) []supervise.Service {
	all := services.CloudServices(h.headParams(ctx))
	if _, err := os.Stat(h.slurm.Sbin + "/slurmrestd"); err != nil || h.poor != "" {
		return without(all, "slurmrestd")
	}
	return all
}

// serveAll has the head node's services run: without accounting if that does not answer.
func (h *headNode) serveAll(ctx context.Context) (string, error) {
	h.services = h.headServices(ctx)
	detail, err := h.serve(ctx, h.services)
	u, ok := errors.AsType[unanswered](err)
	if !ok || !slices.Contains(accountingServices, u.name) {
		return detail, err
	}
	h.poor = noAccounting + u.Error() + "; the next update or restart of the head node tries it again"
	h.Log.Error("going on without accounting", "why", u.Error())
	if _, _, err := h.configure(ctx); err != nil {
		return "", err
	}
	h.services = h.headServices(ctx)
	detail, err = h.serve(ctx, h.services)
	return detail + "; " + h.poor, err
}
