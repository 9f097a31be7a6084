package export_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// picky is a store that takes no keys with one of some parts, as S3 servers on file systems do.
type picky struct {
	store.Store
	parts []string

	mu    sync.Mutex // guards asked
	asked map[string]int
}

func (p *picky) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	for _, part := range p.parts {
		if strings.Contains(u.Key, part) {
			p.mu.Lock()
			p.asked[u.Key]++
			p.mu.Unlock()
			return store.Object{}, fmt.Errorf("put object %s: %w", u.Key, store.ErrRefused)
		}
	}
	return p.Store.Put(ctx, u)
}

func pathsOf(waits []export.Wait) []string {
	var all []string
	for _, w := range waits {
		all = append(all, w.Path)
	}
	return all
}

func TestFilesThatAreRefusedHoldUpNobody(t *testing.T) {
	dir := t.TempDir()
	fake := &storetest.Fake{}
	stubborn := &picky{Store: fake, parts: []string{"bad"}, asked: map[string]int{}}
	for i := range 8 {
		write(t, dir, files{fmt.Sprintf("bad%d/x", i): "x"})
	}
	m := mirror(dir, stubborn)
	if result, err := m.Round(t.Context(), soon()); err != nil || result.Pending != 8 || len(result.Blocked) != 8 {
		t.Fatalf("got %d pending, %v blocked, %v", result.Pending, result.Blocked, err)
	}
	write(t, dir, files{"checkpoint-2/model.bin": "weights", "latest": "checkpoint-2", "bad-run/latest": "step", "bad-run/step/x": "x"})
	result, err := m.Round(t.Context(), soon().Add(time.Hour))
	if err != nil || result.Pending != 10 || len(result.Blocked) != 10 {
		t.Errorf("got %d pending, %v blocked, %v", result.Pending, result.Blocked, err)
	}
	if diff := cmp.Diff(files{"fsx1/checkpoint-2/model.bin": "weights", "fsx1/latest": "checkpoint-2"}, bucket(t, fake)); diff != "" {
		t.Error(diff)
	}
	if p := m.Track.Progress(); p.Files != 10 || len(p.Blocked) != 10 || !slices.IsSorted(pathsOf(p.Blocked)) || p.Success.IsZero() {
		t.Errorf("the progress is %+v", p)
	}
	stubborn.parts = nil
	finish(t, m)
	wantMirrored(t, dir, fake, files{"bad-run/step/x": "x", "bad-run/latest": "step", "checkpoint-2/model.bin": "weights", "latest": "checkpoint-2",
		"bad0/x": "x", "bad1/x": "x", "bad2/x": "x", "bad3/x": "x", "bad4/x": "x", "bad5/x": "x", "bad6/x": "x", "bad7/x": "x"})
}

