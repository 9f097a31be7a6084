//go:build linux

package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tie"
)

// Tasks starts a program several times on this machine, as srun does on a node: each task hears all that is written to the input, and
// each line of up to 64 KiB that one prints is kept whole.
type Tasks struct {
	// Node is what the machine is called, Count how many tasks there are.
	Node  string
	Count int
	Line  []string
	// Env is the tasks' environment, to which comes what srun says of each: see TaskEnv.
	Env []string
	// In is what they hear, each as fast as the slowest of them. They see its end.
	In       io.Reader
	Out, Err io.Writer
	// Failed is told of each task that ends with an error, such as by a signal; nil for nobody. What it returns is a line of Out.
	Failed func(task int, err error) string
}

// TaskEnv are the variables by which srun's tasks know which they are, and on which node.
func TaskEnv(node string, task, count int) []string {
	n := strconv.Itoa(task)
	return []string{"SLURMD_NODENAME=" + node, "SLURM_PROCID=" + n, "SLURM_LOCALID=" + n, "SLURM_NTASKS=" + strconv.Itoa(count)}
}

// goneWait is how long what a task has left behind may keep its output open.
const goneWait = 5 * time.Second

// mostTasksHere is far above the GPUs of any machine.
const mostTasksHere = 256

// Run runs them to their ends, which they come to at the latest when ctx ends or this process dies. It is an error if one ended with
// one.
func (t Tasks) Run(ctx context.Context) error {
	if t.Count < 1 || t.Count > mostTasksHere || len(t.Line) == 0 {
		return fmt.Errorf("start %d tasks of %q: there can be 1 to %d, of a program", t.Count, t.Line, mostTasksHere)
	}
	heard := make([]io.WriteCloser, t.Count)
	out, said := &lines{to: t.Out}, &lines{to: t.Err}
	ended := make([]error, t.Count)
	var running, reading sync.WaitGroup
	for i := range t.Count {
		cmd := exec.Command(t.Line[0], t.Line[1:]...)
		cmd.WaitDelay = goneWait
		cmd.Env = append(append([]string{}, t.Env...), TaskEnv(t.Node, i, t.Count)...)
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		heard[i] = in
		for from, to := range map[*io.Writer]*lines{&cmd.Stdout: out, &cmd.Stderr: said} {
			r, w := io.Pipe()
			*from = w
			reading.Go(func() { to.copy(r) })
			defer w.Close()
		}
		running.Go(func() {
			ended[i] = t.failed(ctx, i, tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}.RunUntil(ctx), out)
			for _, w := range []io.Writer{cmd.Stdout, cmd.Stderr} {
				_ = w.(io.Closer).Close()
			}
		})
	}
	go tell(t.In, heard)
	running.Wait()
	reading.Wait()
	return errors.Join(ended...)
}

// failed is how a task failed, nil if it did not. What it has left behind that keeps its output open is no failure of its own.
func (t Tasks) failed(ctx context.Context, task int, err error, out *lines) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if t.Failed != nil && ctx.Err() == nil {
		out.write([]byte(t.Failed(task, err) + "\n"))
	}
	return fmt.Errorf("task %d: %w", task, err)
}

// tell has all hear what is read. One that has ended keeps it from no other.
func tell(in io.Reader, all []io.WriteCloser) {
	if in != nil {
		from := bufio.NewReader(in)
		for {
			line, err := from.ReadBytes('\n')
			for _, w := range all {
				_, _ = w.Write(line)
			}
			if err != nil {
				break
			}
		}
	}
	for _, w := range all {
		_ = w.Close()
	}
}

// lines writes lines of several writers, each whole.
type lines struct {
	mu sync.Mutex // guards to
	to io.Writer
}

func (l *lines) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		_, _ = l.to.Write(line)
	}
}

func (l *lines) copy(from io.Reader) {
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			if err == io.EOF {
				line = append(append([]byte{}, line...), '\n')
			}
			l.write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
