package load_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

func measurement(dir string) load.Storage {
	return load.Storage{
		Dir: dir, Run: "a1b2c3d4e5", Phase: load.PhaseAll, Node: "n1",
		Bytes: 16 << 20, Time: 20 * time.Second, Streams: 2, Files: 50, Tasks: 1, Now: time.Now(),
	}
}

// empty holds that nothing is left in a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".muster") {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func TestMeasuresAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	got := measurement(dir).Measure(t.Context())
	if got.Fault != "" {
		t.Fatalf("%s: %s", got.Fault, got.Error)
	}
	if got.Write.Bytes != 16<<20 || got.Read.Bytes != 16<<20 || got.Write.GBps() <= 0 || got.Read.GBps() <= 0 {
		t.Errorf("wrote %+v and read %+v", got.Write, got.Read)
	}
	if got.Meta.Files != 50 || got.Meta.Create <= 0 || got.Meta.Stat <= 0 || got.Meta.Remove <= 0 {
		t.Errorf("metadata %+v", got.Meta)
	}
	if line := got.Line(); len(line) >= 1000 || strings.Contains(line, "\n") {
		t.Errorf("the line is %q", line)
	}
	empty(t, dir)
}

// Two nodes write; each reads the other's, and sees when it was damaged.
func TestNodesReadEachOther(t *testing.T) {
	dir := t.TempDir()
	do := func(node, phase string) meter.StorageTask {
		s := measurement(dir)
		s.Node, s.Nodes, s.Phase, s.Tasks = node, []string{"n1", "n2"}, phase, 2
		return s.Measure(t.Context())
	}
	for _, node := range []string{"n1", "n2"} {
		if got := do(node, load.PhaseWrite); got.Fault != "" {
			t.Fatal(got.Error)
		}
	}
	if got := do("n1", load.PhaseRead); got.Fault != "" || got.Read.Of != "n2" {
		t.Fatalf("read %+v: %s", got.Read, got.Error)
	}
	flip(t, filepath.Join(dir, ".muster-verify-a1b2c3d4e5", "data.n1.0.1"), 5_000_000)
	if got := do("n2", load.PhaseRead); got.Fault != meter.FaultDamaged || !strings.Contains(got.Error, "at 4997120") {
		t.Errorf("read a damaged file: %q %s", got.Fault, got.Error)
	}
	empty(t, dir)
}

func flip(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// A file in memory is no measurement of a disk.
func TestMemoryIsBlind(t *testing.T) {
	dir := mount(t, "-t", "tmpfs", "-o", "size=256m", "tmpfs")
	got := measurement(dir).Measure(t.Context())
	if got.Fault != "" || got.FS != "tmpfs" || got.Read.Blind == "" {
		t.Errorf("read %+v of %s: %s", got.Read, got.FS, got.Error)
	}
	empty(t, dir)
}

func TestASmallDiskIsRefusedAndAFullOneIsSaid(t *testing.T) {
	dir := disk(t, 64)
	s := measurement(dir)
	s.Bytes = 40 << 20
	if got := s.Measure(t.Context()); got.Fault != meter.FaultSpace {
		t.Errorf("three times the room: %q %s", got.Fault, got.Error)
	}
	empty(t, dir)
	s.Bytes = 200 << 20 // as when another fills it after the look
	if got := load.Unlooked(s).Measure(t.Context()); got.Fault != meter.FaultFull {
		t.Errorf("a full disk: %q %s", got.Fault, got.Error)
	}
	empty(t, dir)
}

func TestWhatCannotBeWritten(t *testing.T) {
	plain := t.TempDir()
	readOnly := mount(t, "--bind", plain)
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro,bind", readOnly).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	link := filepath.Join(plain, "link")
	if err := os.Symlink("/tmp", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir string
		want      meter.StorageFault
	}{
		{"read_only", readOnly, meter.FaultReadOnly},
		{"missing", filepath.Join(plain, "none"), meter.FaultMissing},
		{"link", link, meter.FaultOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := measurement(c.dir).Measure(t.Context()); got.Fault != c.want {
				t.Errorf("%q: %s", got.Fault, got.Error)
			}
		})
	}
}

// Another user's directory of the same name is not written to.
func TestADirectoryOfAnother(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, ".muster-verify-a1b2c3d4e5")
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := measurement(dir).Measure(t.Context()); got.Fault == "" || !strings.Contains(got.Error, "not this user's own") {
		t.Errorf("%q: %s", got.Fault, got.Error)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error("it was removed:", err)
	}
}

