package local

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/thread"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// trialDir is where a slurmctld tries a configuration.
const trialDir = "trial"

// trialWait is how long slurmctld may think about its configuration. It needs about a
// tenth of a second; one that takes longer has refused nothing.
const trialWait = 10 * time.Second

// tried has a slurmctld of its own, without a network and with nothing to lose, read
// what the cluster's would get, where the user has settings of his own in it.
func (u *up) tried(ctx context.Context) (err error) {
	if err := owned(u.File); err != nil || len(customised(u.File)) == 0 {
		return err
	}
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("look up the caller: %w", err)
	}
	name := strings.ToLower(u.Ref.Name)
	cfg, err := newConfig(u.layout, nodes.Record{Name: u.Ref.Name, User: me.Username, HeadName: name + "-head"}, u.File, u.Workload)
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
	return refusal(said, trialPath(u.layout), customised(u.File))
}

func sweepPath(l *nodes.Layout, name string) error {
	dir, err := os.Open(l.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return sweep(dir, name)
}

// writeTrial writes the cluster's configuration with the paths and services of a trial.
func (u *up) writeTrial(cfg config) error {
	l := u.layout
	if err := sweepPath(l, trialDir); err != nil {
		return err
	}
	if err := os.MkdirAll(l.Path(trialDir, "state"), 0o755); err != nil {
		return err
	}
	if err := own.Give(l.Path(trialDir, "state"), cfg.owners.control, 0o700|os.ModeDir); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	conf := cfg.slurm
	conf.HeadName, _, _ = strings.Cut(host, ".")
	conf.StateDir, conf.SpoolDir = trialPath(l)+"/state", trialPath(l)+"/state"
	conf.ResumeProgram, conf.SuspendProgram, conf.JobProlog, conf.NodeProlog = "/bin/true", "/bin/true", "/bin/true", "/bin/true"
	conf.Accounting.Off = true
	conf.Custom = builtinWeights(conf.Custom)
	text := strings.NewReplacer(
		"\nAuthType=auth/munge\n", "\nAuthType=auth/none\nCredType=cred/none\nSlurmctldPidFile="+trialPath(l)+"/state/pid\n",
		"\nAccountingStorageTRES=gres/gpu\n", "\n", // which takes a slurmdbd
	).Replace(conf.Conf())
	for name, text := range map[string]string{"slurm.conf": text, "cgroup.conf": conf.CgroupConf()} {
		if err := whole.Write(l.Path(trialDir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// builtinWeights are settings without the weights of what only a slurmdbd knows, such as
// gres/gpu.
func builtinWeights(settings []slurm.Setting) []slurm.Setting {
	settings = slices.Clone(settings)
	for i, s := range settings {
		if !strings.EqualFold(s.Key, "PriorityWeightTRES") {
			continue
		}
		weights := slices.DeleteFunc(strings.Split(s.Value, ","), func(w string) bool { return strings.Contains(w, "/") })
		settings[i].Value = cmp.Or(strings.Join(weights, ","), "cpu=1")
	}
	return settings
}

// primaryWait is how long slurmctld is heard after it said that it is the primary one,
// where it does not say that all else runs, too: another version may not.
const primaryWait = time.Second

// runTrial runs slurmctld in a network of its own until it has made up its mind, and returns what it said.
func (u *up) runTrial(ctx context.Context, as string) (said []string, err error) {
	if u.layout.Rootless {
		runtime.LockOSThread() // it ends with the thread that starts it
		defer runtime.UnlockOSThread()
		return u.runTrialHere(ctx, as)
	}
	err = thread.Do(unix.CLONE_NEWNET, func() error {
		if err := machine.AddressOfItsOwn(); err != nil {
			return err
		}
		said, err = u.runTrialHere(ctx, as)
		return err
	})
	return said, err
}

func (u *up) runTrialHere(ctx context.Context, as string) (said []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialWait)
	defer cancel()
	line := trialLine(u.layout, as)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = trialProcess(u.layout)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	said = listen(out, func() { time.AfterFunc(primaryWait, cancel) })
	cancel() // it has said what we wanted to know
	_ = cmd.Wait()
	return said, nil
}

// trialPath is where slurmctld sees the files of a trial. The way to the run directory
// may be closed to Slurm's user, so root shows them to him at another place.
func trialPath(l *nodes.Layout) string {
	if l.Rootless {
		return l.Path(trialDir)
	}
	return "/mnt"
}

// showTrial mounts a directory at another in a mount namespace of its own, and becomes a
// program that runs as another user and ends with us.
const showTrial = `set -e
mount --make-rprivate /
mount --bind "$1" "$2"
exec setpriv --reuid="$3" --regid="$3" --init-groups --pdeathsig KILL -- "$4" -D -c -vvvv -f "$5"`

func trialLine(l *nodes.Layout, as string) []string {
	const program = "/usr/sbin/slurmctld"
	conf := trialPath(l) + "/slurm.conf"
	if l.Rootless {
		return []string{program, "-D", "-c", "-vvvv", "-f", conf}
	}
	return []string{"/bin/sh", "-c", showTrial, "sh", l.Path(trialDir), trialPath(l), as, program, conf}
}

// trialProcess is a process in namespaces of its own that ends with us.
func trialProcess(l *nodes.Layout) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if l.Rootless {
		attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNET
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: l.UID, HostID: l.UID, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: l.GID, HostID: l.GID, Size: 1}}
	}
	return attr
}

// listen reads what slurmctld says until all of it runs, it ends, or waits for a file
// that will not come. It calls primary when slurmctld calls itself the primary one.
func listen(r io.Reader, primary func()) (said []string) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20) // it writes lists of nodes
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "slurmctld: ")
		if line == trialPrimary {
			primary()
		}
		if strings.HasPrefix(line, "debug") && !trialRuns(line) {
			continue
		}
		said = append(said, line)
		if strings.HasPrefix(line, "fatal: ") || waitsForFile(line) || trialRuns(line) {
			break
		}
	}
	return said
}
