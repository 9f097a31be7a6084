package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/ssh"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/shell"
	"github.com/muster-hpc/muster/internal/sys/tie"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// entrance is the way into a machine of a cluster on this machine: in which directory
// and with which environment a program begins there.
type entrance struct {
	layout  *nodes.Layout
	anchor  nodes.AnchorProcess
	dir     string
	carried Carried
	// head is the head node's name.
	head string
	// again says that the program is this one with the same arguments.
	again bool
	// input is what the program reads; nil is our own input.
	input []byte
	// output gets what it writes; nil is our own output.
	output io.Writer
}

// entrance finds it, and shows the working directory on the cluster if it is not yet.
func (c cluster) entrance(ctx context.Context) (entrance, error) {
	l, r, anchor, err := c.running()
	if err != nil {
		return entrance{}, err
	}
	e := entrance{layout: l, anchor: anchor, dir: c.visibleDir(ctx, l, r)}
	if r, err = l.Record(); err != nil {
		return e, err
	}
	e.head = r.HeadName
	view, err := l.View(r)
	if err != nil {
		return e, err
	}
	// Without that, machines may not find what was installed just now, and everything else.
	if err := refreshed(ctx, l, os.Environ()); err != nil {
		c.talk.Note("programs that were installed since may not be found: %v", err)
	}
	e.carried = carry(os.Environ(), lookAt(os.Environ(), view))
	return e, nil
}

// Enter implements place.Cluster.
func (c cluster) Enter(ctx context.Context, p place.Program) error {
	e, err := c.entrance(ctx)
	if err != nil {
		return err
	}
	e.input, e.output = p.Input, p.Output
	if p.Node != "" && p.Node != e.head {
		pid, err := nodes.NodePID(e.anchor, p.Node)
		if err != nil {
			return NotRunning(e.layout, p.Node, "`muster exec -- srun "+onNode(p.Node)+" true` starts it")
		}
		c.sayBehindOnce(e)
		return e.run(e.layout.NodeCommand(pid, e.dir, e.program(p.Args)))
	}
	e.again = p.Args[0] == services.Muster
	if !e.again {
		c.sayBehindOnce(e)
	}
	return e.run(e.layout.HeadCommand(e.anchor, e.dir, e.program(p.Args)))
}

// onNode are the options of srun for a node that may not be in the default partition.
func onNode(name string) string {
	n, ok := slurm.ParseNodeName(name, func(slurm.NodeName) bool { return true })
	if !ok {
		return "--nodelist=" + name
	}
	return "--partition=" + n.Queue + " --nodelist=" + name
}

// NotRunning is the error about a node that does not run: the cluster has no such node, or
// it is powered down, or the head node was meant. means is the consequence of that.
func NotRunning(l *nodes.Layout, node, means string) error {
	known, err := l.Addresses()
	if err != nil {
		return err
	}
	if r, err := l.Record(); err == nil && node == r.HeadName {
		return fmt.Errorf("%s is the head node; `muster nodes --all` lists the nodes", node)
	}
	if _, ok := known[node]; ok {
		return fmt.Errorf("node %s is powered down: %s", node, means)
	}
	return fmt.Errorf("cluster %s has no node %q; `muster nodes --all` lists them", filepath.Base(l.Dir), node)
}

// Shell implements place.Cluster.
func (c cluster) Shell(ctx context.Context, node string, _ place.Way) error {
	return c.Enter(ctx, place.Program{Args: c.shellLine(cmp.Or(node, c.Name)), Node: node})
}

// terminalMaker runs a command on a terminal that it makes. The caller's own has no name
// among the terminals of a cluster's machine.
const terminalMaker = "/usr/bin/script"

// shellLine is the command line of a shell with a prompt that says where it is.
func (c cluster) shellLine(where string) []string {
	line := []string{"env", "PS1=(" + where + ") \\w\\$ ", "/bin/bash", "--norc", "-i"}
	if _, err := os.Stat(terminalMaker); err != nil || !c.talk.Terminal() {
		return line
	}
	return []string{terminalMaker, "--quiet", "--return", "--command", "exec " + shell.Line(line), "/dev/null"}
}

// SSH implements place.Cluster, with the cluster's own keys.
func (c cluster) SSH(_ context.Context, o place.SSHOptions) error {
	l, r, _, err := c.running()
	if err != nil {
		return err
	}
	if !SSHInstalled() {
		return errors.New("this machine has no SSH server for machines of clusters: `muster doctor` offers openssh-server, and `muster shell` opens a shell without it")
	}
	line := sshLine(l, r.Name, o.Args)
	if o.DryRun {
		return c.talk.Answer(shell.Line(line))
	}
	return tie.Become(line, os.Environ())
}

// HostKeys implements place.Cluster, also of a cluster that does not run.
func (c cluster) HostKeys(context.Context) ([]string, error) {
	if err := c.mine(); err != nil {
		return nil, err
	}
	text, err := readOwn(c.Layout().Path("etc", "ssh", ssh.KnownFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.talk.None(c.Name)
	}
	if err != nil {
		return nil, err
	}
	return []string{strings.TrimSpace(strings.TrimPrefix(string(text), "*"))}, nil
}

// program is a command line with the variables that must not reach nsenter and setpriv,
// which lead to it. It no longer ignores the signals of the keyboard, which those do.
func (e entrance) program(args []string) []string {
	line := append([]string{"/usr/bin/env", "--default-signal=INT,QUIT,TSTP"}, e.carried.Late...)
	return append(line, args...)
}

// sayBehindOnce says what of the user's environment does not come along, unless the last
// command that entered the cluster said the same.
func (c cluster) sayBehindOnce(e entrance) {
	text, file := e.carried.behind(), e.layout.Path("etc", "said")
	if last, _ := whole.Read(file); string(last) == text {
		return
	}
	if text != "" {
		c.talk.Note("%s", text)
	}
	if err := whole.Write(file, []byte(text), 0o600); err != nil {
		c.talk.Note("%v", err)
	}
}

// visibleDir is the directory to work in on the cluster: the caller's, which is
// shown there first if it is not yet.
func (c cluster) visibleDir(ctx context.Context, l *nodes.Layout, r nodes.Record) string {
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	if r.Visible(dir) {
		return dir
	}
	if err := share(ctx, l, dir); err != nil {
		fmt.Fprintf(c.talk.Out(), "muster: working in / because %v\n", err)
		return "/"
	}
	return dir
}

func share(ctx context.Context, l *nodes.Layout, dir string) error {
	if !nodes.Shareable(dir) {
		return fmt.Errorf("%s is the system's own and is not shared with the cluster", dir)
	}
	return Controller(l).Share(ctx, dir)
}

// showWorkDir shows the caller's directory on machines that run.
func (u *up) showWorkDir(ctx context.Context) error {
	r, err := u.layout.Record()
	if err != nil || r.Visible(u.WorkDir) || !nodes.Shareable(u.WorkDir) {
		return err
	}
	if err := Controller(u.layout).Share(ctx, u.WorkDir); err != nil {
		return fmt.Errorf("show %s on the cluster's machines: %w", u.WorkDir, err)
	}
	return nil
}
