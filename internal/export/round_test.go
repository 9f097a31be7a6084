package export

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// together is a bucket whose puts wait for each other.
type together struct {
	storetest.Fake
	all sync.WaitGroup
}

func (s *together) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	s.all.Done()
	s.all.Wait()
	return s.Fake.Put(ctx, u)
}

// TestRound_exports_side_by_side: a file that takes long holds up none beside it. In
// a bubble, puts that come one after the other would wait for ever.
func TestRound_exports_side_by_side(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &together{}
		rule := Rule{Dir: t.TempDir(), Bucket: "b", New: true, Changed: true, Deleted: true}
		for _, name := range []string{"one", "two", "three"} {
			old(t, filepath.Join(rule.Dir, name), time.Hour)
			s.all.Add(1)
		}
		m := &Mirror{Rule: rule, Pace: DefaultPace, Store: s}
		defer m.Close()
		result, err := m.Round(t.Context(), time.Now())
		if err != nil || len(result.Objects) != 3 || result.Pending != 0 {
			t.Errorf("%d objects, %d files wait, %v", len(result.Objects), result.Pending, err)
		}
		if err := os.Remove(filepath.Join(rule.Dir, "two")); err != nil {
			t.Fatal(err)
		}
		var deleted []string
		for range 3 { // an object goes when its file was missed twice
			m.LookAgain()
			result, err = m.Round(t.Context(), time.Now())
			deleted = append(deleted, result.Deleted...)
			if err != nil || len(result.Deleted) > 0 && result.Pending != 0 {
				t.Errorf("%d wait beside %q, %v", result.Pending, result.Deleted, err)
			}
			<-time.After(time.Minute)
		}
		if !slices.Equal(deleted, []string{"two"}) {
			t.Errorf("%q were deleted", deleted)
		}
	})
}

