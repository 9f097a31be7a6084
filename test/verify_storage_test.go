package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ior stands in for IOR and mdtest, which Debian has not: a program of MPI that srun starts by PMIx, of which each task writes and reads in
// the directory that it is given. The first task prints what IOR 4.0 and mdtest 4.0 print, with the number of tasks that MPI counts.
const ior = `#!/usr/bin/env python3
import ctypes, os, sys
if os.path.exists("DIR/refuses"): sys.exit("no MPI here")
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
size, rank = ctypes.c_int(), ctypes.c_int()
if not os.path.exists("DIR/alone"): assert mpi.MPI_Init(None, None) == 0 and mpi.MPI_Comm_size(world, ctypes.byref(size)) == 0 and mpi.MPI_Comm_rank(world, ctypes.byref(rank)) == 0
else: size.value = 1
args = sys.argv[1:]
name = args[args.index("-o" if "-o" in args else "-d") + 1]
files = [name + ".%d" % i for i in range(size.value)]
open(files[rank.value], "w").write("x" * 1024)
if size.value > 1: assert mpi.MPI_Barrier(world) == 0
assert open(files[(rank.value + 1) % size.value]).read() == "x" * 1024
if rank.value == 0:
    text = open("DIR/" + ("ior" if "-o" in args else "mdtest") + ".txt").read()
    open("DIR/started", "a").write(" ".join(args) + "\n")
    print(text.replace("TASKS", str(size.value)), end="", flush=True)
if os.path.exists("DIR/waits"): open("DIR/waiting", "a").close(); import signal; signal.pause()
if size.value > 1: mpi.MPI_Finalize()
`

// TestVerifyStorage measures with fio, as Debian has it, and with programs of MPI.
func TestVerifyStorage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(3)+dataFile)
	t.Run("fio", func(t *testing.T) { storageByFio(t, c) })
	t.Run("mpi", func(t *testing.T) { storageByMPI(t, c) })
}

func storageByFio(t *testing.T, c *cluster) {
	if _, err := exec.LookPath("fio"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	v, code := c.verify("storage", "--nodes", "2")
	if code != 0 {
		t.Errorf("exit code %d: %+v", code, v)
	}
	c.holds(v, "pass", "storage-write", "storage-read", "storage-create")
	by := regexp.MustCompile(`^[0-9.]+ [GM]B/s from 2 nodes by fio 3\.[0-9.]+, the slowest gpu-dy-p5e-\d with [0-9.]+ [GM]B/s$`)
	for _, r := range append(v.results("storage-write"), v.results("storage-read")...) {
		if !by.MatchString(r.Found) {
			t.Errorf("%s found %q", r.Check, r.Found)
		}
	}
	c.leftNothing(t)
	// One that is killed meanwhile leaves nothing either.
	killed := c.command("exec", "--", "sh", "-c", "echo $$ >"+filepath.Join(c.dir, "pid")+"; exec /opt/muster/bin/muster verify storage --nodes 2")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("fio writes", patience, func() bool {
		files, _ := filepath.Glob(c.path("shared", "*", ".muster-verify*", "fio.*"))
		return len(files) > 0
	})
	if r := c.run("exec", "--", "kill", "-9", strings.TrimSpace(c.read("pid"))); r.code != 0 {
		t.Error(r.stderr)
	}
	_ = killed.Wait()
	c.await("nothing is left", patience, func() bool { return len(c.leftovers()) == 0 })
}

// leftNothing holds that no measurement left anything on the shared file systems.
func (c *cluster) leftNothing(t *testing.T) {
	t.Helper()
	if left := c.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func (c *cluster) leftovers() []string {
	left, _ := filepath.Glob(c.path("shared", "*", ".muster-verify*"))
	return left
}

func storageByMPI(t *testing.T, c *cluster) {
	if err := os.Mkdir(filepath.Join(c.dir, "mpi"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ior", "mdtest"} {
		c.file("mpi/"+name, strings.ReplaceAll(ior, "DIR", filepath.Join(c.dir, "mpi")))
		if err := os.Chmod(filepath.Join(c.dir, "mpi", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.file("mpi/ior.txt", recorded(t, "ior/ior-4.0.0-posix-fpp-2iter.txt", `(?m)^(tasks\s*: )\d+$`))
	c.file("mpi/mdtest.txt", recorded(t, "mdtest/mdtest-4.0.0-files-1iter.txt", `(was launched with )\d+`))
	verify := fmt.Sprintf("PATH=%s:$PATH exec /opt/muster/bin/muster verify storage --nodes 2 -o json", filepath.Join(c.dir, "mpi"))
	run := func() (v verified) {
		t.Helper()
		r := c.run("exec", "--", "sh", "-c", verify)
		if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
			t.Fatalf("%v, exit code %d: %s%s", err, r.code, r.stdout, r.stderr)
		}
		c.leftNothing(t)
		return v
	}
	v := run()
	c.holds(v, "pass", "storage-write", "storage-read", "storage-create")
	for check, by := range map[string]string{"storage-write": " from 2 nodes by IOR 4.0.0", "storage-read": " from 2 nodes by IOR 4.0.0", "storage-create": " by mdtest 4.0.0"} {
		if !slices.ContainsFunc(v.results(check), func(r verifiedResult) bool { return strings.HasSuffix(r.Found, by) }) {
			t.Errorf("%s is not %s: %+v", check, by, v.results(check))
		}
	}
	if said := c.read("mpi/started"); !strings.Contains(said, "/.muster-verify-") || !strings.Contains(said, "-n 1000 -F -u -N ") {
		t.Errorf("started %q", said)
	}
	// What MPI does not start, or starts as many programs of one task, is told of, and the next program measures.
	for name, why := range map[string]string{"refuses": "no MPI here", "alone": "does not hear of the others"} {
		c.file("mpi/"+name, "")
		v := run()
		c.holds(v, "blind", "storage-program")
		c.holds(v, "pass", "storage-write", "storage-read", "storage-create")
		for _, r := range v.results("storage-program") {
			if !strings.Contains(r.Why, why) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if err := os.Remove(filepath.Join(c.dir, "mpi", name)); err != nil {
			t.Fatal(err)
		}
	}
	// One that is killed meanwhile leaves nothing either.
	c.file("mpi/waits", "")
	killed := c.command("exec", "--", "sh", "-c", "echo $$ >"+filepath.Join(c.dir, "mpi/pid")+"; "+verify)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("IOR runs", patience, func() bool { _, err := os.Stat(filepath.Join(c.dir, "mpi/waiting")); return err == nil })
	if r := c.run("exec", "--", "kill", "-9", strings.TrimSpace(c.read("mpi/pid"))); r.code != 0 {
		t.Error(r.stderr)
	}
	_ = killed.Wait()
	c.await("nothing is left", patience, func() bool { return len(c.leftovers()) == 0 })
}

// recorded is a recorded output, with TASKS for the number of tasks that it names.
func recorded(t *testing.T, name, tasks string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../internal/verify/meter/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(tasks).ReplaceAllString(string(text), "${1}TASKS")
}
