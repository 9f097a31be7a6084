package supervise_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/services/supervise"
)

// The supervisor takes every child of its process, so it is tested in a process
// of its own: this test's binary with roleVar set.
const roleVar = "MUSTER_SUPERVISE_TEST_ROLE"

// TestRole is the main program of that process.
func TestRole(t *testing.T) {
	var err error
	switch role := strings.Split(os.Getenv(roleVar), " "); role[0] {
	case "supervisor":
		err = supervisor(t.Context(), role[1])
	case "listener":
		err = listener(role[1], role[2])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// role is the command line and the environment of a process with a role.
func role(of ...string) (args []string, env string) {
	return []string{os.Args[0], "-test.run=^TestRole$"}, roleVar + "=" + strings.Join(of, " ")
}

// supervisor keeps the services of a folder running until SIGTERM, and is the
// parent of all orphans, as the first process of a namespace is.
func supervisor(ctx context.Context, dir string) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM)
	defer stop()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	services, err := supervise.Load(filepath.Join(dir, "services.json"))
	if err != nil {
		return err
	}
	return supervise.Run(ctx, supervise.Config{Services: services, StatusFile: filepath.Join(dir, "status.json"), Spawn: spawn})
}

func spawn(_ bool, args, env []string, log *os.File) (int, error) {
	return syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Env: append([]string{"PATH=" + os.Getenv("PATH")}, env...), Files: []uintptr{log.Fd(), log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// listener accepts connections on a socket as soon as a file is there.
func listener(path, file string) error {
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		<-time.After(time.Millisecond)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		c.Close()
	}
}

// stage is a supervisor that runs.
type stage struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

// begin starts a supervisor. The services are shell scripts, run in a folder of
// their own; a test completes what differs from that.
func begin(t *testing.T, services ...supervise.Service) *stage {
	// The test's own folder may have too long a name for a socket.
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &stage{t: t, dir: dir}
	for i := range services {
		x := &services[i]
		x.Log = s.path(x.Name + ".log")
		for j, e := range x.Env {
			x.Env[j] = strings.ReplaceAll(e, "$DIR", s.dir)
		}
		x.Env = append(x.Env, "DIR="+s.dir)
		if x.Ready.Address != "" {
			x.Ready.Address = s.path(x.Ready.Address)
		}
	}
	data, err := json.Marshal(services)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("services.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	args, env := role("supervisor", s.dir)
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), env), os.Stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

// end stops the supervisor, and waits for it.
func (s *stage) end() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(unix.SIGTERM)
		if err := s.cmd.Wait(); err != nil {
			s.t.Errorf("the supervisor ended with %v", err)
		}
	}
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) touch(name string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// lines are those of a file, none if it is not there.
func (s *stage) lines(name string) []string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.Fields(string(data))
}

func (s *stage) until(what string, f func() bool) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !f(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			status, _ := supervise.LoadStatus(s.path("status.json"))
			s.t.Fatalf("never %s: %+v", what, status)
		}
	}
}

