package test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// connects says of each socket whether it can be connected to, and of files whether they can be read.
const connects = `
import os, socket, stat, sys
for path in sys.argv[1:]:
    try:
        if stat.S_ISSOCK(os.stat(path).st_mode):
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
        else:
            open(path).close()
        print(path)
    except PermissionError:
        pass
`

// socketsAreClosed: whoever is not on a machine of the cluster reaches no socket of it, and who is there
// has those that he needs.
func socketsAreClosed(t *testing.T, c *cluster) {
	var sockets []string
	err := filepath.WalkDir(c.path(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type() == fs.ModeSocket {
			sockets = append(sockets, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sockets) < 4 {
		t.Fatalf("there are only these: %v", sockets)
	}
	for dir := c.home; dir != os.TempDir(); dir = filepath.Dir(dir) { // nothing but the cluster itself keeps others out
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	known := c.path("cluster.json")
	line := append([]string{"--reuid=nobody", "--regid=nogroup", "--clear-groups", "python3", "-c", connects, known}, sockets...)
	line = append(line, closedFiles(t, c)...)
	cmd := exec.Command("setpriv", line...)
	cmd.Dir, cmd.Env = "/", []string{plainPath}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != known+"\n" {
		t.Errorf("another user of this machine reaches %v\n%s", err, out)
	}
	// Beside munge and Slurm, which every job asks, the agent of SSH.
	const uses = `set -e
munge -n | unmunge | grep -q STATUS.*Success
squeue --noheader
test -r /etc/slurm/slurm.conf -a -r /etc/muster/cluster.yaml -a ! -r /etc/muster/registry.json
[ ! -x /usr/sbin/sshd ] || SSH_AUTH_SOCK=/run/muster-ssh/agent ssh-add -l >/dev/null
id -un`
	node := strings.TrimSpace(c.head("srun", "hostname"))
	for _, where := range [][]string{{"exec", "--"}, {"exec", "--node", node, "--"}} {
		r := c.run(append(where, "setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "sh", "-c", uses)...)
		if r.code != 0 || !strings.HasSuffix(r.stdout, "daemon\n") {
			t.Errorf("%v: exit code %d, %q\n%s", where, r.code, r.stdout, r.stderr)
		}
	}
}

// closedFiles are what a cluster was made of, and its logs.
func closedFiles(t *testing.T, c *cluster) []string {
	t.Helper()
	files := []string{c.path("cluster.yaml"), c.path("muster.yaml")}
	for _, dir := range []string{"etc", "log"} {
		err := filepath.WalkDir(c.path(dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files = append(files, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it had a name for a moment
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/slurm/slurm.conf", "etc/muster/cluster.yaml", "log/slurmctld.log", "log/controller.log"} {
		if !slices.Contains(files, c.path(name)) {
			t.Errorf("there is no %s", name)
		}
	}
	return files
}
