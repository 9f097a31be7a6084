package tie_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/tie"
)

// callerVariable makes the test's program a caller who waits for a program.
const callerVariable = "MUSTER_TEST_TIE"

func TestMain(m *testing.M) {
	if script := os.Getenv(callerVariable); script != "" {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Stdout = os.Stdout
		if err := (tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}).Run(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// readied waits until a program has written its first line.
func readied(t *testing.T, r io.Reader) *bufio.Reader {
	t.Helper()
	in := bufio.NewReader(r)
	if line, err := in.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return in
}

// TestProgramEndsWhenItsCallerIsKilled, and with it all that it has started.
func TestProgramEndsWhenItsCallerIsKilled(t *testing.T) {
	for name, script := range map[string]string{
		"alone":          "echo ready; exec sleep infinity",
		"with_children":  "sleep infinity & sleep infinity & echo ready; wait",
		"grandchildren":  "sh -c 'sh -c \"echo ready; sleep infinity; true\"; true'; true",
		"another_group":  "setsid -w sh -c 'echo ready; sleep infinity; true'; true",
		"one_is_deaf":    "sh -c 'trap \"\" TERM; echo ready; sleep infinity; sleep infinity; true'; true",
		"a_name_of_hers": "cp /bin/sleep $MUSTER_TEST_DIR/'a) b (c' && $MUSTER_TEST_DIR/'a) b (c' infinity & echo ready; wait",
	} {
		t.Run(name, func(t *testing.T) {
			caller := exec.Command(os.Args[0])
			caller.Env = append(os.Environ(), callerVariable+"="+script, "MUSTER_TEST_DIR="+t.TempDir())
			out, err := caller.StdoutPipe()
			if err == nil {
				err = caller.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			in := readied(t, out)
			if err := caller.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(in); err != nil { // to its end, which is that of all who write
				t.Fatal(err)
			}
			_ = caller.Wait() // it was killed
		})
	}
}

// TestProgramLeavesWhoLeft: what has left the program, as daemons do, goes on when that ends well.
func TestProgramLeavesWhoLeft(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", "sh -c 'read line; echo $line' <\"$1\" & exit 0", "sh", fifo(t))
	cmd.Stdout = w
	if err := (tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}).Run(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.WriteFile(cmd.Args[4], []byte("alive\n"), 0); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(r); err != nil || string(said) != "alive\n" {
		t.Errorf("got %q, %v", said, err)
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgramAndItsChildrenHear(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", "echo ready; sleep infinity; true")
	cmd.Stdout = w
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}.RunUntil(ctx) }()
	in := readied(t, r)
	w.Close()
	why := errors.New("enough")
	end(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := io.ReadAll(in); err != nil {
		t.Fatal(err)
	}
}

// TestProgramThroughNsenter: nsenter stops itself when it sees that its child is stopped, as that is while it is told.
func TestProgramThroughNsenter(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("needs root")
		}
		t.Skip("needs root")
	}
	for range 20 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("nsenter", "--pid=/proc/self/ns/pid", "--", "sh", "-c", "echo ready; exec sleep infinity")
		cmd.Stdout = w
		ctx, end := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tie.Program{Cmd: cmd, Through: true, AtDeath: syscall.SIGTERM}.RunUntil(ctx) }()
		readied(t, r)
		why := errors.New("enough")
		end(why)
		if err := <-ended; !errors.Is(err, why) {
			t.Errorf("it ended with %v", err)
		}
		r.Close()
		w.Close()
	}
}

func TestHowProgramsEnd(t *testing.T) {
	for name, row := range map[string]struct {
		script string
		code   int
	}{"well": {"exit 0", 0}, "badly": {"exit 7", 7}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", row.script)
			err := tie.Program{Cmd: cmd}.Run()
			if (err == nil) != (row.code == 0) || cmd.ProcessState.ExitCode() != row.code {
				t.Errorf("exit code %d, error %v", cmd.ProcessState.ExitCode(), err)
			}
		})
	}
	if err := (tie.Program{Cmd: exec.Command("/nonexistent")}).Run(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}
