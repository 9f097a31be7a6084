package boot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Systemd reports whether systemd runs the machine.
func (m Machine) Systemd() bool {
	_, err := os.Stat(m.path("/run/systemd/system"))
	return err == nil && m.find("systemctl") != ""
}

// HostName gives the machine its name.
func (m Machine) HostName(ctx context.Context, name string) (string, error) {
	if have, err := os.Hostname(); err == nil && have == name {
		return name + " already", nil
	}
	if m.Systemd() && m.find("hostnamectl") != "" {
		_, err := m.Command(ctx, "hostnamectl", "set-hostname", name)
		return name, err
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return "", fmt.Errorf("set host name %s: %w", name, err)
	}
	_, err := m.Write("/etc/hostname", name+"\n", 0o644, "")
	return name, err
}

// Hosts are names that the machine knows without asking: name to address.
func (m Machine) Hosts(names map[string]string) error {
	old, err := m.Read("/etc/hosts")
	if err != nil {
		return err
	}
	text := hosts(old, names)
	if text == old {
		return nil
	}
	// In place: something else may have mounted it.
	return os.WriteFile(m.path("/etc/hosts"), []byte(text), 0o644)
}

// mark begins the lines of a file that are ours.
const mark = "# muster: below here, lines are written anew"

// aboveOurs is a file up to the mark, and the mark.
func aboveOurs(old string) string {
	kept, _, _ := strings.Cut(old, mark)
	if kept != "" && !strings.HasSuffix(kept, "\n") {
		kept += "\n"
	}
	return kept + mark + "\n"
}

func hosts(old string, names map[string]string) string {
	var b strings.Builder
	b.WriteString(aboveOurs(old))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "%s %s\n", names[name], name)
	}
	return b.String()
}

// Search lets the resolver look for short names in a zone. It may be repeated: some
// systems write their resolver's file anew with each lease.
func (m Machine) Search(ctx context.Context, zone string) (string, error) {
	zone = strings.TrimSuffix(zone, ".")
	if zone == "" {
		return "names are not managed by the cluster", nil
	}
	if m.Systemd() && m.find("resolvectl") != "" {
		changed, err := m.Write("/etc/systemd/resolved.conf.d/muster.conf", "[Resolve]\nDomains="+zone+"\n", 0o644, "")
		if err != nil {
			return "", err
		}
		if changed {
			if _, err := m.Command(ctx, "systemctl", "try-restart", "systemd-resolved"); err != nil {
				return "", err
			}
		}
	}
	if link, err := os.Readlink(m.path("/etc/resolv.conf")); err == nil && strings.Contains(link, "systemd") {
		return zone + " by systemd-resolved", nil
	}
	old, err := m.Read("/etc/resolv.conf")
	if err != nil {
		return "", err
	}
	if text := searching(old, zone); text != old {
		// In place: something else may have mounted it.
		err = os.WriteFile(m.path("/etc/resolv.conf"), []byte(text), 0o644)
	}
	return zone + " in /etc/resolv.conf", err
}

// searching is a resolv.conf that looks for names in a zone first.
func searching(old, zone string) string {
	var lines []string
	search := []string{zone}
	for line := range strings.Lines(old) {
		line = strings.TrimRight(line, "\n")
		if f := strings.Fields(line); len(f) > 0 && (f[0] == "search" || f[0] == "domain") {
			for _, word := range f[1:] {
				if !slices.Contains(search, word) {
					search = append(search, word)
				}
			}
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(append([]string{"search " + strings.Join(search, " ")}, lines...), "\n") + "\n"
}

// Account is a user of the system.
type Account struct {
	Name string
	// ID is the number of the user and the group where there is none of this name yet.
	ID int
}

// Accounts are those of the daemons, with the numbers that ParallelCluster's images
// give them: machines of one cluster must agree on them.
var Accounts = []Account{{"slurm", 401}, {"munge", 402}}

// Users makes the accounts that the image lacks.
func (m Machine) Users(ctx context.Context, accounts []Account) (string, error) {
	var said []string
	for _, a := range accounts {
		u, err := user.Lookup(a.Name)
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			id := fmt.Sprint(a.ID)
			if _, err := m.Command(ctx, "groupadd", "--force", "--gid", id, a.Name); err != nil {
				return "", err
			}
			if _, err := m.Command(ctx, "useradd", "--system", "--uid", id, "--gid", id, "--no-create-home", "--shell", "/sbin/nologin", a.Name); err != nil {
				return "", err
			}
			said = append(said, a.Name+" made as "+id)
			continue
		}
		if err != nil {
			return "", err
		}
		said = append(said, a.Name+" "+u.Uid)
	}
	return strings.Join(said, ", "), nil
}

// RevokeSudo takes a user's right to become root, which cloud-init gives to the image's
// default user: of the rules for a user, the last one counts.
func (m Machine) RevokeSudo(user string) error {
	_, err := m.Write("/etc/sudoers.d/99-muster-default-user", "# Written by muster: DisableSudoAccessForDefaultUser.\n"+user+" ALL=(ALL:ALL) !ALL\n", 0o440, "")
	return err
}

// Quiet stops services that the image starts by itself and that the agent runs.
func (m Machine) Quiet(ctx context.Context, units []string) (string, error) {
	if !m.Systemd() {
		return "no systemd, so nothing was started by the image", nil
	}
	var stopped []string
	for _, unit := range units {
		if out, err := m.Command(ctx, "systemctl", "is-enabled", unit); err != nil && strings.TrimSpace(out) != "disabled" {
			if active, _ := m.Command(ctx, "systemctl", "is-active", unit); strings.TrimSpace(active) != "active" {
				continue // there is no such unit, or it does not run
			}
		}
		if _, err := m.Command(ctx, "systemctl", "disable", "--now", unit); err != nil {
			return "", err
		}
		stopped = append(stopped, unit)
	}
	if len(stopped) == 0 {
		return "the image starts none of " + strings.Join(units, ", "), nil
	}
	return "stopped " + strings.Join(stopped, ", "), nil
}
