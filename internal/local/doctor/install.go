package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// guardDir is where the guard's folder is while packages are installed: on a
// file system that no restart keeps, in a folder that only root can write.
const guardDir = "/run/muster-install"

// install carries out a plan, as root. It starts no service and enables none;
// services that run may be restarted if their package is upgraded. It shows
// what apt-get says on out. If ctx ends, apt-get is asked to stop.
func install(ctx context.Context, p Plan, out io.Writer) (err error) {
	if p.empty() {
		return nil
	}
	g, err := openGuard(guardDir)
	if err != nil {
		return fmt.Errorf("install packages: %w", err)
	}
	defer func() { err = errors.Join(err, g.close()) }()
	for _, s := range p.steps(g.path()) {
		if err := g.run(ctx, s, out); err != nil {
			return fmt.Errorf("install packages: %w", err)
		}
	}
	return nil
}

// run runs one step. The program inherits the guard's lock: should this process
// be killed, the folder stays locked until the program has ended, too.
func (g *guard) run(ctx context.Context, s step, out io.Writer) error {
	cmd := exec.CommandContext(ctx, s.argv[0], s.argv[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+g.path(), "DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none",
		"NEEDRESTART_SUSPEND=1", "LC_ALL=C.UTF-8")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{g.lock}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	name := strings.Join(s.argv[:2], " ")
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	case err != nil && !s.mayFail:
		return fmt.Errorf("%s: %w", name, err)
	case err != nil:
		_, err = fmt.Fprintf(out, "%s: %v; going on with what is known\n", name, err)
	}
	return err
}
