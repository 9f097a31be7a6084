package export_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func TestCutAfterEveryStep(t *testing.T) {
	steps := len(lasting(job))
	for n := range 2 * steps {
		t.Run(fmt.Sprintf("%d_late_%v", n/2, n%2 == 1), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, job)
			fake := &storetest.Fake{}
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			dying := &cut{Store: fake, late: n%2 == 1, kill: kill}
			dying.left.Store(int32(n / 2))
			result, err := mirror(dir, dying).Round(ctx, soon())
			if err == nil || result.Pending == 0 {
				t.Errorf("a killed round left %d pending: %v", result.Pending, err)
			}
			wantLawful(t, fake, data)
			finish(t, mirror(dir, fake))
			wantMirrored(t, dir, fake, job)
		})
	}
}

func TestDeletesCutAfterEveryStep(t *testing.T) {
	later := maps.Clone(job)
	for _, p := range []string{"run/checkpoint-1/model.bin", "run/checkpoint-1/sub/optim.bin", "meg/iter_0000010/model.pt", "meg/latest_checkpointed_iteration.txt"} {
		delete(later, p)
	}
	later["run/checkpoint-4/model.bin"] = "weights 4"
	later["run/latest"] = "checkpoint-4"
	for n := range 6 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			fake := &storetest.Fake{}
			write(t, dir, job)
			finish(t, mirror(dir, fake))
			if err := errors.Join(os.RemoveAll(filepath.Join(dir, "run/checkpoint-1")), os.RemoveAll(filepath.Join(dir, "meg"))); err != nil {
				t.Fatal(err)
			}
			write(t, dir, files{"run/checkpoint-4/model.bin": "weights 4", "run/latest": "checkpoint-4"})
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			dying := &cut{Store: fake, kill: kill}
			dying.left.Store(int32(n))
			m := mirror(dir, dying)
			for range 2 {
				m.Round(ctx, soon())
				wantLawful(t, fake, data)
			}
			m = mirror(dir, fake)
			for range 2 {
				if _, err := m.Round(t.Context(), soon()); err != nil {
					t.Fatal(err)
				}
				wantLawful(t, fake, data)
			}
			wantMirrored(t, dir, fake, later)
		})
	}
}

func TestSecondRoundDoesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, job)
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	finish(t, m)
	puts := fake.Puts()
	finish(t, m)
	finish(t, mirror(dir, fake))
	if fake.Puts() != puts {
		t.Errorf("later rounds put %d objects again", fake.Puts()-puts)
	}
}

// meddle is a store during whose puts something happens to the directory.
type meddle struct {
	store.Store
	key  string
	once func()
}

func (m *meddle) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if u.Key == m.key && m.once != nil {
		m.once()
		m.once = nil
	}
	return m.Store.Put(ctx, u)
}

func TestFileThatChangesWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	fake := &storetest.Fake{}
	write(t, dir, files{"checkpoint-new/model.bin": "old weights", "latest": "checkpoint-new"})
	m := mirror(dir, &meddle{Store: fake, key: "fsx1/checkpoint-new/model.bin", once: func() {
		write(t, dir, files{"checkpoint-new/model.bin": "new weights"})
	}})
	result, err := m.Round(t.Context(), soon())
	if err != nil || !slices.Equal(result.Changed, []string{"checkpoint-new/model.bin"}) || result.Pending != 2 {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := bucket(t, fake); len(got) != 0 {
		t.Errorf("%v is in the bucket", got)
	}
	finish(t, m)
	wantMirrored(t, dir, fake, files{"checkpoint-new/model.bin": "new weights", "latest": "checkpoint-new"})
}

func TestLogThatGrowsWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	fake := &storetest.Fake{}
	write(t, dir, files{"train.log": "one\n"})
	m := mirror(dir, &meddle{Store: fake, key: "fsx1/train.log", once: func() {
		write(t, dir, files{"train.log": "one\ntwo\n"})
	}})
	start := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  string
		left  int
	}{{0, "one\n", 0}, {time.Second, "one\n", 1}, {11 * time.Second, "one\ntwo\n", 0}} {
		result, err := m.Round(t.Context(), start.Add(c.after))
		if err != nil || result.Pending != c.left {
			t.Errorf("after %s: %+v, %v", c.after, result, err)
		}
		if got := bucket(t, fake)["fsx1/train.log"]; got != c.want {
			t.Errorf("after %s the object is %q, want %q", c.after, got, c.want)
		}
	}
}

// broken is a store that refuses one key, or all.
type broken struct {
	store.Store
	key  string
	puts atomic.Int32
}

func (b *broken) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	b.puts.Add(1)
	if b.key == "" || u.Key == b.key {
		return store.Object{}, errors.New("refused")
	}
	return b.Store.Put(ctx, u)
}

