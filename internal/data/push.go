package data

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/store"
)

// Push brings a directory or a file to a bucket, as a dataset. What is there already does not move.
type Push struct {
	Bucket  store.Store
	Place   string // where the bucket is, and its name: of two such places a push has two journals
	Prefix  string
	Source  string
	State   string // a directory for journals, and for what is too long for the memory; it is made
	Options PushOptions

	Progress *Progress // may be nil

	single    bool            // the source is one file
	different map[string]bool // files with other bytes than were sent, though of the same size and time
}

// PushOptions are what the user wishes.
type PushOptions struct {
	Filter
	MakeBucket bool
	Delete     bool   // what former pushes put and the source has no more
	MayShrink  bool   // deletes also if fewer than half of the dataset's files are left
	NoFollow   bool   // leaves symbolic links out
	Checksum   bool   // reads also the files that have the size and time that they had, and sends those with other bytes
	Class      string // of storage
	KMSKey     string
}

// ErrSource says that some of the source cannot be sent. All else was, but nothing is committed.
var ErrSource = errors.New("not all files could be sent")

// ErrNothing says that there is not one file in the source.
var ErrNothing = errors.New("there is no file in it")

// ErrShrinks says that a push with deletes would leave fewer than half of the dataset's files: so looks a source of which a part is
// not mounted. Nothing was deleted or committed.
var ErrShrinks = errors.New("most of the dataset would be deleted")

// ErrState says that there is no directory for what a push has to remember.
var ErrState = errors.New("no directory for what was sent")

// Run pushes. When it returns nil the dataset in the bucket is the source as it was found. What it did before it was cut
// off, in whatever way, it does not do again. It returns ErrSource with what is wrong in Pushed, ErrBusy or ErrRival if
// another push is under way.
func (p Push) Run(ctx context.Context) (Pushed, error) {
	began := time.Now()
	if err := p.check(); err != nil {
		return Pushed{}, err
	}
	j, err := p.takeJournal()
	if err != nil {
		return Pushed{}, err
	}
	defer j.close()
	if p.Options.MakeBucket {
		if err := p.Bucket.MakeBucket(ctx); err != nil {
			return Pushed{}, err
		}
	}
	if p.different, err = p.compareBytes(ctx); err != nil {
		return Pushed{}, err
	}
	r := pushing{Push: p, journal: j}
	defer r.close()
	if err = r.run(ctx); errors.Is(err, store.ErrChanged) {
		err = r.rivalled(ctx, err)
	}
	r.done.Seconds = time.Since(began).Seconds()
	return r.done, err
}

// check refuses what cannot be pushed, and finds what else there is to know.
func (p *Push) check() error {
	if err := p.Options.Check(); err != nil {
		return err
	}
	source, err := filepath.Abs(p.Source)
	if err == nil {
		source, err = filepath.EvalSymlinks(source)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("push %s: there is no such file or directory", p.Source)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if p.single = !info.IsDir(); !p.single {
		p.Source = source // a file is called as the user calls it
	}
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// takeJournal takes the journal of this push.
func (p Push) takeJournal() (*journal, error) {
	j, err := openJournal(p.journalPath())
	if err != nil {
		return nil, err
	}
	if err := j.mend(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// journalPath is where the journal of pushes of this source to this place is.
func (p Push) journalPath() string {
	return filepath.Join(p.State, fmt.Sprintf("%x.jsonl", sha256.Sum256([]byte(p.Source+"\n"+p.Place+"\n"+p.Prefix))))
}

// walk is the walk of the source, which shows what it meets to the patterns.
func (p Push) walk(patterns *idle) *walk.Walk {
	w := &walk.Walk{Root: p.Source, NoFollow: p.Options.NoFollow, Longest: manifest.MostPath - len(p.key(""))}
	w.Wanted = func(path string, dir bool) bool {
		patterns.see(path)
		return p.Options.Wanted(path, dir)
	}
	return w
}

// key is where a path is in the bucket.
func (p Push) key(path string) string { return manifest.Key(p.Prefix, path) }

// rules are those of the plan.
func (p Push) rules() rules {
	return rules{different: p.different, remove: p.Options.Delete, wanted: p.Options.Takes, occupied: func(path string) bool {
		info, err := os.Stat(p.at(path))
		return err == nil && info.IsDir()
	}}
}

// pushing is a push under way.
type pushing struct {
	Push
	journal *journal
	head    *claim
	former  *scratch // the committed manifest
	out     *outgoing
	removes *scratch
	source  *walk.Walk
	idle    *idle
	done    Pushed
	rights  denials
	changed bool // the dataset is to be another than the committed one

	replaces bool // this push replaces objects that the committed manifest names
	inherits bool // a push before did not come to its end, or is under way

	seen      []string // manifests in the bucket when it was listed
	manifests []string // all but the one that is committed

	mu sync.Mutex // guards done, which many count in
}

// nothing says that there is nothing to push, and what was meant.
func (r *pushing) nothing() error {
	if said := r.Options.said(); said != "" {
		return fmt.Errorf("push %s: %w with %s", r.Source, ErrNothing, said)
	}
	return fmt.Errorf("push %s: %w", r.Source, ErrNothing)
}

// seenAll notes what is known of the source when all of it was met.
func (r *pushing) seenAll() {
	r.done.LinksLeft = int64(r.source.Links)
	r.done.IdleIncludes, r.done.IdleExcludes = r.idle.include, r.idle.exclude
}

func (r *pushing) close() {
	for _, s := range []*scratch{r.former, r.removes} {
		s.close()
	}
	r.out.close()
}

// run compares, sends, commits and cleans up, in this order.
func (r *pushing) run(ctx context.Context) error {
	if err := r.send(ctx); err != nil {
		return err
	}
	if r.done.Problems.All > 0 {
		return ErrSource
	}
	if r.done.Files == 0 { // also a file system that is not mounted looks like that
		return r.nothing()
	}
	if r.removes != nil && !r.Options.MayShrink && 2*r.done.Files < r.head.head.Files {
		return fmt.Errorf("push %s: %w: it has %s, and the source %d", r.Source, ErrShrinks, count.Of(r.head.head.Files, "file"), r.done.Files)
	}
	r.manifests = append(r.manifests, r.seen...)
	left := len(r.manifests) > 1
	if r.changed || r.miscounted() || r.head.torn() || left && r.inherits {
		return r.commit(ctx)
	}
	if left {
		return r.tidy(ctx)
	}
	return r.journal.remove()
}

// miscounted says that the committed head counts other files than its manifest names.
func (r *pushing) miscounted() bool {
	return r.head.head.Files != r.done.Files || r.head.head.Bytes != r.done.Bytes
}
