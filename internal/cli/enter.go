//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// entrance is the way into a machine of a cluster on this machine: in which directory
// and with which environment a program begins there.
type entrance struct {
	layout  *nodes.Layout
	anchor  nodes.AnchorProcess
	dir     string
	carried local.Carried
	// again says that the program is this one with the same arguments.
	again bool
}

// entrance finds it, and shows the working directory on the cluster if it is not yet.
func (a *app) entrance(ctx context.Context) (entrance, error) {
	l, r, anchor, err := a.running()
	if err != nil {
		return entrance{}, err
	}
	e := entrance{layout: l, anchor: anchor, dir: a.visibleDir(ctx, l, r)}
	if r, err = l.Record(); err != nil {
		return e, err
	}
	view, err := l.View(r)
	if err != nil {
		return e, err
	}
	// Without that, machines may not find what was installed just now, and everything else.
	if err := local.Refreshed(ctx, l, os.Environ()); err != nil {
		a.note("programs that were installed since may not be found: %v", err)
	}
	e.carried = local.Carry(os.Environ(), local.LookAt(os.Environ(), view))
	return e, nil
}

// enterLocal runs a program on the head node of a cluster on this machine, and returns
// how that ended.
func (a *app) enterLocal(ctx context.Context, args []string) error {
	e, err := a.entrance(ctx)
	if err != nil {
		return err
	}
	e.again = args[0] == services.Muster
	if !e.again {
		a.sayBehindOnce(e)
	}
	return e.run(e.layout.HeadCommand(e.anchor, e.dir, e.program(args)))
}

// enterNode does so on another machine of the cluster.
func (a *app) enterNode(ctx context.Context, node string, args []string) error {
	e, err := a.entrance(ctx)
	if err != nil {
		return err
	}
	pid, err := nodes.NodePID(e.anchor, node)
	if err != nil {
		return notRunning(e.layout, node, "`muster exec -- srun --nodelist="+node+" true` starts it")
	}
	a.sayBehindOnce(e)
	return e.run(e.layout.NodeCommand(pid, e.dir, e.program(args)))
}

// program is a command line that gives a program what must not reach the ones that
// lead to it, and has it hear the keyboard, which those do not.
func (e entrance) program(args []string) []string {
	line := append([]string{"/usr/bin/env", "--default-signal=INT,QUIT,TSTP"}, e.carried.Late...)
	return append(line, args...)
}

// entered is what the program finds in the variable enteredBy.
func (e entrance) entered() string {
	if e.again {
		return enteredAgain
	}
	return "1"
}

// sayBehind says what of the user's environment does not come along.
func (a *app) sayBehind(ctx context.Context) error {
	e, err := a.entrance(ctx)
	if err != nil {
		return err
	}
	if text := e.carried.Behind(); text != "" {
		a.note("%s", text)
	}
	return nil
}

// sayBehindOnce says it unless it was the last thing that was said of this cluster: of
// every command, nobody wants to read it.
func (a *app) sayBehindOnce(e entrance) {
	text, file := e.carried.Behind(), e.layout.Path("etc", "said")
	if last, _ := os.ReadFile(file); string(last) == text {
		return
	}
	if text != "" {
		a.note("%s", text)
	}
	if err := whole.Write(file, []byte(text), 0o600); err != nil {
		a.note("%v", err)
	}
}

// visibleDir is the directory to work in on the cluster: the caller's, which is
// shown there first if it is not yet.
func (a *app) visibleDir(ctx context.Context, l *nodes.Layout, r nodes.Record) string {
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	if r.Visible(dir) {
		return dir
	}
	if err := share(ctx, l, dir); err != nil {
		fmt.Fprintf(a.err, "muster: working in / because %v\n", err)
		return "/"
	}
	return dir
}

// shareFolder shows a file's folder on the cluster. Of a file that is not there,
// the head node will tell.
func (a *app) shareFolder(ctx context.Context, file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	l, r, _, err := a.running()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if r.Visible(dir) || !nodes.Shareable(dir) {
		return nil
	}
	return share(ctx, l, dir)
}

func share(ctx context.Context, l *nodes.Layout, dir string) error {
	if !nodes.Shareable(dir) {
		return fmt.Errorf("%s is the system's own and is not shared with the cluster", dir)
	}
	return local.Controller(l).Share(ctx, dir)
}
