//go:build linux

package suite

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/verify/load"
)

// fileOfRun is where nodes get the program that have none, empty for no file. Nobody else can know its name, and sbcast overwrites nothing.
func (r *run) fileOfRun() string {
	if !r.Sent {
		return ""
	}
	return "/tmp/.muster-verify-" + rand.Text()
}

// send gives the nodes of the job the program where they have none. Where they could not run it, nobody is sent anything.
func (r *run) send(ctx context.Context) error {
	if r.program = r.Muster; !r.Sent {
		return nil
	}
	all, err := r.Slurm.Nodes(ctx) // those that were off have told their architecture by now
	if err != nil {
		return fmt.Errorf("ask for the nodes: %w", err)
	}
	if r.foreign = foreign(r.alloc.nodes, all, runtime.GOARCH); r.foreign != "" {
		r.Tell(r.foreign)
		return nil
	}
	r.Tell("sends muster to the nodes")
	var said tail.Writer
	cmd := exec.CommandContext(ctx, "sbcast", "--jobid="+strconv.Itoa(r.alloc.job), r.Muster, r.alloc.sent)
	cmd.Env, cmd.Stderr = append(withoutSlurm(os.Environ()), "LC_ALL=C"), &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("send muster to the nodes: %s", cleaned(said.String()))
	}
	r.program = r.alloc.sent
	return nil
}

// machineName is uname's name of an architecture of Go's, which is Slurm's.
func machineName(arch string) string {
	switch arch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return arch
}

// foreign says why nodes cannot run a program for an architecture of Go's, empty if they can. What Slurm does not tell is tried.
func foreign(nodes []string, all []slurm.Node, arch string) string {
	var others []string
	is := ""
	for _, n := range all {
		if slices.Contains(nodes, n.Name) && n.Arch != "" && n.Arch != machineName(arch) {
			others, is = append(others, n.Name), n.Arch
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: Slurm says %s, and this muster is for %s: run one that is for these nodes, on a machine like them", slurm.Compress(others), is, machineName(arch))
}

// leave has removed what was sent and written, and gives the nodes back. It may be called twice.
func (r *run) leave() {
	if r.left {
		return
	}
	r.left = true
	if err := r.alloc.close(); err != nil {
		r.Tell(err.Error())
	}
	r.removeHere()
}

// removeHere removes what measurements of storage have left that this machine has, too. Who ends a session with all that is in it ends
// salloc as well, and this process seconds later: nobody else may come to it.
func (r *run) removeHere() {
	if len(r.unfinished) == 0 {
		return
	}
	removed := make(chan struct{})
	go func() {
		for _, p := range r.unfinished {
			_ = load.RemovePlace(p.dir, p.name) // this machine may not have it, and who holds the nodes says what is left there
		}
		close(removed)
	}()
	select {
	case <-removed:
	case <-time.After(markWait): // its file system may never answer
	}
}

// lost says why the nodes are not ours any more, though we have not left them; empty if they are.
func (r *run) lost() string {
	if r.alloc == nil || r.left || r.alloc.held() {
		return ""
	}
	return "Slurm took the nodes back: " + cleaned(r.alloc.said.String())
}
