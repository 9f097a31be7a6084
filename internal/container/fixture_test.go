package container

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// helperEnv makes the test's program one that runs or holds a container, so that
// tests can do so as other users.
const helperEnv = "MUSTER_TEST_CONTAINER"

// helperCall is what a helper is to do.
type helperCall struct {
	Hold    bool
	Options Options
	Args    []string
	Config  *Config
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
		if err := Hold(c.Options, Life{Answer: os.NewFile(3, "answer"), Step: os.NewFile(4, "step")}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	c.Options.Notice = func(text string) { fmt.Fprintln(os.Stderr, "notice:", text) }
	code, err := Run(c.Options, c.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err, Hint(err))
		return 98
	}
	return code
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

// programs are in the image, with the libraries that they need.
var programs = []string{"sh", "ls", "cat", "id", "true", "false", "sleep", "mkdir", "echo", "env", "pwd", "touch", "rm", "mount", "stat",
	"chown", "dd", "grep", "sed", "readlink", "seq", "setsid", "kill", "head", "hostname", "wc", "umount", "ulimit", "tty", "ln", "mv"}

func makeTree(tree string) error {
	for _, d := range []string{"bin", "etc", "usr/lib", "tmp", "home", "root", "lib64", "var", "proc", "sys", "dev", "run", "opt"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			return err
		}
	}
	for _, name := range programs {
		from, err := exec.LookPath(name)
		if err != nil {
			continue // a builtin of the shell's
		}
		if err := copyFile(from, filepath.Join(tree, "bin", name), 0o755); err != nil {
			return err
		}
		out, _ := exec.Command("ldd", from).Output() // fails for static programs
		for _, word := range strings.Fields(string(out)) {
			if !strings.HasPrefix(word, "/") {
				continue
			}
			if err := copyFile(word, filepath.Join(tree, word), 0o755); err != nil {
				return err
			}
		}
	}
	files := map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\n_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\ndaemon:x:1:1::/:/bin/sh\n",
		"etc/group":  "root:x:0:\n", "etc/debian_version": "12.0\n", "opt/file": "of the image\n",
		"etc/environment": "PATH=/bin:/usr/bin\nFROM_IMAGE=yes\nGREETING=image\nWHERE=${HOME}/x\nPYTORCH_VERSION=2.6\n",
		"etc/rc":          "mkdir -p \"/work dir\" 2> /dev/null\ncd \"/work dir\" && unset OLDPWD || exit 1\necho banner\nexport FROM_ENTRYPOINT=yes\nexec \"$@\"\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Symlink("../run/systemd/resolve/stub-resolv.conf", filepath.Join(tree, "etc/resolv.conf")),
		os.Symlink("../run", filepath.Join(tree, "var/run")), os.Symlink("/run/lock", filepath.Join(tree, "var/lock")),
		os.Symlink("/etc", filepath.Join(tree, "opt/outside")), os.Symlink("../../../../..", filepath.Join(tree, "opt/up")),
	)
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, data, mode), os.Chmod(to, mode))
}

func squash(tree, to string, more ...string) error {
	args := append([]string{tree, to, "-comp", "zstd", "-noappend", "-no-progress", "-quiet"}, more...)
	if len(more) == 0 {
		args = append(args, "-all-root")
	}
	out, err := exec.Command("mksquashfs", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
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
	timer := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
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

// held is a container that a helper holds.
type held struct {
	t      *testing.T
	cmd    *exec.Cmd
	step   *os.File // the life pipe's end
	answer *os.File
	fields []string
	space  string
	stderr *bytes.Buffer
	user   User
}

// startHold makes a container to join, from a helper that starts as starter.
func startHold(t *testing.T, starter User, o Options) *held {
	t.Helper()
	h := &held{t: t, stderr: &bytes.Buffer{}, user: o.User}
	answer, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, step, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.cmd = command(t, starter, helperCall{Hold: true, Options: o})
	h.cmd.ExtraFiles = []*os.File{to, from}
	h.cmd.Stderr = h.stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.step, h.answer = step, answer
	to.Close()
	from.Close()
	t.Cleanup(func() { h.end() })
	h.fields = h.read()
	if h.fields[0] == "ok" {
		if h.space, err = mountSpace(h.pid()); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// read reads an answer.
func (h *held) read() []string {
	h.t.Helper()
	var fields []string
	var field []byte
	b := make([]byte, 1)
	for {
		n, err := h.answer.Read(b)
		switch {
		case err == io.EOF && len(fields) == 0:
			h.t.Fatalf("no answer: %s", h.stderr)
		case err == io.EOF:
			return fields
		case err != nil:
			h.t.Fatal(err)
		case n == 1 && b[0] != 0:
			field = append(field, b[0])
		case len(field) == 0 && (len(fields) >= 5 || len(fields) > 0 && fields[0] == "error" && len(fields) >= 3):
			return fields
		default:
			fields, field = append(fields, string(field)), nil
		}
	}
}

func (h *held) pid() int {
	pid, err := strconv.Atoi(h.fields[1])
	if err != nil {
		h.t.Fatalf("answer %q: %v", h.fields, err)
	}
	return pid
}

// task starts a command in the container as the plugin's tasks do.
func (h *held) task(script string) *exec.Cmd {
	h.t.Helper()
	ns := fmt.Sprintf("/proc/%d/ns/", h.pid())
	cmd := exec.Command("nsenter", "--preserve-credentials", "--user="+ns+"user", "--mount="+ns+"mnt", "--", "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.user.credential(), Setpgid: true}
	return cmd
}

// end ends the step and returns how the holder ended.
func (h *held) end() error {
	h.step.Close()
	timer := time.AfterFunc(30*time.Second, func() { _ = h.cmd.Process.Kill() })
	defer timer.Stop()
	return h.cmd.Wait()
}

// nothingLeft fails unless all of a container goes within seconds.
func (h *held) nothingLeft() {
	h.t.Helper()
	nothingLeft(h.t, h.space)
}

func nothingLeft(t *testing.T, space string) {
	t.Helper()
	var left string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if left = leftOf(t, space); left == "" {
			return
		}
		pause()
	}
	t.Errorf("left: %s", left)
}

func leftOf(t *testing.T, space string) string {
	t.Helper()
	pids, err := residents(space, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(pids) > 0 {
		return fmt.Sprintf("processes %d", pids)
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if data, err := os.ReadFile(l); err == nil && strings.HasPrefix(string(data), shared.dir) {
			return "loop device of " + string(data)
		}
	}
	if pid := fuseOf(t); pid != 0 {
		return fmt.Sprintf("squashfuse %d", pid)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), runDir) || strings.Contains(string(mounts), "squashfuse") {
		return "mounts: " + string(mounts)
	}
	return ""
}

// fuseOf finds a squashfuse that has an image of this test open.
func fuseOf(t *testing.T) int {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil || !strings.HasPrefix(to, shared.dir) || !strings.HasSuffix(to, ".sqsh") {
			continue
		}
		name, _ := os.ReadFile(filepath.Join("/proc", strings.Split(l, "/")[2], "comm"))
		if pid, err := strconv.Atoi(strings.Split(l, "/")[2]); err == nil && strings.HasPrefix(string(name), "squashfuse") {
			return pid
		}
	}
	return 0
}

// pause lets others run for a moment.
func pause() { _, _ = unix.Poll(nil, 10) }
