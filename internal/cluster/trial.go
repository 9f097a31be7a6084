package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/provider/local"
)

// trialDir is where a slurmctld tries a configuration.
const trialDir = "trial"

// trialWait is how long slurmctld may think about its configuration. It needs about a
// tenth of a second; one that takes longer has refused nothing.
const trialWait = 10 * time.Second

// tried has a slurmctld of its own, without a network and with nothing to lose, read
// what the cluster's would get, where the user has settings of his own in it.
func (u *up) tried(ctx context.Context) (err error) {
	if err := owned(u.File); err != nil || !customised(u.File) {
		return err
	}
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("look up the caller: %w", err)
	}
	name := strings.ToLower(u.Ref.Name)
	cfg, err := newConfig(u.layout, local.Record{Name: u.Ref.Name, User: me.Username, HeadName: name + "-head"}, u.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sweepPath(u.layout, trialDir)) }()
	if err := u.writeTrial(cfg); err != nil {
		return fmt.Errorf("try the configuration: %w", err)
	}
	said, err := u.runTrial(ctx, cfg.owners.control)
	if err != nil {
		return fmt.Errorf("try the configuration: %w", err)
	}
	return refusal(said, u.layout.Path(trialDir), u.File.Scheduling.Slurm.Custom)
}

func sweepPath(l *local.Layout, name string) error {
	dir, err := os.Open(l.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return sweep(dir, name)
}

// writeTrial writes the configuration as it would be, but for what is of this place.
func (u *up) writeTrial(cfg config) error {
	l := u.layout
	if err := sweepPath(l, trialDir); err != nil {
		return err
	}
	if err := os.MkdirAll(l.Path(trialDir, "state"), 0o755); err != nil {
		return err
	}
	if err := give(l.Path(trialDir, "state"), cfg.owners.control, 0o700|os.ModeDir); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	conf := cfg.slurm
	conf.HeadName, _, _ = strings.Cut(host, ".")
	conf.StateDir, conf.SpoolDir = l.Path(trialDir, "state"), l.Path(trialDir, "state")
	conf.ResumeProgram, conf.SuspendProgram, conf.JobProlog = "/bin/true", "/bin/true", "/bin/true"
	conf.Accounting.Off = true
	if l.Rootless {
		conf.ControlUser, conf.NodeUser = "root", "root" // of its user namespace
	}
	text := strings.NewReplacer(
		"\nAuthType=auth/munge\n", "\nAuthType=auth/none\nCredType=cred/none\nSlurmctldPidFile="+l.Path(trialDir, "state", "pid")+"\n",
		"\nAccountingStorageTRES=gres/gpu\n", "\n", // which takes a slurmdbd
	).Replace(conf.Conf())
	for name, text := range map[string]string{"slurm.conf": text, "cgroup.conf": conf.CgroupConf()} {
		if err := local.WriteFile(l.Path(trialDir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// runTrial runs slurmctld until it has made up its mind, and returns what it said.
func (u *up) runTrial(ctx context.Context, as string) (said []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/sbin/slurmctld", "-D", "-c", "-f", u.layout.Path(trialDir, "slurm.conf"))
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr, err = trialProcess(u.layout, as)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	said = listen(out)
	cancel() // it has said what we wanted to know
	_ = cmd.Wait()
	return said, nil
}

// trialProcess is a process in namespaces of its own that ends with us.
func trialProcess(l *local.Layout, as string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL}
	if l.Rootless {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: l.UID, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: l.GID, Size: 1}}
		return attr, nil
	}
	who, err := user.Lookup(as)
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}

// listen reads what slurmctld says until it runs, ends, or waits for a file that will
// not come.
func listen(r io.Reader) (said []string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "slurmctld: ")
		said = append(said, line)
		if strings.HasPrefix(line, "fatal: ") || waitsForFile(line) || line == trialRuns {
			break
		}
	}
	return said
}
