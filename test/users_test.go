package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// knowsNewUsers: a user whom the host has got since machines started submits jobs, and they run as him. What the host has
// is shown to the cluster to its own processes alone, for as long as it runs: the host itself stays as it is.
func knowsNewUsers(t *testing.T, c *cluster) {
	const user = "muster-new"
	inAnchor := func(args ...string) {
		t.Helper()
		line := append([]string{"--target=" + strconv.Itoa(c.anchor()), "--mount", "--"}, args...)
		if out, err := exec.CommandContext(t.Context(), "nsenter", line...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	node := strings.TrimSpace(c.head("srun", "hostname"))
	if r := c.run("exec", "--", "id", user); r.code == 0 {
		t.Fatal("it is there already")
	}
	for file, line := range map[string]string{"/etc/passwd": user + ":x:4242:4242::/:/bin/sh\n", "/etc/group": user + ":x:4242:\n"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c.file(filepath.Base(file), string(text)+line)
		inAnchor("mount", "--bind", filepath.Join(c.dir, filepath.Base(file)), file)
	}
	// That something was installed makes machines look.
	if err := os.MkdirAll(filepath.Join(c.dir, "venv", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := c.command("exec", "--", "setpriv", "--reuid="+user, "--regid="+user, "--clear-groups", "srun", "--chdir=/", "--nodelist="+node, "sh", "-c", "id -un; id -gn")
	cmd.Env = append(cmd.Env, "VIRTUAL_ENV="+filepath.Join(c.dir, "venv"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != user+"\n"+user+"\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
