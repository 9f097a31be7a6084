package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

// headAway is the head node of the cluster on this machine one of whose other machines this is, "" elsewhere: its
// controller's socket is on the head node alone.
func headAway() string {
	if !inside() || guest() || onCloudHead() {
		return ""
	}
	if _, err := os.Stat(services.RunDir); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	conf, _ := os.ReadFile(filepath.Join(services.SlurmDir, "slurm.conf"))
	return headIn(string(conf))
}

// headIn is the head node that a slurm.conf names.
func headIn(conf string) string {
	for line := range strings.Lines(conf) {
		if host, ok := strings.CutPrefix(strings.TrimSpace(line), "SlurmctldHost="); ok {
			name, _, _ := strings.Cut(host, "(")
			return name
		}
	}
	return ""
}

// sshFailed is the exit code of ssh where it is not that of the command.
const sshFailed = 255

// exportsAway asks on the head node: each user logs in there as himself, and the controller asks who he is.
func (a *app) exportsAway(ctx context.Context, head, dir string, wait bool) error {
	cmd := exec.CommandContext(ctx, "ssh", "-n", "-o", "BatchMode=yes", head, a.exportsLine(dir, wait))
	cmd.Stdout, cmd.Stderr = a.out, a.err
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 && ended.ExitCode() != sshFailed {
		return fault.PassedOn(ended.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("ask on the head node %s how far the exports are: ssh: %w; from outside, `muster data export` asks without it", head, err)
	}
	return nil
}

// elsewhereAsked is an error of asking the controller on a machine of a cluster: those on AWS but the head node have none,
// and no way to log in there.
func elsewhereAsked(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("this machine has no controller, which knows how far the exports are; run `muster data export` on the head node, or outside of the cluster")
	}
	return err
}

// exportsLine is the command line for the head node's shell.
func (a *app) exportsLine(dir string, wait bool) string {
	line := []string{services.Muster, "data", "export", "--output", a.output}
	if wait {
		line = append(line, "--wait")
	}
	if a.quiet {
		line = append(line, "--quiet")
	}
	if dir != "" {
		line = append(line, "--", dir)
	}
	return shell.Line(line)
}
