package load_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// fio writes on two nodes, and each reads the other's files. A file that is cut off is found, and nothing is left.
func TestFio(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	do := func(node, phase string) meter.StorageTask {
		s := measurement(dir)
		s.Node, s.Nodes, s.Phase, s.Tasks, s.By = node, []string{"n1", "n2"}, phase, 2, load.ByFio
		return s.Measure(t.Context())
	}
	for _, node := range []string{"n1", "n2"} {
		if got := do(node, load.PhaseWrite); got.Fault != "" || got.Write.Bytes != 16<<20 || !strings.HasPrefix(got.By, "fio 3") {
			t.Fatalf("%+v %+v", got, got.Write)
		}
	}
	if got := do("n1", load.PhaseRead); got.Fault != "" || got.Read.Bytes != 16<<20 || got.Read.Of != "n2" || got.Read.GBps() <= 0 {
		t.Fatalf("%+v %+v", got, got.Read)
	}
	if err := os.Truncate(filepath.Join(load.Place(dir, "a1b2c3d4e5"), "fio.n1.0.1"), 100); err != nil {
		t.Fatal(err)
	}
	if got := do("n2", load.PhaseRead); got.Fault != meter.FaultDamaged {
		t.Errorf("%+v", got)
	}
	empty(t, dir)
}

// What nodes say of their programs is used only where all have the same.
func TestReadStorageTools(t *testing.T) {
	tools := load.ReadStorageTools([]string{"muster-cpus n1 8", "muster-fio n1 /usr/bin/fio", "muster-fio n2 /usr/bin/fio", "muster-cpus n2 4", "muster-ior n1 /opt/ior",
		"muster-dir0 n1 /home/a b", "muster-dir1 n2 /fsx", "noise"})
	nodes := []string{"n1", "n2"}
	if path, why := tools.Everywhere("fio", nodes); path != "/usr/bin/fio" || why != "" {
		t.Errorf("fio: %q %q", path, why)
	}
	if path, why := tools.Everywhere("ior", nodes); path != "" || why != "n2 has no ior" {
		t.Errorf("ior: %q %q", path, why)
	}
	if path, why := tools.Everywhere("mdtest", nodes); path != "" || why != "no node has mdtest" {
		t.Errorf("mdtest: %q %q", path, why)
	}
	if tools.CPUs != 4 || tools.Dir(0, nodes) != "/home/a b" || tools.Dir(1, nodes) != "/fsx" || tools.Dir(2, nodes) != "" {
		t.Errorf("%+v", tools)
	}
}

// A user who may not write on the mount itself is shown his own directory there, and none where there is none.
func TestFindsWhereToWrite(t *testing.T) {
	if os.Getuid() == 0 {
		if _, err := exec.LookPath("setpriv"); err != nil {
			t.Fatal(err)
		}
	}
	mount, err := os.MkdirTemp("/tmp", "muster-mount")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(mount)
	home := filepath.Join(mount, "alice")
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(mount, 0o555); err != nil {
		t.Fatal(err)
	}
	find := func(home string) load.StorageTools {
		t.Helper()
		line := []string{"sh", "-c", load.FindStorage, "sh", mount}
		if os.Getuid() == 0 {
			line = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, line...)
		}
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "SLURMD_NODENAME=n1", "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%v: %s", err, out)
		}
		return load.ReadStorageTools(strings.Split(string(out), "\n"))
	}
	if got := find(home).Dir(0, []string{"n1"}); got != home {
		t.Errorf("got %q", got)
	}
	if got := find("/").Dir(0, []string{"n1"}); got != "" {
		t.Errorf("got %q", got)
	}
}