func TestOneBadFileHoldsUpOnlyItsPointer(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, job)
	fake := &storetest.Fake{}
	result, err := mirror(dir, &broken{Store: fake, key: "fsx1/run/checkpoint-2/model.bin"}).Round(t.Context(), soon())
	if err == nil || err.Error() != "export run/checkpoint-2/model.bin: refused" || result.Pending != 2 {
		t.Errorf("it left %d pending: %v", result.Pending, err)
	}
	want := lasting(job)
	delete(want, "fsx1/run/checkpoint-2/model.bin")
	delete(want, "fsx1/run/latest")
	if diff := cmp.Diff(want, bucket(t, fake)); diff != "" {
		t.Error(diff)
	}
}

func TestDeletesWaitForThePointer(t *testing.T) {
	dir := t.TempDir()
	fake := &storetest.Fake{}
	write(t, dir, job)
	finish(t, mirror(dir, fake))
	if err := os.RemoveAll(filepath.Join(dir, "run/checkpoint-2")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"run/checkpoint-4/model.bin": "weights 4", "run/latest": "checkpoint-4"})
	m := mirror(dir, &broken{Store: fake, key: "fsx1/run/latest"})
	for range 3 {
		if _, err := m.Round(t.Context(), soon()); err == nil {
			t.Error("a refused pointer was no error")
		}
		wantLawful(t, fake, data)
	}
	m.Store = fake
	finish(t, m)
	if _, err := fake.Head(t.Context(), "fsx1/run/checkpoint-2/model.bin"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the old checkpoint is still there: %v", err)
	}
}

func TestDeadPlaceEndsTheRound(t *testing.T) {
	dir := t.TempDir()
	many := files{}
	for i := range 50 {
		many[fmt.Sprintf("f%d", i)] = "x"
	}
	write(t, dir, many)
	dead := &broken{Store: &storetest.Fake{}}
	if _, err := mirror(dir, dead).Round(t.Context(), soon()); err == nil {
		t.Error("it succeeded")
	}
	if n := dead.puts.Load(); n > 10 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestRenamedCheckpointGoesAtOnce(t *testing.T) {
	dir := t.TempDir()
	tmp := filepath.Join(dir, ".tmp-checkpoint-1")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "model.bin"), []byte("weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	if result, err := m.Round(t.Context(), time.Now()); err != nil || result.Pending != 0 || fake.Puts() != 0 {
		t.Fatalf("before the rename: %+v, %v", result, err)
	}
	nextTick(t, tmp)
	if err := os.Rename(tmp, filepath.Join(dir, "checkpoint-1")); err != nil {
		t.Fatal(err)
	}
	if result, err := m.Round(t.Context(), time.Now()); err != nil || result.Pending != 0 || fake.Puts() != 1 {
		t.Errorf("after the rename: %+v, %v", result, err)
	}
}

// nextTick waits until the clock of files shows another time than the directory has.
func nextTick(t *testing.T, dir string) {
	t.Helper()
	was, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(t.TempDir(), "probe")
	for limit := time.Now().Add(5 * time.Minute); time.Now().Before(limit); {
		if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if is, err := os.Stat(probe); err == nil && is.ModTime().After(was.ModTime()) {
			return
		}
	}
	t.Fatal("the clock of files stands still")
}

func TestNothingOutsideIsRead(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, files{"secret": "secret", "d/secret": "secret"})
	dir := t.TempDir()
	write(t, dir, files{"file": "-> " + outside + "/secret", "dir": "-> " + outside + "/d", "latest_x": "-> ../../secret"})
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	for range 2 {
		if _, err := m.Round(t.Context(), soon()); err != nil {
			t.Fatal(err)
		}
	}
	for k, text := range bucket(t, fake) {
		if strings.Contains(k, "dir/") || text == "secret" {
			t.Errorf("%s holds %q", k, text)
		}
	}
}

func TestFailedLookDeletesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mount")
	write(t, dir, job)
	fake := &storetest.Fake{}
	m := mirror(dir, fake)
	finish(t, m)
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := m.Round(t.Context(), soon()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing directory got %v", err)
		}
	}
	if got := bucket(t, fake); len(got) != len(lasting(job)) {
		t.Errorf("%d objects are left", len(got))
	}
}

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"same": "1", "damaged": "2", "edited": "3", "missing": "4", "x.tmp": "5", "link": "-> same"})
	fake := &storetest.Fake{}
	finish(t, mirror(dir, fake))
	fake.Damage("fsx1/damaged")
	if err := fake.Delete(t.Context(), "fsx1/missing"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"edited": "6"})
	if _, err := fake.Put(t.Context(), store.Upload{Key: "fsx1/extra", Body: strings.NewReader(""), SizeBytes: 0}); err != nil {
		t.Fatal(err)
	}
	got, err := export.Verify(t.Context(), export.Rule{Dir: dir, Prefix: "fsx1"}, fake)
	if err != nil {
		t.Fatal(err)
	}
	want := export.Report{Matched: 2, Missing: []string{"missing"}, Different: []string{"damaged", "edited"}, Extra: []string{"extra"}}
	if diff := cmp.Diff(want, got); diff != "" || got.OK() {
		t.Error(diff)
	}
}
