package supervise_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/services/supervise"
)

// TestRun_recovers: once after what may have left something undone, and before the setup.
func TestRun_recovers(t *testing.T) {
	// It ends as its life says: by itself while nobody could use it, or when it is told to.
	args, env := role("listener", "$DIR/socket", "$DIR/go")
	a := sh("a", "echo start >> did; read life < life; case $life in early) exit 3;; esac; exec "+strings.Join(args, " "))
	a.Env, a.Ready = []string{env}, supervise.Probe{Network: "unix", Address: "socket"}
	a.Recover = []string{"/bin/sh", "-c", "cd $DIR; echo recover >> did; [ -e may ]"}
	a.Setup = []string{"/bin/sh", "-c", "cd $DIR; rm -f socket; echo setup >> did"}
	s := begin(t, a)
	did := func() string { return strings.Join(s.lines("did"), " ") }
	s.until("failed", func() bool { return s.status("a").Last == "setup ended with exit code 1" })
	if strings.Contains(did(), "setup") {
		t.Errorf("without having recovered it did %q", did())
	}
	s.touch("go")
	if err := os.WriteFile(s.path("life"), []byte("early\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.touch("may")
	s.until("three starts", func() bool { return strings.Count(did(), "start") >= 3 })
	if !strings.Contains(did(), "recover setup start setup start setup start") {
		t.Errorf("never ready it did %q", did())
	}
	if err := os.WriteFile(s.path("life"), []byte("long\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pid, before := s.ready("a").PID, len(s.lines("did"))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("again", func() bool { return len(s.lines("did")) >= before+3 })
	if got := strings.Join(s.lines("did")[before:], " "); got != "recover setup start" {
		t.Errorf("after its death it did %q", got)
	}
}

// TestRun_recovers_nothing: what ended well left nothing undone.
func TestRun_recovers_nothing(t *testing.T) {
	a := sh("a", "echo start >> did; mkfifo end || exec sleep 1000; read x < end")
	a.Recover = []string{"/bin/sh", "-c", "cd $DIR; echo recover >> did"}
	s := begin(t, a)
	s.ready("a")
	s.until("it waits", func() bool { _, err := os.Stat(s.path("end")); return err == nil })
	if err := os.WriteFile(s.path("end"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.until("again", func() bool { return strings.Count(strings.Join(s.lines("did"), " "), "start") == 2 })
	if got := strings.Join(s.lines("did"), " "); got != "recover start start" || s.status("a").Last != "ended with exit code 0" {
		t.Errorf("after its end, %q, it did %q", s.status("a").Last, got)
	}
}
