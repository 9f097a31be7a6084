package thread

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHold starts a program that ends with its parent on a thread that then ends: the program goes on.
func TestHold(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "read word && echo heard $word")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		t.Fatal(err)
	}
	var release func()
	tid := 0
	if err := Do(0, func() (err error) {
		tid = unix.Gettid()
		release, err = Hold(cmd.Start)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	gone(t, tid)
	defer release()
	_, inErr = fmt.Fprintln(in, "you")
	said, outErr := io.ReadAll(out)
	if err := errors.Join(inErr, outErr, cmd.Wait()); err != nil || string(said) != "heard you\n" {
		t.Errorf("%q, %v", said, err)
	}
}

// gone waits for the end of a thread.
func gone(t *testing.T, tid int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); runtime.Gosched() {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			return
		}
	}
	t.Fatal("the thread does not end")
}

func TestHold_of_what_does_not_start(t *testing.T) {
	want := errors.New("no such program")
	if release, err := Hold(func() error { return want }); release != nil || !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}
