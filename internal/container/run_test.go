package container

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ways are the ways in which containers are made.
var ways = []struct {
	name  string
	user  User
	image func() string
}{
	{"root_by_kernel", super, func() string { return shared.trusted }},
	{"root_by_squashfuse", super, func() string { return shared.plain }},
	{"user_by_squashfuse", ordinary, func() string { return shared.trusted }},
}

func TestRun(t *testing.T) {
	fixture(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			o := Options{Image: w.image()}
			id := strings.TrimSpace(shell(t, w.user, o, "id -u; id -g"))
			if want := strings.Fields(id); len(want) != 2 || want[0] != itoa(w.user.UID) || want[1] != itoa(w.user.GID) {
				t.Errorf("id is %q", id)
			}
			for name, script := range map[string]string{
				"capabilities":  `test "$(grep CapEff /proc/self/status)" = "CapEff:	0000000000000000"`,
				"no new rights": `grep -q 'NoNewPrivs:	1' /proc/self/status`,
				"read-only":     `! touch /x 2>/dev/null && ! touch /etc/x 2>/dev/null`,
				"tmp":           `echo x > /tmp/x && test ! -e /tmp/muster`,
				"devices":       `echo x > /dev/null && head -c 1 /dev/zero | wc -c && test -d /dev/shm && test -e /dev/ptmx`,
				"proc":          `test -d /proc/1 && ! touch /sys/x 2>/dev/null`,
				"owner":         `test -O /bin/sh`,
				"flags":         `grep ' / / ' /proc/self/mountinfo | grep -q nosuid,nodev`,
				"no setuid":     `test "$(cat /proc/self/uid_map | wc -l)" = 1`,
				"passwd":        `grep -q '^root:' /etc/passwd && ! grep -q _apt /etc/passwd && grep -q daemon /etc/passwd`,
				"self known":    `grep -q ":` + itoa(w.user.UID) + `:" /etc/passwd`,
				"hosts":         `test -s /etc/hosts && test -s /etc/resolv.conf || test ! -s /etc/hosts`,
				"run":           `test -d /var/lock && echo x > /run/x`,
				"workdir":       `test "$PWD" = "/work dir"`,
				"host hidden":   `test ! -e /var/lib/muster-container-test && test ! -e /usr/bin/nsenter`,
				"links inside":  `cat /opt/up/opt/file | grep -q image`,
			} {
				if got := run(t, w.user, o, "/bin/sh", "-c", script); got.code != 0 {
					t.Errorf("%s: exit code %d: %s%s", name, got.code, got.out, got.err)
				}
			}
			nothingLeft(t, "none")
		})
	}
}

// A signal that comes while squashfuse serves the image already, and before the command runs, ends the run.
func TestRun_ends_by_a_signal_before_its_command(t *testing.T) {
	fixture(t)
	for _, w := range ways[1:] {
		got := finish(t, command(t, w.user, helperCall{Signalled: true, Options: Options{Image: w.image()}, Args: []string{"/bin/sh", "-c", "echo it ran"}}))
		if got.code != 128+15 || got.out != "" {
			t.Errorf("%s: exit code %d, want 143, output %q: %s", w.name, got.code, got.out, got.err)
		}
	}
	nothingLeft(t, "none")
}

func itoa(n int) string { return strconv.Itoa(n) }

func TestRunPassesCodesAndStreams(t *testing.T) {
	fixture(t)
	o := Options{Image: shared.trusted}
	for _, w := range ways {
		if got := run(t, w.user, o, "/bin/sh", "-c", "exit 7"); got.code != 7 {
			t.Errorf("%s: exit code %d, want 7: %s", w.name, got.code, got.err)
		}
		if got := run(t, w.user, o, "/bin/sh", "-c", "kill -TERM $$"); got.code != 128+15 {
			t.Errorf("%s: exit code %d, want 143: %s", w.name, got.code, got.err)
		}
		cmd := command(t, w.user, helperCall{Options: o, Args: []string{"sed", "s/in/out/"}})
		cmd.Stdin = strings.NewReader("in\nin between\n")
		if got := finish(t, cmd); got.out != "out\nout between\n" {
			t.Errorf("%s: output %q, %s", w.name, got.out, got.err)
		}
	}
	if got := run(t, ordinary, o, "nosuch"); got.code != 98 || !strings.Contains(got.err, "run nosuch in the container: no such file") {
		t.Errorf("a command that is not there: %+v", got)
	}
}