// A user without rights is told so. The measurement runs as that user, in a process of its own.
func TestADirectoryWithoutRights(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, dir)
	self, err := os.Open(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd.Path, cmd.Dir, cmd.ExtraFiles = "/proc/self/fd/3", "/", []*os.File{self} // the way to the program is closed to others
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	got, err := meter.ReadStorageTask(line)
	if err != nil || got.Fault != meter.FaultPermission {
		t.Errorf("%v, %q: %s", err, got.Fault, got.Error)
	}
}

// A run that was killed leaves a directory, which a run a day later removes; one that may still live stays.
func TestLeftoversOfADeadRun(t *testing.T) {
	dir := disk(t, 20<<10)
	cmd := child(t, dir)
	cmd.Env = append(cmd.Env, "LOAD_ENDLESS=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, ".muster-verify-dead567890")
	waitFor(t, func() bool {
		info, err := os.Stat(filepath.Join(left, "data.n1.0.0"))
		return err == nil && info.Size() > 4<<20
	})
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s := measurement(dir)
	s.Bytes = 8 << 20
	if got := load.Unlooked(s).Measure(t.Context()); got.Fault != "" {
		t.Fatal(got.Error)
	}
	if _, err := os.Stat(left); err != nil {
		t.Fatal("a run of today was removed:", err)
	}
	s.Now = time.Now().Add(25 * time.Hour)
	if got := s.Measure(t.Context()); got.Fault != "" || len(got.Notes) == 0 {
		t.Errorf("%s %q", got.Error, got.Notes)
	}
	empty(t, dir)
}

// A run that is stopped cleans up.
func TestAStoppedRunLeavesNothing(t *testing.T) {
	dir := disk(t, 20<<10)
	ctx, stop := context.WithCancel(t.Context())
	s := measurement(dir)
	s.Bytes, s.Time = 100<<30, time.Hour // it does not end by itself
	s = load.Unlooked(s)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, ".muster-verify-a1b2c3d4e5", "data.n1.0.0")); err == nil {
				stop()
			}
		}
	}()
	if got := s.Measure(ctx); got.Fault != meter.FaultStopped {
		t.Errorf("%q: %s", got.Fault, got.Error)
	}
	empty(t, dir)
}

func TestWhatIsNoMeasurement(t *testing.T) {
	for name, spoil := range map[string]func(*load.Storage){
		"phase": func(s *load.Storage) { s.Phase = "erase" },
		"run":   func(s *load.Storage) { s.Run = "../../../../etc" },
		"node":  func(s *load.Storage) { s.Node = "../n1" },
		"of":    func(s *load.Storage) { s.ReadOf = "a/b" },
		"dir":   func(s *load.Storage) { s.Dir = "here" },
		"bytes": func(s *load.Storage) { s.Bytes = -1 },
		"time":  func(s *load.Storage) { s.Time = 48 * time.Hour },
		"files": func(s *load.Storage) { s.Files = 0 },
	} {
		s := measurement(t.TempDir())
		spoil(&s)
		if s.Check() == nil {
			t.Errorf("%s: %+v is allowed", name, s)
		}
	}
}

// child is this test's program as a measurement, for what needs a process of its own.
func child(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTheChild$")
	cmd.Env = append(os.Environ(), "LOAD_DIR="+dir)
	return cmd
}

func TestTheChild(t *testing.T) {
	dir := os.Getenv("LOAD_DIR")
	if dir == "" {
		return // it is none
	}
	s := measurement(dir)
	s.Run = "dead567890"
	if os.Getenv("LOAD_ENDLESS") != "" {
		s.Bytes, s.Time = 100<<30, time.Hour
		s = load.Unlooked(s)
	}
	if _, err := os.Stdout.WriteString(s.Measure(t.Context()).Line() + "\n"); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for !done() {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTimer(5 * time.Millisecond)
		<-tick.C
	}
}

// mount mounts something on a new directory, for as long as the test.
func mount(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Fatalf("mount %v: %s", args, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			t.Error(err)
		}
	})
	return dir
}

// disk is an ext4 of some MiB.
func disk(t *testing.T, mib int64) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, mib<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %s", out)
	}
	return mount(t, "-o", "loop", image)
}