func TestWhatFailedIsTriedMoreAndMoreSeldom(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"bad": "x"})
	stubborn := &picky{Store: &storetest.Fake{}, parts: []string{"bad"}, asked: map[string]int{}}
	m := mirror(dir, stubborn)
	start := soon()
	for second := range 3600 {
		if _, err := m.Round(t.Context(), start.Add(time.Duration(second)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if n := stubborn.asked["fsx1/bad"]; n < 10 || n > 20 {
		t.Errorf("it was tried %d times in an hour", n)
	}
	before := stubborn.asked["fsx1/bad"]
	if err := os.Chmod(filepath.Join(dir, "bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Round(t.Context(), start.Add(time.Hour)); err != nil || stubborn.asked["fsx1/bad"] != before+1 {
		t.Errorf("a file that changed was not tried at once: %v", err)
	}
}

func TestNamesThatAreNoKeys(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat(strings.Repeat("n", 250)+"/", 5) + "x"
	write(t, dir, files{"bad\xff\xfeutf8": "x", "ctrl\x01x": "x", long: "x"})
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	for range 3 {
		result, err := m.Round(t.Context(), soon())
		if diff := cmp.Diff([]string{"bad\xff\xfeutf8", long}, pathsOf(result.Blocked)); diff != "" || err != nil || result.Pending != 2 {
			t.Errorf("%d pending, %v: %s", result.Pending, err, diff)
		}
	}
	if fake.Puts() != 1 {
		t.Errorf("%d objects were put", fake.Puts())
	}
}

func TestDirectoryThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	asAnybody(t, dir)
	write(t, dir, files{"open/x": "x", "shut/x": "x", "link/latest": "-> ../shut"})
	fake := &storetest.Fake{}
	finish(t, mirror(dir, fake))
	if err := os.Chmod(filepath.Join(dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "shut"), 0o755)
	write(t, dir, files{"open/y": "y"})
	m := mirror(dir, fake)
	for range 3 {
		result, err := m.Round(t.Context(), soon())
		if diff := cmp.Diff([]string{"shut/"}, pathsOf(result.Blocked)); diff != "" || err != nil {
			t.Errorf("%v: %s", err, diff)
		}
	}
	if diff := cmp.Diff(files{"fsx1/open/x": "x", "fsx1/open/y": "y", "fsx1/shut/x": "x", "fsx1/link/latest": "../shut"}, bucket(t, fake)); diff != "" {
		t.Error(diff)
	}
}

// asAnybody makes the test's own thread one that reads no more than an ordinary user does, also where tests run as root.
func asAnybody(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(func() {
		if err := syscall.Setfsuid(0); err == nil {
			runtime.UnlockOSThread()
		}
	})
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
}

// TestDeletesGoOnBesideRefusals has a directory in place of a file, on a server where one excludes the other.
func TestDeletesGoOnBesideRefusals(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"x": "a file", "other": "x"})
	fake := &storetest.Fake{}
	finish(t, mirror(dir, fake))
	if err := os.Remove(filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"x/y": "below"})
	m := mirror(dir, &parents{fake})
	for n := range 4 {
		if _, err := m.Round(t.Context(), soon().Add(time.Duration(n)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	wantMirrored(t, dir, fake, files{"x/y": "below", "other": "x"})
}

// parents is a store that keeps objects in directories.
type parents struct{ store.Store }

func (p *parents) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if _, err := p.Head(ctx, filepath.Dir(u.Key)); !errors.Is(err, store.ErrNotFound) {
		return store.Object{}, store.ErrRefused
	}
	return p.Store.Put(ctx, u)
}

// TestPipesHoldUpNobody has what is no file beside files, below a checkpoint, and in the place of a file and of a pointer.
func TestPipesHoldUpNobody(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"x": "a file", "checkpoint-1/model.bin": "weights", "latest": "checkpoint-1", "run/latest": "step", "run/step/x": "x"})
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	finish(t, m)
	for _, name := range []string{"x", "run/latest"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"x", "run/latest", "checkpoint-1/pipe", "run/.tmp-1"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	write(t, dir, files{"checkpoint-1/more.bin": "more", "run/step/y": "y"})
	want := []string{"checkpoint-1/pipe", "run/latest", "socket", "x"}
	for n := range 4 {
		result, err := m.Round(t.Context(), soon().Add(time.Duration(n)*time.Hour))
		if diff := cmp.Diff(want, pathsOf(result.Blocked)); diff != "" || err != nil {
			t.Errorf("%v: %s", err, diff)
		}
		if n > 1 && result.Pending != len(want) {
			t.Errorf("%d are pending", result.Pending)
		}
	}
	if got := m.Track.Progress().Blocked[2].Reason; got != "it is a socket, not a file" {
		t.Errorf("the reason is %q", got)
	}
	// The old run/latest stays with what it names, as it would if a file in its place could not be exported.
	if diff := cmp.Diff(files{"fsx1/checkpoint-1/model.bin": "weights", "fsx1/checkpoint-1/more.bin": "more", "fsx1/latest": "checkpoint-1",
		"fsx1/run/latest": "step", "fsx1/run/step/x": "x", "fsx1/run/step/y": "y"}, bucket(t, fake)); diff != "" {
		t.Error(diff)
	}
}