func TestRunForwardsSignals(t *testing.T) {
	fixture(t)
	cmd := command(t, ordinary, helperCall{Options: Options{Image: shared.trusted},
		Args: []string{"/bin/sh", "-c", `trap "echo heard; exit 5" TERM; echo ready; while :; do sleep 0.05; done`}})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	text := make([]byte, 64)
	n, err := out.Read(text)
	if err != nil || string(text[:n]) != "ready\n" {
		t.Fatalf("%q, %v", text[:n], err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n, _ = out.Read(text)
	_ = cmd.Wait()
	if string(text[:n]) != "heard\n" || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("said %q and ended with %d", text[:n], cmd.ProcessState.ExitCode())
	}
	nothingLeft(t, "none")
}

func TestRunRemapsRoot(t *testing.T) {
	fixture(t)
	for _, u := range []User{super, ordinary} {
		o := Options{Image: shared.trusted, RemapRoot: true, Writable: true}
		got := shell(t, u, o, `id -u; cd /root; echo $HOME $USER; touch /new; chown 42:43 /new; echo $?; stat -c %u:%g /new
			cat /proc/self/uid_map; cat /etc/apt/apt.conf.d/muster; mount -t tmpfs tmpfs /opt && echo mounted`)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		want := []string{"0", "/root root", "0", "0:0", strings.Join(strings.Fields(lines[4]), " "), `APT::Sandbox::User "root";`, "mounted"}
		lines[4] = strings.Join(strings.Fields(lines[4]), " ")
		if lines[4] != "0 "+itoa(u.UID)+" 1" || strings.Join(lines, "\n") != strings.Join(want, "\n") {
			t.Errorf("user %d: %q", u.UID, lines)
		}
	}
}

func TestRunWrites(t *testing.T) {
	fixture(t)
	for _, w := range ways {
		o := Options{Image: w.image(), Writable: true}
		shell(t, w.user, o, `echo changed > /opt/file && rm /bin/tty && mkdir -p /a/b && mv /opt /opt2 && chown 7:7 /a && cat /opt2/file | grep changed`)
		if got := shell(t, w.user, o, "cat /opt/file"); got != "of the image\n" {
			t.Errorf("%s: the image has %q afterwards", w.name, got)
		}
	}
}

func TestRunOutOfSpace(t *testing.T) {
	fixture(t)
	o := Options{Image: shared.trusted, Writable: true, UpperSize: "1m"}
	got := run(t, ordinary, o, "dd", "if=/dev/zero", "of=/big", "bs=1M", "count=4")
	if got.code == 0 || !strings.Contains(got.err, "No space left") {
		t.Errorf("%+v", got)
	}
	nothingLeft(t, "none")
}

func TestRunKeepsOpenFileLimit(t *testing.T) {
	fixture(t)
	text, err := exec.Command("/bin/sh", "-c", "ulimit -n").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, super, helperCall{Options: Options{Image: shared.trusted}, Args: []string{"/bin/sh", "-c", "ulimit -n"}})
	// A parent that is no Go program: its limit is what the shell here has.
	cmd.Args = []string{"/bin/sh", "-c", "'" + shared.program + "'; exit"}
	cmd.Path = "/bin/sh"
	if got := finish(t, cmd); got.out != string(text) {
		t.Errorf("%q, want %q %s", got.out, text, got.err)
	}
}

func TestRunOnATerminal(t *testing.T) {
	fixture(t)
	script := "/usr/bin/script" // of util-linux, as nsenter
	cmd := command(t, ordinary, helperCall{Options: Options{Image: shared.trusted}, Args: []string{"tty"}})
	cmd.Path, cmd.Args = script, []string{"script", "-qec", shared.program, "/dev/null"}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid = false, true
	if got := finish(t, cmd); got.code != 0 || !strings.HasPrefix(got.out, "/dev/pts/") {
		t.Errorf("%+v", got)
	}
}

func TestRunRefuses(t *testing.T) {
	fixture(t)
	dir, err := os.MkdirTemp(shared.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/text", []byte(strings.Repeat("no squashfs ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	truncated := dir + "/short.sqsh"
	if err := copyFile(shared.trusted, truncated, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(truncated, 100_000); err != nil {
		t.Fatal(err)
	}
	secret := dir + "/secret.sqsh"
	if err := copyFile(shared.trusted, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, image, want string }{
		{"missing", dir + "/nosuch.sqsh", "no such file"},
		{"text", dir + "/text", "no squashfs image"},
		{"directory", dir, "is no file"},
		{"device", "/dev/zero", "is no file"},
		{"secret", secret, "permission denied"},
		{"truncated", truncated, "no squashfs image"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := run(t, ordinary, Options{Image: row.image}, "true")
			if got.code != 98 || !strings.Contains(got.err, row.want) {
				t.Errorf("%+v, want %q", got, row.want)
			}
		})
	}
	nothingLeft(t, "none")
}
