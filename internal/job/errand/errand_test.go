package errand

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is the process that serves, too.
func TestMain(m *testing.M) {
	if os.Getenv("MUSTER_TEST_ERRANDS") != "" {
		if Serve(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put1(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if _, err := read(Reading{Path: path, MostBytes: 100}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
	put1(t, path, "one two ")
	first, err := read(Reading{Path: path, MostBytes: 4})
	must(t, err)
	next := Reading{Path: path, Offset: 4, Mark: []byte("one "), Inode: first.Inode, MostBytes: 100}
	for _, row := range []struct {
		name, text string
		remove     bool
		offset     int64
		want       string
	}{
		{"grew", "one two three", false, 4, "two three"},
		{"same", "one ", false, 4, ""},
		{"written_anew", "ONE two", false, 0, "ONE two"},
		{"cut", "on", false, 0, "on"},
		{"another_file", "one two", true, 0, "one two"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.remove {
				must(t, os.Rename(path, path+".old"))
			}
			put1(t, path, row.text)
			c, err := read(next)
			if err != nil || c.Offset != row.offset || string(c.Data) != row.want {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
	put1(t, path, strings.Repeat("x", 1000)+"end")
	if c, err := read(Reading{Path: path, MostBytes: 100, SkipBytes: 3}); err != nil || string(c.Data) != "end" {
		t.Errorf("of a long file that was never read: %+v, %v", c, err)
	}
}

// A pipe's writer may never come, and a device may do anything.
func TestReadsOrdinaryFilesAlone(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		if _, err := read(Reading{Path: path, MostBytes: 10}); err == nil || !strings.Contains(err.Error(), "no ordinary file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestExtend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "file")
	for _, row := range []struct {
		size int64
		data string
		want string
	}{{0, "one ", "one "}, {4, "two", "one two"}, {4, "two", "one two"}, {4, "x", "one x"}, {0, "anew", "anew"}} {
		must(t, extend(Extension{Path: path, SizeBytes: row.size, Data: []byte(row.data)}))
		if text, err := os.ReadFile(path); err != nil || string(text) != row.want {
			t.Errorf("%+v: %q, %v", row, text, err)
		}
	}
	if err := extend(Extension{Path: path, SizeBytes: 5, Data: []byte("more")}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "of its 5 bytes 4 are left") {
		t.Errorf("of a file that was cut: %v", err)
	}
	must(t, os.Remove(path))
	if err := extend(Extension{Path: path, SizeBytes: 4, Data: []byte("more")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that was removed: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there again: %v", err)
	}
}

// What others may have put in the file's place is not followed, waited for or written.
func TestExtendsOrdinaryFilesAlone(t *testing.T) {
	dir := t.TempDir()
	kept, link, pipe := filepath.Join(dir, "kept"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	put1(t, kept, "text")
	must(t, os.Symlink(kept, link))
	must(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	must(t, err)
	defer reader.Close()
	for _, path := range []string{link, pipe, dir, filepath.Join(kept, "below"), "/dev/null"} {
		for _, size := range []int64{0, 2} {
			if err := extend(Extension{Path: path, SizeBytes: size, Data: []byte("more")}); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "text" {
		t.Errorf("behind the link is %q, %v", text, err)
	}
}

// listedAs makes a checkpoint whose manifest names its files, as the example program's.
func listedAs(t *testing.T, dir string, bytes int) {
	t.Helper()
	put1(t, filepath.Join(dir, "model.pt"), "weights")
	text, err := json.Marshal(map[string]any{"files": map[string]any{"model.pt": map[string]int{"bytes": bytes}}})
	must(t, err)
	put1(t, filepath.Join(dir, "manifest.json"), string(text))
}

// crew has processes of the test's own program.
func crew(t *testing.T) *Crew {
	c := &Crew{Wait: time.Minute, Idle: time.Minute, Command: func(User) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"MUSTER_TEST_ERRANDS=1"}
		return cmd
	}}
	t.Cleanup(c.Close)
	return c
}

func TestCrew(t *testing.T) {
	c, dir := crew(t), t.TempDir()
	listedAs(t, filepath.Join(dir, "checkpoint-5"), 7)
	path, u := filepath.Join(dir, "log"), User{UID: os.Getuid()}
	must(t, c.Put(t.Context(), u, File{Path: path, Data: []byte("text")}))
	if err := c.Put(t.Context(), u, File{Path: path}); err == nil {
		t.Error("a file was replaced")
	}
	must(t, c.Extend(t.Context(), u, Extension{Path: path + ".more", Data: []byte("text")}))
	if err := c.Extend(t.Context(), u, Extension{Path: path + ".more", SizeBytes: 9}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	got, err := c.Read(t.Context(), u, Reading{Path: path, MostBytes: 100})
	if err != nil || string(got.Data) != "text" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := c.Read(t.Context(), u, Reading{Path: path + ".none", MostBytes: 100}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if found, err := c.Checkpoints(t.Context(), u, []string{dir}); err != nil || len(found) != 1 {
		t.Errorf("got %v, %v", found, err)
	}
	if d, err := c.Mend(t.Context(), u, Mending{Dirs: []string{dir}}); err != nil || len(d.Repairs) != 0 || d.Stuck != "" {
		t.Errorf("got %+v, %v", d, err)
	}
	moves := []Repair{{Path: path, Now: path + ".now"}}
	if done, err := c.Mend(t.Context(), u, Mending{Repairs: moves, Ended: time.Now().Add(time.Minute)}); err != nil || !slices.Equal(done.Repairs, moves) {
		t.Errorf("did %v, %v", done, err)
	}
	must(t, os.Rename(path+".now", path))
	c.Rest(time.Now().Add(time.Hour))
	if _, err := c.Read(t.Context(), u, Reading{Path: path, MostBytes: 100}); err != nil {
		t.Errorf("after a rest: %v", err)
	}
}

// A directory that cannot be read hides none of the others, also beside it; nothing is moved where one is.
func TestCheckpointsOfTheOthers(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	shut, whole := filepath.Join(dir, "shut"), filepath.Join(dir, "whole")
	listedAs(t, filepath.Join(shut, "checkpoint-9"), 7)
	listedAs(t, filepath.Join(whole, "checkpoint-5"), 7)
	must(t, os.Mkdir(filepath.Join(shut, "lost+found"), 0o000))
	done := make(chan struct{})
	var found []Checkpoint
	var err, unmended error
	go func() { // its thread, which is nobody's, ends with it
		defer close(done)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			_ = syscall.Setfsuid(65534)
		}
		a := new(server).do(request{Checkpoints: []string{shut, whole}}).bounded()
		found, err = a.Checkpoints, a.err()
		unmended = new(server).do(request{Mend: &Mending{Dirs: []string{shut}, Ended: time.Now()}}).err()
	}()
	<-done
	if len(found) != 2 || found[0].Step != 9 || found[1].Step != 5 || err == nil || !strings.Contains(err.Error(), filepath.Join(shut, "lost+found")) || strings.Contains(err.Error(), whole) {
		t.Errorf("got %+v, %v", found, err)
	}
	if unmended == nil || !strings.Contains(unmended.Error(), "lost+found") {
		t.Errorf("what could not be looked through is mended: %v", unmended)
	}
	file := filepath.Join(whole, "checkpoint-5", "model.pt", "below")
	c := crew(t)
	if found, err := c.Checkpoints(t.Context(), User{UID: os.Getuid()}, []string{file, whole}); err == nil || !strings.Contains(err.Error(), file) || len(found) != 1 {
		t.Errorf("got %+v, %v", found, err)
	}
}

// A process that dies, that says something else, or that does not answer, is an error, and the
// next one is asked anew.
func TestCrewOutlivesItsProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put1(t, path, "text")
	for name, line := range map[string]string{"dies": "exit 3", "talks": "echo hello; cat >/dev/null", "floods": "yes", "is_none": ""} {
		t.Run(name, func(t *testing.T) {
			c := crew(t)
			good := c.Command
			c.Command = func(User) *exec.Cmd { return exec.Command("/bin/sh"+suffix(line), "-c", line) }
			if _, err := c.Read(t.Context(), User{}, Reading{Path: path, MostBytes: 10}); err == nil {
				t.Fatal("it was read")
			}
			c.Command = good
			if got, err := c.Read(t.Context(), User{}, Reading{Path: path, MostBytes: 10}); err != nil || string(got.Data) != "text" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// A process that a file system holds does not end when it is killed, and its pipes stay open: one that
// another still has is like it. It costs the time that an answer may take, and no more.
func TestCrewLeavesWhatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put1(t, path, "text")
	c := crew(t)
	var hung []*exec.Cmd
	c.Wait, c.Command = 50*time.Millisecond, func(User) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", "cat >/dev/null & sleep 600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		hung = append(hung, cmd)
		return cmd
	}
	t.Cleanup(func() {
		for _, cmd := range hung {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	began := time.Now()
	large := File{Path: path, Data: make([]byte, 1<<20)} // more than a pipe holds
	if err := c.Put(t.Context(), User{}, large); !errors.Is(err, errStuck) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Read(t.Context(), User{}, Reading{Path: path, MostBytes: 10}); !errors.Is(err, errStuck) || len(hung) != 1 {
		t.Errorf("got %v from process %d", err, len(hung))
	}
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("it took %s", took)
	}
}

// What a process says is bounded before it is kept or told.
func TestAnswersAreBounded(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	a := answer{Error: long, Diagnosis: &Diagnosis{Stuck: long, Repairs: slices.Repeat([]Repair{{Path: "a", Why: long, Left: long}}, 5000)}}
	a.Checkpoints = append(slices.Repeat([]Checkpoint{{Dir: "a", Layout: long, Torn: long, Doubt: long}}, 5000), Checkpoint{Dir: long})
	a.Diagnosis.Repairs[0].Path, a.Diagnosis.Repairs[1].Now, a.Diagnosis.Repairs[2].Was = long, long, long
	if b := a.bounded(); len(b.Checkpoints) != mostCheckpoints || len(b.Diagnosis.Repairs) != mostRepairs-3 {
		t.Errorf("%d checkpoints, %d repairs", len(b.Checkpoints), len(b.Diagnosis.Repairs))
	}
	a.Error = ""
	if text, err := json.Marshal(a.bounded()); err != nil || len(text) > 4<<20 || len(answer{Error: long}.err().Error()) > 2*mostText {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// The time may be over in any moment, also in that of the answer.
func TestCrewInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put1(t, path, "text")
	c := crew(t)
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		if c.Wait = time.Minute; i%2 == 0 {
			go cancel()
		}
		if got, err := c.Read(ctx, User{}, Reading{Path: path, MostBytes: 10}); err == nil && string(got.Data) != "text" {
			t.Errorf("got %+v", got)
		}
		cancel()
	}
}

// suffix makes a program's name that of none where there is no line.
func suffix(line string) string {
	if line == "" {
		return "-none"
	}
	return ""
}