// old makes a file that nobody wrote to for some time.
func old(t *testing.T, path string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	if err := cmp.Or(os.WriteFile(path, []byte("text"), 0o644), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

// TestOver ends a round for its caller, and for trouble that is the place's.
func TestOver(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	for _, row := range []struct {
		name     string
		ctx      context.Context
		troubles int
		over     bool
		want     int
	}{
		{"goes_on", t.Context(), maxTroubles - 1, false, maxTroubles - 1},
		{"too_much", t.Context(), maxTroubles, true, maxTroubles},
		{"stopped", stopped, 0, true, 1},
		{"stopped_in_trouble", stopped, 1, true, 1},
	} {
		r := &round{}
		for range row.troubles {
			r.troubles = append(r.troubles, errors.New("no answer"))
		}
		if got := r.over(row.ctx); got != row.over || len(r.troubles) != row.want {
			t.Errorf("%s: %v, %v", row.name, got, r.troubles)
		}
	}
}

// leftName is what a killed import leaves.
const leftName = ".tmp-import-0123456789abcdef"

// TestSweep removes what killed imports left: all of it at first, and then what nobody
// wrote to for a minute, since another may be at it.
func TestSweep(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		name  string
		first bool
		age   time.Duration
		gone  bool
	}{{"at_first", true, time.Second, true}, {"later", false, 30 * time.Second, false}, {"later_and_old", false, 2 * time.Minute, true}} {
		dir := t.TempDir()
		for _, name := range []string{leftName, "model"} {
			old(t, filepath.Join(dir, name), row.age)
		}
		m := &Mirror{Rule: Rule{Dir: dir}}
		tree := Tree{Files: []File{{Path: leftName, ModTime: stampOf(now.Add(-row.age))}, {Path: "model", ModTime: stampOf(now.Add(-row.age))}}}
		if !row.first {
			m.before = &tree
		}
		if err := m.sweep(tree, now); err != nil {
			t.Error(err)
		}
		_, err := os.Stat(filepath.Join(dir, leftName))
		if gone := os.IsNotExist(err); gone != row.gone {
			t.Errorf("%s: gone is %v", row.name, gone)
		}
		if _, err := os.Stat(filepath.Join(dir, "model")); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestImported_did(t *testing.T) {
	for _, row := range []struct {
		in   Imported
		want bool
	}{{Imported{}, false}, {Imported{Files: 1}, true}, {Imported{Removed: 1}, true}, {Imported{Waiting: 1, Failed: []error{nil}}, false}} {
		if got := row.in.did(); got != row.want {
			t.Errorf("%+v: %v", row.in, got)
		}
	}
}

func TestBell_is_one(t *testing.T) {
	var m Mirror
	if first := m.Bell(); first == nil || m.Bell() != first {
		t.Error("who listens later hears another bell")
	}
}

func TestPending_counts_all_that_is_left(t *testing.T) {
	p := Plan{Puts: make([]Step, 1), Deletes: make([]Step, 2), Waits: make([]Wait, 4), Blocked: make([]Wait, 8), Kept: make([]Wait, 16)}
	if got := p.Pending(); got != 15 {
		t.Errorf("%d are pending, want 15", got)
	}
}

// TestInTurn has what is new come first, and what failed before last.
func TestInTurn(t *testing.T) {
	now := time.Now()
	step := func(name string, age time.Duration, s Step) Step {
		s.File = File{Path: name, ModTime: stampOf(now.Add(-age))}
		return s
	}
	steps := []Step{
		step("failed", 4*time.Hour, Step{Again: true}), step("touched", 3*time.Hour, Step{Same: version{1}}),
		step("newer", time.Hour, Step{}), step("older", 2*time.Hour, Step{}),
	}
	slices.SortStableFunc(steps, inTurn)
	var got []string
	for _, s := range steps {
		got = append(got, s.File.Path)
	}
	if want := []string{"older", "newer", "touched", "failed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestComplete_after_a_while: a file that was never seen before is finished when nobody
// wrote to it for some time, or if its date is another day's.
func TestComplete_after_a_while(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		age  time.Duration
		want string
	}{
		{-1, "it is being written"}, {0, "it was just written"}, {justWritten - 1, "it was just written"}, {justWritten, "it is being written"},
		{DefaultPace.Settle - 1, "it is being written"}, {DefaultPace.Settle, ""},
	} {
		d := &decision{State: State{Time: now, Pace: DefaultPace}}
		why, ok := d.complete(File{Path: "model", ModTime: stampOf(now.Add(-row.age))})
		if why != row.want || ok != (row.want == "") {
			t.Errorf("after %s: %q, %v; want %q", row.age, why, ok, row.want)
		}
	}
}

// TestTrack_counts_what_is_left while a plan is carried out.
func TestTrack_counts_what_is_left(t *testing.T) {
	var track Track
	one, two := File{Path: "one", SizeBytes: 10}, File{Path: "two", SizeBytes: 5}
	track.take(Plan{Puts: []Step{{Key: "one", File: one}, {Key: "two", File: two}}, Deletes: make([]Step, 1)}, Tree{})
	first, second := track.begin(one), track.begin(two)
	for _, step := range []struct {
		name                         string
		act                          func()
		files, moved, sending, plans int
	}{
		{"planned", func() {}, 3, 0, 2, 1},
		{"one_is_there", func() { track.end(first, "one", true) }, 2, 1, 1, 1},
		{"two_is_not", func() { track.end(second, "two", false) }, 2, 1, 0, 1},
		{"an_object_went", track.gone, 1, 2, 0, 1},
		{"planned_anew", func() { track.take(Plan{}, Tree{}) }, 0, 2, 0, 2},
	} {
		step.act()
		p := track.Progress()
		if p.Files != step.files || p.Moved != int64(step.moved) || len(p.Sending) != step.sending || track.taken() != step.plans {
			t.Errorf("%s: %+v, plan %d", step.name, p, track.taken())
		}
	}
}

// TestKnown_tells_touched_files from others, and objects that are to have no file.
func TestKnown_tells_touched_files(t *testing.T) {
	f := File{Inode: 7, Change: 9}
	for _, row := range []struct {
		known Known
		want  bool
	}{{Known{Change: -1}, true}, {Known{Change: 9, Inode: 7}, true}, {Known{Change: 9, Inode: 8}, false}, {Known{Change: 8, Inode: 7}, false}, {Known{Change: 1, Inode: 7}, false}} {
		if got := row.known.told(f); got != row.want {
			t.Errorf("%+v: %v", row.known, got)
		}
	}
	if o := (object{}); unwantedObject(o).had(o) || !agreement(File{}, o).had(o) {
		t.Error("an object without a file is taken for one that had it")
	}
	if got := agreement(File{}, object{Sum: unasked + 1}); got.Change != -1 {
		t.Errorf("of a file that others made it is known %+v", got)
	}
}

func TestRecord_closes_what_was_opened(t *testing.T) {
	for _, r := range []*Record{nil, {}} {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRemembered_of_an_object(t *testing.T) {
	for _, row := range []struct {
		known Known
		want  object
	}{
		{Known{SizeBytes: -1, ModTime: 5}, object{}}, {Known{SizeBytes: 0, ModTime: 5}, object{ModTime: 5}},
		{Known{SizeBytes: -1, Inode: 3}, object{}}, {Known{SizeBytes: -1, Inode: 3, Change: 1}, object{Self: self{7, 3, 1}}},
	} {
		if got := row.known.remembered(object{}, 7); got != row.want {
			t.Errorf("%+v: %+v, want %+v", row.known, got, row.want)
		}
	}
}

func TestRetries_forget_what_nobody_wants(t *testing.T) {
	r := retries{last: map[string]failure{"a": {}, "b": {}}}
	r.keep([]fetch{{Path: "a"}, {Path: "c"}})
	if _, ok := r.last["a"]; !ok || len(r.last) != 1 {
		t.Errorf("%v are remembered", r.last)
	}
}

// TestCompare leaves files that were touched to later rounds when enough was read in one.
func TestCompare(t *testing.T) {
	now := time.Now()
	for budget, want := range map[int64]standing{0: waiting, 1: planned} {
		d := &decision{State: State{Time: now, Pace: DefaultPace}, budget: budget}
		if got, why := d.compare(File{Path: "model", SizeBytes: 5, ModTime: stampOf(now.Add(-time.Hour))}); got != want {
			t.Errorf("with room for %d bytes it is %v: %s", budget, got, why)
		}
	}
}

func TestTrack_names_ten_files(t *testing.T) {
	for files, want := range map[int]int{1: 1, namedAtMost: namedAtMost, namedAtMost + 1: namedAtMost} {
		var track Track
		var p Plan
		for i := range files {
			name := string(rune('a' + i))
			p.Puts = append(p.Puts, Step{Key: name, File: File{Path: name}})
		}
		track.take(p, Tree{})
		if got := len(track.Progress().Waiting); got != want {
			t.Errorf("%d of %d files are named, want %d", got, files, want)
		}
	}
}
