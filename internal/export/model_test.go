package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
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

// world is a directory and a bucket at which somebody works on both sides, while their mirror lives and dies.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	rule   export.Rule
	record string
	fake   *storetest.Fake
	store  store.Store // the same, as people see it
	place  string      // where it has its objects as files, if the mirror watches
	mirror *export.Mirror
	close  func()

	clock  time.Time
	stored map[string]bool // what the bucket ever held, "path content"
	gone   map[string]bool // paths that were deleted here and not written on either side since
	dead   map[string]bool // those of them whose object the mirror knew: they must not come back
	fresh  map[string]bool // paths that were put into the bucket since the last whole round
	both   map[string]bool // paths that were changed on both sides
	story  []string
}

var paths = []string{"a", "d/b", "d/e/c", "run/checkpoint-1/m", "keep"}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), clock: time.Unix(1_000_000, 0),
		stored: map[string]bool{}, gone: map[string]bool{}, dead: map[string]bool{}, fresh: map[string]bool{}, both: map[string]bool{}}
	w.fake = &storetest.Fake{Now: func() time.Time { return w.clock }, PartBytes: 4}
	dir := t.TempDir()
	if w.store = w.fake; seed%3 > 0 {
		w.place = t.TempDir()
		w.store = plain{w.fake, w.place}
	}
	w.record = filepath.Join(t.TempDir(), "record")
	flip := func() bool { return w.rng.IntN(2) == 0 }
	w.rule = export.Rule{Dir: dir, Bucket: "b", Prefix: "p", New: flip(), Changed: flip(), Deleted: flip(),
		Import: export.Policy{Initial: flip(), New: flip(), Changed: flip(), Deleted: true}}
	if seed%2 == 0 {
		w.rule = export.Rule{Dir: dir, Bucket: "b", Prefix: "p", New: true, Changed: true, Deleted: true, Import: allOf}
	}
	w.put("keep")
	w.start()
	return w
}

func (w *world) start() {
	r, err := export.OpenRecord(w.record, w.rule)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mirror = &export.Mirror{Rule: w.rule, Pace: export.DefaultPace, Store: w.store, Record: r, Place: w.place}
	w.close = func() {
		if err := errors.Join(w.mirror.Close(), r.Close()); err != nil {
			w.t.Error(err)
		}
	}
}

// step does one thing at random.
func (w *world) step() {
	w.clock = w.clock.Add(time.Minute)
	p := paths[w.rng.IntN(len(paths)-1)]
	switch w.rng.IntN(8) {
	case 0, 1:
		w.write(p)
	case 2:
		w.remove(p)
	case 3, 4:
		w.put(p)
	case 5:
		w.tell("remote delete %s", p)
		if err := w.store.Delete(w.t.Context(), "p/"+p); err != nil {
			w.t.Fatal(err)
		}
	case 6:
		w.round()
	case 7:
		w.kill()
	}
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

// text is unlike any before, and as long.
func (w *world) text() string { return fmt.Sprintf("%09d", w.clock.Unix()) }

func (w *world) write(p string) {
	w.tell("write %s %s", p, w.text())
	full := filepath.Join(w.rule.Dir, p)
	err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(w.text()), 0o644), os.Chtimes(full, w.clock, w.clock))
	if err != nil {
		w.t.Fatal(err)
	}
	w.dead[p], w.gone[p] = false, false
}

