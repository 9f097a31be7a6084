package clean_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mounts makes one of another file system, one of the same, one that cannot be written
// to, and two mounts of one directory, and becomes this test's program.
const mounts = `set -e
cd "$1"
mount -t tmpfs none root/other
mount --bind outside root/same
mount --bind frozen frozen && mount -o remount,bind,ro frozen
touch -d '2 days ago' root/other/x.tmp
CLEAN_TEST_ROOTS="$1/root $1/frozen" exec "$2" -test.run '^TestHere$'
`

// TestMounts holds that other mounts below a root are left as they are, and that what
// cannot be deleted holds up nothing else.
func TestMounts(t *testing.T) {
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run(); err != nil && os.Getenv("MUSTER_CI") == "" {
		t.Skip("needs namespaces of users, or root: unshare: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made(t, dir+"/root/a/x.tmp", dir+"/root/other/none", dir+"/root/same/none", dir+"/root/z/x.tmp", dir+"/outside/x.tmp", dir+"/frozen/x.tmp", dir+"/frozen/y.tmp")
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounts, "sh", dir, self).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"deleted " + dir + "/root/a/x.tmp", "deleted " + dir + "/root/z/x.tmp",
		"look into " + dir + "/root/other: it is another mount", "look into " + dir + "/root/same: it is another mount",
		"delete " + dir + "/frozen/x.tmp: read-only file system", "delete " + dir + "/frozen/y.tmp: read-only file system",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Count(string(out), "deleted ") != 2 || !there(dir+"/outside/x.tmp") {
		t.Errorf("got\n%s", out)
	}
}
