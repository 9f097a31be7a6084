package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tail"
)

// suite is the Debian release of the training image, whatever this machine's
// is: the same PyTorch everywhere.
const suite = "bookworm"

// installation makes a file system of Debian's packages, with PyTorch, while the demo
// goes on.
type installation struct {
	cancel context.CancelFunc
	// ended is closed when err and took are known.
	ended chan struct{}
	err   error
	took  time.Duration
	said  tail.Writer
}

// start begins it. The end of ctx, or stop, ends it.
func (i *installation) start(ctx context.Context, tar string) {
	ctx, i.cancel = context.WithCancel(ctx)
	i.ended = make(chan struct{})
	began := time.Now()
	go func() {
		defer close(i.ended)
		cmd := debootstrap(ctx, tar, mirror(ctx))
		cmd.Stderr = &i.said
		i.err, i.took = cmd.Run(), time.Since(began)
		if i.err != nil && cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what did not heed the interrupt, if anything
		}
	}()
}

// stop ends it and waits for its end, if it was started at all.
func (i *installation) stop() {
	if i.ended != nil {
		i.cancel()
		<-i.ended
	}
}

// debootstrap is the command that makes the file system.
func debootstrap(ctx context.Context, tar, mirror string) *exec.Cmd {
	var line []string
	if os.Geteuid() == 0 {
		// As root it mounts the machine's /sys and devices below its folder. In a mount
		// namespace of its own, the mounts go with it however it ends.
		line = append(line, "unshare", "--mount", "--propagation", "private", "--")
	}
	line = append(line, "mmdebstrap", "--variant=minbase", "--include=python3-torch",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*", suite, tar)
	if mirror != "" {
		line = append(line, mirror)
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C.UTF-8")
	if os.Geteuid() == 0 {
		// Should it be killed, its folder goes with the demo's files. As an ordinary user it
		// needs one that the users of its namespace can enter, which ours may not be.
		cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Dir(tar))
	}
	// It removes its folder when it is told to end, with all that it has started. A terminal's Ctrl-C is ours to pass on; an
	// interrupt would be ignored below a shell's background job.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// beginInstall starts the installation, which goes on beside the next steps.
func (d *demo) beginInstall(ctx context.Context) (string, error) {
	d.install.start(ctx, d.rootTar())
	return "mmdebstrap makes a Debian " + suite + " with python3-torch, beside the next steps", nil
}

// awaitInstall waits for its end.
func (d *demo) awaitInstall(ctx context.Context) (string, error) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for waits := true; waits; {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-d.install.ended:
			waits = false
		case <-ticker.C:
			d.tell.waiting("mmdebstrap: " + d.install.said.Last(1))
		}
	}
	if err := d.install.err; err != nil {
		return "", fmt.Errorf("mmdebstrap: %w\n%s", err, d.install.said.Last(10))
	}
	info, err := os.Stat(d.rootTar())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d MB of Debian %s with python3-torch, in %.0f s beside the steps before", info.Size()/1e6, suite, d.install.took.Seconds()), nil
}

// mirror is where this machine gets its packages from, "" if it does not say.
func mirror(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		uri, component, _ := strings.Cut(strings.TrimSpace(line), " ")
		if component == "main" && !strings.Contains(uri, "security") {
			return uri
		}
	}
	return ""
}
