package local

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// forwardHolder is where a process of this test's own holds a forward's place, and ends by
// no means of its own.
const forwardHolder = "MUSTER_TEST_FORWARD"

// TestSweepForwards: what a killed process left goes, what a living one has stays, and so
// does all that is no forward's.
func TestSweepForwards(t *testing.T) {
	if etc := os.Getenv(forwardHolder); etc != "" {
		holdForward(etc)
	}
	etc := t.TempDir()
	for _, name := range []string{"hosts", "forward-file"} {
		if err := os.WriteFile(filepath.Join(etc, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dead := killedForward(t, etc)
	mine, lock, err := forwardPlace(etc)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := sweepForwards(etc); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Errorf("%s of a killed process is still there", dead)
	}
	for _, path := range []string{mine, filepath.Join(etc, "hosts"), filepath.Join(etc, "forward-file")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
	if err := sweepForwards(filepath.Join(etc, "none")); err == nil {
		t.Error("a directory that is not there was looked through")
	}
}

// holdForward makes a place with a file in it, says where, and waits to be killed.
func holdForward(etc string) {
	dir, _, err := forwardPlace(etc)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "auth.json"), []byte("{}"), 0o600)
	}
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(dir)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// killedForward is the place of a process that held it, while it lived.
func killedForward(t *testing.T, etc string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestSweepForwards$")
	cmd.Env = append(os.Environ(), forwardHolder+"="+etc)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() // at the latest with this process, which ends that one
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4096)
	n, err := out.Read(text)
	dir := string(text[:n])
	if err == nil {
		err = sweepForwards(etc)
	}
	if _, statErr := os.Stat(filepath.Join(dir, "auth.json")); err != nil || statErr != nil {
		t.Errorf("%q of a living process: %v %v", dir, err, statErr)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return dir
}
