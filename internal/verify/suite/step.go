//go:build linux

package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/sys/thread"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/load"
)

// stepOptions say what a step of the allocation runs.
type stepOptions struct {
	// nodes are where, all where nil. tasks are how many on each, 0 is one.
	nodes []string
	tasks int
	args  []string
	// image is the container's, empty for none. mounts are what it sees.
	image  string
	mounts []string
	// gpus are what the step gets on each node, 0 for none.
	gpus int
	// mpi is srun's --mpi, empty for none.
	mpi string
	// cyclic says that tasks are dealt out to the nodes in turn, so that the next task is on another node.
	cyclic bool
	// input says that the step hears what is written to its input.
	input heard
	// outlives says that the step ends by itself when its input does, and has time to clean up: srun is not ended with this process.
	// One that is sent SIGTERM kills its tasks: https://github.com/SchedMD/slurm/blob/slurm-22-05-8-1/src/srun/libsrun/srun_job.c
	outlives bool
	env      []string
	// limit is how long it may take, 0 for as long as the context lets it.
	limit time.Duration
}

// timeIsOver begins why a step was ended.
const timeIsOver = "it takes longer than "

type heard bool

// step is srun, while it runs.
type step struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	said   *tail.Writer
	cancel context.CancelFunc
	// release lets go of the thread that srun ends with.
	release func()
	ctx     context.Context
}

// line is the command line of a step, with what it adds to the environment: srun's, or that of the program itself where the machine is
// alone. Several tasks are started there by what stands in for srun.
func (r *run) line(o stepOptions) (line, env []string) {
	switch {
	case r.Alone == "":
		return append([]string{"srun"}, r.args(o)...), o.env
	case o.tasks > 1:
		return append(r.muster("tasks", "--node="+r.Alone, "--count="+strconv.Itoa(o.tasks), "--"), o.args...), o.env
	}
	return o.args, append(load.TaskEnv(r.Alone, 0, 1), o.env...)
}

// args are srun's.
func (r *run) args(o stepOptions) []string {
	nodes := o.nodes
	if nodes == nil {
		nodes = r.alloc.nodes
	}
	tasks := max(1, o.tasks)
	args := []string{
		"--jobid=" + strconv.Itoa(r.alloc.job), "--overlap", "--nodes=" + strconv.Itoa(len(nodes)), "--nodelist=" + strings.Join(nodes, ","),
		"--ntasks=" + strconv.Itoa(len(nodes)*tasks), "--ntasks-per-node=" + strconv.Itoa(tasks), "--mem=0", "--cpu-bind=none",
		"--kill-on-bad-exit=0", "--no-kill", "--quit-on-interrupt", "--job-name=" + verify.JobName,
	}
	if o.gpus > 0 {
		args = append(args, "--gres=gpu:"+strconv.Itoa(o.gpus))
	}
	if !o.input {
		args = append(args, "--input=none")
	}
	if o.mpi != "" {
		args = append(args, "--mpi="+o.mpi)
	}
	if o.cyclic {
		args = append(args, "--distribution=cyclic")
	}
	if o.image != "" {
		args = append(args, "--container-image="+o.image)
		if len(o.mounts) > 0 {
			args = append(args, "--container-mounts="+strings.Join(o.mounts, ","))
		}
	}
	return append(args, o.args...)
}

// muster is the command line of a part of muster's own on nodes.
func (r *run) muster(args ...string) []string {
	return append([]string{r.program, "agent", "verify"}, args...)
}

// begin starts a step.
func (r *run) begin(ctx context.Context, o stepOptions) (*step, error) {
	cancel := context.CancelFunc(func() {})
	if o.limit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, o.limit, fmt.Errorf(timeIsOver+"%s", o.limit))
	}
	s := &step{said: &tail.Writer{}, cancel: cancel, ctx: ctx}
	line, env := r.line(o)
	s.cmd = exec.CommandContext(ctx, line[0], line[1:]...)
	s.cmd.Env = append(withoutSlurm(os.Environ()), env...)
	if r.Alone != "" {
		s.cmd.Dir = "/"
	}
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 5 * time.Second
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if o.outlives {
		s.cmd.SysProcAttr.Pdeathsig = 0
	}
	s.cmd.Stderr = s.said
	var err error
	if o.input {
		if s.in, err = s.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if s.out, err = s.cmd.StdoutPipe(); err == nil {
		s.release, err = thread.Hold(s.cmd.Start)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start a step: %w", err)
	}
	return s, nil
}

// end waits for the end of a step whose output was read. A step that ended with a failure says why; what it printed counts
// all the same.
func (s *step) end() error {
	defer s.cancel()
	if s.in != nil {
		_ = s.in.Close()
	}
	_, _ = io.Copy(io.Discard, s.out)
	err := s.cmd.Wait()
	s.release()
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	}
	return errors.New(cleaned(s.said.String()))
}

// mostLines bounds what is read of a step.
const (
	mostLines = 1 << 20
	mostLine  = 1 << 20
)

// lines runs a step and gives each line that it prints.
func (r *run) lines(ctx context.Context, o stepOptions, take func(line string)) error {
	s, err := r.begin(ctx, o)
	if err != nil {
		return err
	}
	scanner := bufio.NewScanner(s.out)
	scanner.Buffer(nil, mostLine)
	n := 0
	for ; n < mostLines && scanner.Scan(); n++ {
		take(scanner.Text())
	}
	err = scanner.Err()
	if n == mostLines {
		err = errCut
	}
	return errors.Join(err, s.end())
}
