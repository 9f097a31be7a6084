package storetest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Killed runs one test of this program in a process of its own, and kills that with kill -9 when it has said so many lines
// to its stdout. It returns false if it came to its end before.
func Killed(t *testing.T, lines int, test string, env ...string) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+test+"$")
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for range lines {
		if !said.Scan() {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("it ended with %v", err)
			}
			return false
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // it was killed, or just done
	return true
}