func (w *world) remove(p string) {
	w.tell("remove %s", p)
	err := os.Remove(filepath.Join(w.rule.Dir, p))
	if err == nil {
		w.gone[p], w.dead[p] = true, !w.fresh[p]
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
}

func (w *world) put(p string) {
	u := store.Upload{Key: "p/" + p, Body: strings.NewReader(w.text()), SizeBytes: 9}
	if w.rng.IntN(2) == 0 { // by another file system
		u.Meta = map[string]string{"file-mtime": fmt.Sprintf("%dns", w.clock.UnixNano()), "file-permissions": "0100600"}
	}
	w.tell("remote put %s %s %v", p, w.text(), u.Meta)
	if _, err := w.store.Put(w.t.Context(), u); err != nil {
		w.t.Fatal(err)
	}
	w.stored[p+" "+w.text()], w.dead[p], w.gone[p], w.fresh[p] = true, false, false, true
}

// here is the directory's content.
func (w *world) here() files {
	all := files{}
	err := fs.WalkDir(os.DirFS(w.rule.Dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			all[p], err = os.Readlink(filepath.Join(w.rule.Dir, p))
			return err
		}
		text, err := os.ReadFile(filepath.Join(w.rule.Dir, p))
		all[p] = string(text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// there is the bucket's content.
func (w *world) there() files {
	all := files{}
	for k, text := range bucket(w.t, w.fake) {
		all[strings.TrimPrefix(k, "p/")] = text
	}
	return all
}

func (w *world) round() export.Result {
	w.tell("round")
	before := w.here()
	result, err := w.mirror.Round(w.t.Context(), w.clock.Add(time.Hour))
	if err != nil || len(result.Import.Failed) > 0 {
		w.fail("a round failed: %v %v", err, result.Import.Failed)
	}
	w.check(before)
	w.note(result)
	clear(w.fresh)
	return result
}

func (w *world) note(r export.Result) {
	for _, p := range r.Import.Both {
		w.both[p] = true
	}
}

// kill ends a round somewhere, sometimes before its last line is in the record, and starts again.
func (w *world) kill() {
	w.tell("killed round")
	before, lines := w.here(), w.lines()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	dying := &dying{Store: w.store, late: w.rng.IntN(2) == 0, kill: cancel}
	dying.left.Store(int32(w.rng.IntN(4)))
	w.mirror.Store = dying
	result, _ := w.mirror.Round(ctx, w.clock.Add(time.Hour))
	w.check(before)
	w.note(result)
	w.close()
	if all := w.lines(); w.rng.IntN(2) == 0 && len(all) > len(lines) && !strings.HasPrefix(all[len(all)-1], "begun") {
		w.tell("its last line is lost")
		if err := os.WriteFile(w.record, []byte(strings.Join(all[:len(all)-1], "")), 0o600); err != nil {
			w.t.Fatal(err)
		}
		w.start()
		w.round()
		return
	}
	w.start()
}

func (w *world) lines() []string {
	text, err := os.ReadFile(w.record)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

// check holds the laws that hold at any moment.
func (w *world) check(before files) {
	now := w.here()
	for p, text := range w.there() {
		w.stored[p+" "+text] = true
	}
	for p := range now {
		if w.dead[p] {
			w.fail("%s came back", p)
		}
	}
	if !(w.rule.New || w.rule.Changed || w.rule.Deleted) {
		return // the bucket always wins
	}
	for p, text := range before {
		if now[p] != text && !w.stored[p+" "+text] {
			w.fail("%s of %s was lost; it is %q now", text, p, now[p])
		}
	}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\nrule %+v\n%s", append(args, w.rule, strings.Join(w.story, "\n"))...)
}

// rest runs rounds until nothing happens any more, and checks that it stays so.
func (w *world) rest() {
	for range 4 {
		w.clock = w.clock.Add(time.Hour)
		w.round()
	}
	if n := w.fake.Uploads(); n > 0 {
		w.fail("%d uploads were begun and are left", n)
	}
	puts := w.fake.Puts()
	for range 2 {
		w.clock = w.clock.Add(time.Hour)
		if r := w.round(); r.Import.Files+r.Import.Removed+len(r.Objects)+len(r.Deleted) > 0 || w.fake.Puts() != puts {
			w.fail("it goes on and on: %+v", r)
		}
	}
	if w.rule.New && w.rule.Changed && w.rule.Deleted && w.rule.Import == allOf {
		here, there := w.here(), w.there()
		maps.DeleteFunc(there, func(p, _ string) bool { return w.both[p] && w.gone[p] && here[p] == "" }) // the object's change is kept
		if diff := cmp.Diff(here, there); diff != "" {
			w.fail("directory and bucket differ:\n%s", diff)
		}
	}
}

// plain is a store that has its objects as files, too, as the S3 server of a local cluster does.
type plain struct {
	store.Store
	dir string
}

func (p plain) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	o, err := p.Store.Put(ctx, u)
	if err == nil {
		name := filepath.Join(p.dir, u.Key)
		err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(o.Version), 0o644))
	}
	return o, err
}

func (p plain) Delete(ctx context.Context, key string) error {
	err := p.Store.Delete(ctx, key)
	if err == nil {
		err = os.RemoveAll(filepath.Join(p.dir, key))
	}
	return err
}

// dying is a store whose process is killed after some calls; the last put is done or not, without an answer.
type dying struct {
	store.Store
	left atomic.Int32
	late bool
	kill context.CancelFunc
}

func (d *dying) over() bool {
	if d.left.Add(-1) >= 0 {
		return false
	}
	d.kill()
	return true
}

func (d *dying) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if !d.over() {
		return d.Store.Put(ctx, u)
	}
	if d.left.Load() == -1 {
		ctx, cut := context.WithCancel(context.WithoutCancel(ctx))
		defer cut()
		if sent := u.Sent; !d.late {
			u.Sent = func(n int64) {
				sent(n)
				cut() // in the middle of an upload in parts
			}
		}
		d.Store.Put(ctx, u)
	}
	return store.Object{}, errCut
}

func (d *dying) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	if d.over() {
		return nil, store.Object{}, errCut
	}
	return d.Store.Get(ctx, key)
}

func (d *dying) Delete(ctx context.Context, key string) error {
	if d.over() {
		return errCut
	}
	return d.Store.Delete(ctx, key)
}

// TestBothSidesAtOnce is the model: whatever people do on both sides and whenever the mirror dies, no change made in
// the directory is lost, nothing that was deleted comes back, and nothing goes back and forth.
func TestBothSidesAtOnce(t *testing.T) {
	for seed := range uint64(61) {
		if seed == 60 {
			seed = 150 // a file that was changed on both sides, and removed here before the mirror saw what came last
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			defer func() { w.close() }()
			for range 40 {
				w.step()
			}
			w.rest()
		})
	}
}
