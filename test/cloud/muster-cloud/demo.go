package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// story is the life of a cluster on the double, told with the real muster in the
// words that a user would type. Every part of it is checked.
type story struct {
	out    io.Writer
	muster string
	// cloud is the double's directory, home and files are the user's.
	cloud, home, files string
	aws                aws.Config
	world              *exec.Cmd
	// idle is when the job had ended.
	idle time.Time
}

// commandTime is how long one command of the story may take on a slow machine.
const commandTime = 5 * time.Minute

// demo tells the story: args are the muster to use, and the folder with the cluster
// file. However it ends, it leaves nothing behind.
func demo(ctx context.Context, args []string) (err error) {
	args = append(args, []string{"bin/muster", "test/cloud/demo"}[len(args):]...)
	s := &story{out: os.Stdout}
	if s.muster, err = filepath.Abs(args[0]); err != nil {
		return err
	}
	if _, err := os.Stat(s.muster); err != nil {
		return fmt.Errorf("the muster of the story: %w; `make build` builds it", err)
	}
	began := time.Now()
	base, err := os.MkdirTemp("/var/tmp", "muster-cloud-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(), os.RemoveAll(base)) }()
	if err := s.begin(ctx, base, args[1]); err != nil {
		return err
	}
	if err := s.tell(ctx); err != nil {
		s.showConsoles()
		return err
	}
	fmt.Fprintf(s.out, "\nThe double has nothing of the cluster left. It took %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// begin starts the double, and makes what the user has before the story begins: the
// files, a key, and a bucket with the script of the custom actions.
func (s *story) begin(ctx context.Context, base, from string) error {
	// What our commands leave running, as SSH's shared connections, becomes ours.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what is left running: %w", err)
	}
	s.cloud, s.home, s.files = filepath.Join(base, "cloud"), filepath.Join(base, "home"), filepath.Join(base, "demo")
	if err := s.copyFiles(from); err != nil {
		return err
	}
	ssh := filepath.Join(s.home, ".ssh")
	if err := os.MkdirAll(ssh, 0o700); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(ssh, "id_ed25519")).CombinedOutput(); err != nil {
		return fmt.Errorf("make a key: %w\n%s", err, out)
	}
	if err := s.startWorld(ctx, filepath.Join(base, "cloud.log")); err != nil {
		return err
	}
	var err error
	if s.aws, err = outside(s.cloud); err != nil {
		return err
	}
	s.say("A bucket with a script that the cluster file names, and nothing else in the account")
	return put(ctx, s.cloud, scripts, "hello.sh", filepath.Join(s.files, "hello.sh"))
}

func (s *story) copyFiles(from string) error {
	if err := os.Mkdir(s.files, 0o755); err != nil {
		return err
	}
	return os.CopyFS(s.files, os.DirFS(from))
}

// startWorld starts the double in namespaces of its own and waits until it answers.
func (s *story) startWorld(ctx context.Context, log string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	said, err := os.Create(log)
	if err != nil {
		return err
	}
	defer said.Close()
	s.world = exec.Command(self, "run", s.cloud)
	s.world.Stdout, s.world.Stderr = said, said
	s.world.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours to pass on
	if err := s.world.Start(); err != nil {
		s.world = nil
		return fmt.Errorf("start the double: %w", err)
	}
	return await(ctx, time.Minute, "the double to answer", func() (bool, error) {
		_, err := os.Stat(filepath.Join(s.cloud, "env"))
		return err == nil, nil
	})
}

// end stops the double, and what our commands left running.
func (s *story) end() error {
	if s.world == nil {
		return nil
	}
	err := s.world.Process.Signal(syscall.SIGTERM)
	_ = s.world.Wait() // it was told to end
	return errors.Join(err, endChildren())
}

// endChildren ends all processes that are left to us.
func endChildren() error {
	for {
		pid, err := anyChild()
		if pid == 0 || err != nil {
			return err
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
		for {
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
				break
			}
		}
	}
}

func anyChild() (pid int, err error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			continue // a thread that ended
		}
		if n, _ := fmt.Sscan(string(text), &pid); n == 1 {
			return pid, nil
		}
	}
	return 0, err
}

// run runs muster in the double's network as its user would, without anything to
// type, and returns what it answered.
func (s *story) run(ctx context.Context, args ...string) (string, error) {
	return s.runWith(ctx, 0, args...)
}

// runWith wants an exit code.
func (s *story) runWith(ctx context.Context, code int, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("it did not end within %v", commandTime))
	defer cancel()
	line := s.show(args)
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var answer strings.Builder
	cmd := exec.CommandContext(ctx, self, append([]string{"exec", s.cloud, s.muster}, args...)...)
	cmd.Dir = s.files
	cmd.Env = append(os.Environ(), "HOME="+s.home, "MUSTER_HOME="+filepath.Join(s.home, "muster"), "XDG_RUNTIME_DIR="+s.home)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(s.out, &answer), s.out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil && exit.ExitCode() == code && code != 0 {
		return answer.String(), nil
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status 0, not %d", code)
	}
	if err != nil {
		err = fmt.Errorf("muster %s: %w", line, errors.Join(err, context.Cause(ctx)))
	}
	return answer.String(), err
}

// show shows a command as somebody would type it, and returns the line without muster.
func (s *story) show(args []string) string {
	line := shell.Line(args)
	fmt.Fprintf(s.out, "\n$ muster %s\n", line)
	return line
}

func (s *story) say(format string, args ...any) {
	fmt.Fprintf(s.out, "\n# "+format+"\n", args...)
}

// showConsoles prints the last lines of every machine's console, and the double's.
func (s *story) showConsoles() {
	logs, _ := filepath.Glob(filepath.Join(s.cloud, "console", "*.log"))
	for _, l := range append(logs, s.cloud+".log") {
		text, err := os.ReadFile(l)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(s.out, "\n== %s\n%s\n", filepath.Base(l), strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
}

// await waits until something is so.
func await(ctx context.Context, limit time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("waited %v for %s", limit, what))
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
