//go:build linux

package suite

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tail"
)

// send gives the nodes of the job the program where they have none. Nobody else can know its name, and sbcast overwrites nothing.
func (r *run) send(ctx context.Context) error {
	if r.program = r.Muster; !r.Sent {
		return nil
	}
	r.Tell("sends muster to the nodes")
	to := "/tmp/.muster-verify-" + rand.Text()
	var said tail.Writer
	cmd := exec.CommandContext(ctx, "sbcast", "--jobid="+strconv.Itoa(r.alloc.job), r.Muster, to)
	cmd.Env, cmd.Stderr = append(withoutSlurm(os.Environ()), "LC_ALL=C"), &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("send muster to the nodes: %s", cleaned(said.String()))
	}
	r.program = to
	return nil
}

// leaveWait bounds the removal of the program from the nodes.
const leaveWait = 20 * time.Second

// leave removes what was sent and gives the nodes back. It may be called twice.
func (r *run) leave(ctx context.Context) {
	if bool(r.Sent) && r.program != r.Muster && r.alloc.held() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWait)
		defer cancel()
		if err := r.lines(ctx, stepOptions{args: []string{"rm", "-f", r.program}}, func(string) {}); err != nil {
			r.Tell(fmt.Sprintf("%s is left on nodes: %v", r.program, err))
		}
		r.program = r.Muster
	}
	r.alloc.close()
}