// status is a service's, which is zero before there is any.
func (s *stage) status(name string) supervise.Status {
	s.t.Helper()
	all, err := supervise.LoadStatus(s.path("status.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err) // it must always be whole
	}
	i := slices.IndexFunc(all, func(x supervise.Status) bool { return x.Name == name })
	if i < 0 {
		return supervise.Status{}
	}
	return all[i]
}

func (s *stage) ready(name string) supervise.Status {
	s.t.Helper()
	var x supervise.Status
	s.until(name+" ready", func() bool { x = s.status(name); return x.Phase == supervise.Ready })
	return x
}

// sh is a service that is a shell script.
func sh(name, script string, after ...string) supervise.Service {
	return supervise.Service{Name: name, Args: []string{"/bin/sh", "-c", "cd $DIR || exit 9\n" + script}, After: after}
}

func TestRun_starts_services_when_those_they_need_answer(t *testing.T) {
	args, env := role("listener", "$DIR/socket", "$DIR/go")
	server := supervise.Service{Name: "server", Args: args, Env: []string{env}, Ready: supervise.Probe{Network: "unix", Address: "socket"}}
	s := begin(t,
		sh("client", "[ -S socket ] && echo served > found; exec sleep 1000", "server"),
		server,
		sh("other", "exec sleep 1000"),
	)
	s.ready("other")
	s.until("server starting", func() bool { return s.status("server").Phase == supervise.Starting })
	if got := s.status("client"); got.Phase != supervise.Waiting || got.PID != 0 {
		t.Errorf("before its server answers the client is %+v", got)
	}
	s.touch("go")
	s.ready("server")
	s.ready("client")
	s.until("served", func() bool { return len(s.lines("found")) > 0 })
}

func TestRun_starts_again_what_was_killed(t *testing.T) {
	s := begin(t, sh("a", "echo $$ >> starts; exec sleep 1000"))
	first := s.ready("a")
	killed := time.Now()
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("two starts", func() bool { return len(s.lines("starts")) == 2 })
	if pause := time.Since(killed); pause < 90*time.Millisecond {
		t.Errorf("started again after %s, without a pause", pause)
	}
	second := s.ready("a")
	if second.PID == first.PID || second.Restarts != 1 || second.Last != "ended by signal SIGKILL" || !second.Since.After(first.Since) {
		t.Errorf("after its death it is %+v, before it was %+v", second, first)
	}
	if got := s.lines("starts")[1]; got != strconv.Itoa(second.PID) {
		t.Errorf("process %s was started, the status says %d", got, second.PID)
	}
}

func TestRun_says_what_hangs(t *testing.T) {
	s := begin(t, sh("a", "exec sleep 1000"), sh("b", "exec sleep 1000"))
	first := s.ready("a")
	s.ready("b")
	if err := syscall.Kill(first.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.until("it hangs", func() bool { return s.status("a").Phase == supervise.Hanging })
	if got := s.status("b"); got.Phase != supervise.Ready {
		t.Errorf("another service is %+v", got)
	}
	if err := syscall.Kill(first.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := s.ready("a"); got.PID != first.PID || got.Restarts != 0 {
		t.Errorf("it was started again: %+v", got)
	}
}

func TestRun_waits_longer_each_time(t *testing.T) {
	s := begin(t, sh("a", "date +%s%N >> starts; exit 3"))
	s.until("four starts", func() bool { return len(s.lines("starts")) >= 4 })
	var times []time.Duration
	for _, l := range s.lines("starts") {
		n, err := strconv.ParseInt(l, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Duration(n))
	}
	for i, least := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		if pause := times[i+1] - times[i]; pause < least-10*time.Millisecond {
			t.Errorf("pause %d is %s, want at least %s", i+1, pause, least)
		}
	}
	s.until("told", func() bool { return s.status("a").Last == "ended with exit code 3" })
}

func TestRun_sets_up_before_each_start(t *testing.T) {
	a := sh("a", "echo start >> did; exec sleep 1000")
	a.Setup = []string{"/bin/sh", "-c", "cd $DIR; echo setup >> did; [ -e may ]"}
	s := begin(t, a, sh("b", "exec sleep 1000", "a"))
	s.until("failed", func() bool { return s.status("a").Last == "setup ended with exit code 1" })
	if got := s.status("b"); got.Phase != supervise.Waiting {
		t.Errorf("what needs it is %+v", got)
	}
	if slices.Contains(s.lines("did"), "start") {
		t.Error("it was started without its setup")
	}
	s.touch("may")
	pid := s.ready("a").PID
	s.ready("b")
	before := len(s.lines("did"))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("again", func() bool { return len(s.lines("did")) == before+2 })
	if got := strings.Join(s.lines("did")[before:], " "); got != "setup start" {
		t.Errorf("after its death it did %q", got)
	}
}

func TestRun_says_what_cannot_be_started(t *testing.T) {
	s := begin(t, supervise.Service{Name: "a", Args: []string{"/no/such/program"}}, sh("b", "echo one; echo two >&2; exec sleep 1000"))
	s.ready("b")
	s.until("told", func() bool { return s.status("a").Last == "no such file or directory" })
	s.until("logged", func() bool { return strings.Join(s.lines("b.log"), " ") == "one two" })
}

func TestRun_reaps_orphans(t *testing.T) {
	s := begin(t, sh("a", "mkfifo end; (sh -c 'echo $$ > new; mv new orphan; read x < end' &); exec sleep 1000"))
	s.ready("a")
	s.until("orphan", func() bool { return len(s.lines("orphan")) == 1 })
	orphan := s.lines("orphan")[0]
	s.until("adopted", func() bool { return parent(orphan) == strconv.Itoa(s.cmd.Process.Pid) })
	if err := os.WriteFile(s.path("end"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.until("reaped", func() bool { return parent(orphan) == "" })
	if got := s.status("a"); got.Phase != supervise.Ready || got.Restarts != 0 {
		t.Errorf("an orphan's end made the service %+v", got)
	}
}

// parent is the parent of a process, also of a dead one that nobody has waited
// for.
func parent(pid string) string {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(data), "\nPPid:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

func TestRun_status_is_always_whole(t *testing.T) {
	s := begin(t, sh("a", "exit 0"), sh("b", "exit 0"), sh("c", "exec sleep 1000"))
	s.ready("c")
	for range 20_000 {
		s.status("a") // fails if it is torn
	}
}

const onTerm = `trap 'kill $p; echo NAME >> order; exit 0' TERM; sleep 1000 & p=$!; echo NAME >> began; wait`

func TestRun_stops_in_reverse(t *testing.T) {
	script := func(name string) string { return strings.ReplaceAll(onTerm, "NAME", name) }
	s := begin(t, sh("a", script("a")), sh("b", script("b"), "a"), sh("c", script("c"), "b"))
	s.until("all began", func() bool { return len(s.lines("began")) == 3 })
	s.end()
	if got := strings.Join(s.lines("order"), " "); got != "c b a" {
		t.Errorf("stopped in the order %q", got)
	}
}

func TestRun_kills_what_does_not_stop(t *testing.T) {
	s := begin(t, sh("a", "trap '' TERM; touch deaf; exec sleep 1000"))
	pid := s.ready("a").PID
	s.until("deaf", func() bool { _, err := os.Stat(s.path("deaf")); return err == nil })
	began := time.Now()
	s.end()
	if took := time.Since(began); took < time.Second || took > 5*time.Minute {
		t.Errorf("it took %s", took)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

func TestLoad_names_a_file_that_cannot_be_read(t *testing.T) {
	dir := t.TempDir()
	half, pipe := filepath.Join(dir, "half"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(half, []byte(`[{"name":`), 0o644), syscall.Mkfifo(pipe, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, load := range []func(string) error{
		func(p string) error { _, err := supervise.Load(p); return err },
		func(p string) error { _, err := supervise.LoadStatus(p); return err },
	} {
		if err := load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without a file: %v", err)
		}
		for _, path := range []string{half, pipe} {
			if err := load(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
