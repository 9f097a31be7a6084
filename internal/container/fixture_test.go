package container

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test's program one that runs or holds a container, so that
// tests can do so as other users.
const helperEnv = "MUSTER_TEST_CONTAINER"

// helperCall is what a helper is to do.
type helperCall struct {
	Hold bool
	// Signalled says that it gets SIGTERM when the container is made and its command does not run yet.
	Signalled bool
	Options   Options
	Args      []string
	Config    *Config
}

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == SweepCommand[0] && os.Args[2] == SweepCommand[1] {
		if err := Sweep(os.Args[3], os.Args[4]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text := os.Getenv(helperEnv); text != "" {
		os.Unsetenv(helperEnv)
		os.Exit(helper(text))
	}
	code := m.Run()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

func helper(text string) int {
	var c helperCall
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	if c.Options.Environ == nil {
		c.Options.Environ = os.Environ()
	}
	if c.Config != nil {
		c.Options.Describe = func(*os.File) (Config, bool, error) { return *c.Config, true, nil }
	}
	if c.Hold {
		if well, err := Hold(c.Options, Life{Answer: os.NewFile(3, "answer"), Step: os.NewFile(4, "step")}); !well || err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	c.Options.Notice = func(text string) { fmt.Fprintln(os.Stderr, "notice:", text) }
	run := Run
	if c.Signalled {
		run = runSignalled
	}
	code, err := run(c.Options, c.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err, Hint(err))
		return 98
	}
	return code
}

// runSignalled is Run in a process that gets SIGTERM before the command runs.
func runSignalled(o Options, args []string) (int, error) {
	m := newMaker(o)
	m.heard = make(chan os.Signal, 16)
	if err := m.start(); err != nil {
		return 0, err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return 0, err
	}
	m.heard <- <-m.heard
	code, err := m.run(args)
	return code, errors.Join(err, m.finish())
}

// shared is made once for all tests.
var shared struct {
	sync.Once
	dir, trusted, plain, program string
	err                          error
}

// fixture is a directory that all may read, with an image in it that only root can
// have written, one that is another's, and this program.
func fixture(t *testing.T) {
	t.Helper()
	need(t)
	shared.Do(func() { shared.err = makeFixture() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
}

func makeFixture() error {
	dir, err := os.MkdirTemp("/var/lib", "muster-container-test-")
	if err != nil {
		return err
	}
	shared.dir = dir
	shared.trusted, shared.plain, shared.program = dir+"/trusted.sqsh", dir+"/other/plain.sqsh", dir+"/program"
	tree := dir + "/tree"
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/other", 0o755), makeTree(tree), squash(tree, shared.trusted))
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return errors.Join(copyFile(shared.trusted, shared.plain, 0o644), os.Chown(shared.plain, ordinary.UID, ordinary.GID),
		copyFile(self, shared.program, 0o755))
}

// need skips a test that the machine cannot run. In CI it fails.
func need(t *testing.T) {
	t.Helper()
	if what := lacks(); what != "" && os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("this machine lacks %s", what)
	} else if what != "" {
		t.Skipf("this machine lacks %s", what)
	}
}

func lacks() string {
	if !realRoot() {
		return "root"
	}
	for _, p := range []string{"squashfuse", "mksquashfs", "nsenter"} {
		if _, err := hostProgram(p); err != nil {
			return p
		}
	}
	info, err := os.Stat("/dev/fuse")
	if err != nil || info.Mode().Perm()&0o006 != 0o006 {
		return "a /dev/fuse that all users may open"
	}
	return ""
}

// ordinary and other are users without a name and without rights.
var (
	ordinary = User{UID: 54321, GID: 54321, Groups: []int{54399}}
	other    = User{UID: 54322, GID: 54322}
	super    = User{}
)

// outcome is how a helper ended.
type outcome struct {
	code     int
	out, err string
}

// command prepares a helper that acts as a user.
func command(t *testing.T, u User, c helperCall) *exec.Cmd {
	t.Helper()
	if !c.Hold {
		c.Options.User = u
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shared.program)
	cmd.Env = []string{helperEnv + "=" + string(text), "HOME=/home/somebody", "PATH=/usr/bin:/bin", "LANG=de_DE.UTF-8", "GREETING=host", "TERM=dumb"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.credential(), Setpgid: true}
	return cmd
}

// run runs a command in a container as a user.
func run(t *testing.T, u User, o Options, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, u, helperCall{Options: o, Args: args}))
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	timer := time.AfterFunc(5*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), err: stderr.String()}
}

// shell is run for a script whose success is expected.
func shell(t *testing.T, u User, o Options, script string) string {
	t.Helper()
	got := run(t, u, o, "/bin/sh", "-c", script)
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	return got.out
}
