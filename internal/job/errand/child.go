package errand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/sys/tail"
)

// User is who a process runs as.
type User struct{ UID, GID int }

// Line is the start of a command line that root runs as the user, and that gets no more rights than his.
func (u User) Line() []string {
	return []string{"setpriv", "--reuid=" + strconv.Itoa(u.UID), "--regid=" + strconv.Itoa(u.GID), "--init-groups", "--no-new-privs", "--"}
}

// Crew has a process for each user whose files are looked at. It may be used from many
// goroutines.
type Crew struct {
	// Command is the command that serves as a user.
	Command func(u User) *exec.Cmd
	// Wait is how long an answer may take: file systems may hang. Idle is after which time
	// Rest ends a process.
	Wait, Idle time.Duration

	mu       sync.Mutex // guards children
	children map[User]*child
}

// child is a process. Its mutex is held for a whole request.
type child struct {
	mu      sync.Mutex
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Closer
	answers *json.Decoder
	limit   *io.LimitedReader
	said    *tail.Writer
	used    time.Time
	// stuck is until when it is not asked again, as it did not answer: others wait meanwhile.
	stuck time.Time
}

// stuckFor is how long a user's files are left alone when they did not answer.
const stuckFor = time.Minute

// Read reads what is new in a user's file. One that is not there is fs.ErrNotExist.
func (c *Crew) Read(ctx context.Context, u User, r Reading) (Chunk, error) {
	a, err := c.ask(ctx, u, request{Read: &r})
	if err != nil || a.Chunk == nil {
		return Chunk{}, err
	}
	return *a.Chunk, nil
}

// Checkpoints finds those below directories. Where some cannot be read there may be those of the
// others beside the error.
func (c *Crew) Checkpoints(ctx context.Context, u User, dirs []string) ([]Checkpoint, error) {
	a, err := c.ask(ctx, u, request{Checkpoints: dirs})
	return a.Checkpoints, err
}

// Mend finds what has to be put right for a job that goes on from its newest whole checkpoint, or
// puts it right.
func (c *Crew) Mend(ctx context.Context, u User, m Mending) (Diagnosis, error) {
	a, err := c.ask(ctx, u, request{Mend: &m})
	if err != nil || a.Diagnosis == nil {
		return Diagnosis{}, err
	}
	return *a.Diagnosis, nil
}

// Put makes a file.
func (c *Crew) Put(ctx context.Context, u User, f File) error {
	_, err := c.ask(ctx, u, request{Put: &f})
	return err
}

// Extend writes a file's end. A file that has less than what it is to go on from is fs.ErrNotExist.
// It may be done twice.
func (c *Crew) Extend(ctx context.Context, u User, e Extension) error {
	_, err := c.ask(ctx, u, request{Extend: &e})
	return err
}

// Rest ends the processes that were not used for a while.
func (c *Crew) Rest(now time.Time) {
	c.mu.Lock()
	var over []*child
	for u, k := range c.children {
		if k.mu.TryLock() {
			if now.Sub(k.used) >= c.Idle {
				delete(c.children, u)
				over = append(over, k)
			}
			k.mu.Unlock()
		}
	}
	c.mu.Unlock()
	for _, k := range over {
		k.end()
	}
}

// Close ends all processes.
func (c *Crew) Close() {
	c.mu.Lock()
	all := c.children
	c.children = nil
	c.mu.Unlock()
	for _, k := range all {
		k.mu.Lock()
		k.end()
		k.mu.Unlock()
	}
}

var errStuck = errors.New("the file system does not answer")

func (c *Crew) of(u User) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.children == nil {
		c.children = map[User]*child{}
	}
	if c.children[u] == nil {
		c.children[u] = &child{used: time.Now()}
	}
	return c.children[u]
}

func (c *Crew) ask(ctx context.Context, u User, r request) (answer, error) {
	k := c.of(u)
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().Before(k.stuck) {
		return answer{}, errStuck
	}
	if k.cmd == nil {
		if err := k.start(c.Command(u)); err != nil {
			return answer{}, fmt.Errorf("look at files as user %d: %w", u.UID, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Wait, errStuck)
	defer cancel()
	stop := context.AfterFunc(ctx, k.cutOff())
	a, err := k.ask(r)
	k.used = time.Now()
	if !stop() || err != nil {
		said := k.said
		k.end()
		if errors.Is(context.Cause(ctx), errStuck) {
			k.stuck = time.Now().Add(stuckFor)
		}
		if ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		return answer{}, fmt.Errorf("look at files as user %d: %w%s", u.UID, err, because(said))
	}
	return a.bounded(), a.err()
}

// cutOff ends the process that there is now, which may be another's, or nobody's, when the time is
// over, and what is said to and by it: one that a file system holds does not go when it is killed,
// and what it started may still have its pipes.
func (k *child) cutOff() func() {
	process, in, out := k.cmd.Process, k.in, k.out
	return func() { _, _, _ = process.Kill(), in.Close(), out.Close() }
}

func because(said *tail.Writer) string {
	if text := said.String(); text != "" {
		return ": " + clip(text)
	}
	return ""
}

// err is the answer's error.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Absent:
		return fmt.Errorf("%w: %s", fs.ErrNotExist, clip(a.Error))
	}
	return errors.New(clip(a.Error))
}

func (k *child) start(cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	k.said = &tail.Writer{}
	cmd.Stderr = k.said
	if err := cmd.Start(); err != nil {
		return err
	}
	k.cmd, k.in, k.out, k.limit = cmd, in, out, &io.LimitedReader{R: out}
	k.answers = json.NewDecoder(k.limit)
	return nil
}

func (k *child) ask(r request) (a answer, err error) {
	if err := json.NewEncoder(k.in).Encode(r); err != nil {
		return a, err
	}
	k.limit.N = answerLimit
	err = k.answers.Decode(&a)
	return a, err
}

// end ends the process. It has nothing to finish: whatever it does is done in one step.
func (k *child) end() {
	if k.cmd == nil {
		return
	}
	k.cutOff()()
	go reap(k.cmd)
	k.cmd = nil
}

// reap waits for a process that was killed. One that a file system holds ends when that lets it
// go, for which nobody waits.
func reap(cmd *exec.Cmd) { _ = cmd.Wait() }
