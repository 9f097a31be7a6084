package data_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// trouble is what goes wrong on the way to a server, from a request on.
type trouble struct {
	name   string
	kind   faults.Kind   // of this request alone
	strike func(w *way)  // of all that follow, too
	idle   time.Duration // how long a request stands still where it is silence
}

func troubles() []trouble {
	all := []trouble{
		{name: "credentials expire", strike: func(w *way) { w.Expire(fmt.Sprint(w.turn.Add(1) - 1)) }},
		{name: "clocks differ", strike: func(w *way) { w.Skew(time.Hour) }},
		{name: "the server is gone", strike: func(w *way) { w.Gone() }},
	}
	for _, k := range faults.All {
		all = append(all, trouble{name: string(k), kind: k})
	}
	for _, k := range []faults.Kind{faults.Hang, faults.HangRequest, faults.HangAnswer} {
		all = append(all, trouble{name: string(k), kind: k, idle: 200 * time.Millisecond})
	}
	return all
}

// way is a way to a server, and the credentials for it.
type way struct {
	*faults.Proxy
	config store.Config
	keys   aws.Credentials
	turn   atomic.Int64 // of the credentials: when some expire there are others
	met    atomic.Int64 // how often something went wrong
	step   int          // from a request that is tried to the next: a slow server has not all of them tried
}

func newWay(t *testing.T, c store.Config) *way {
	t.Helper()
	keys, err := c.Keys().Retrieve(t.Context())
	ok(t, err)
	w := &way{keys: keys}
	w.Proxy, w.config = faults.New(t, c)
	w.config.Credentials = w
	return w
}

// Retrieve implements aws.CredentialsProvider.
func (w *way) Retrieve(context.Context) (aws.Credentials, error) {
	c := w.keys
	c.SessionToken = fmt.Sprint(w.turn.Load())
	return c, nil
}

// meets plans trouble for those requests that it can happen to of which hit says so, by their number.
func (w *way) meets(tr trouble, hit func(n int) bool) {
	w.Back()
	w.Skew(0)
	w.met.Store(0)
	n := -1
	w.Do(func(r *http.Request) faults.Fault {
		if !tr.kind.Suits(r) {
			return faults.Fault{}
		}
		if n++; !hit(n) {
			return faults.Fault{}
		}
		w.met.Add(1)
		if tr.strike != nil {
			tr.strike(w)
		}
		return faults.Fault{Kind: tr.kind, At: 0.5}
	})
}

// open opens a bucket as a process does that is new.
func open(t *testing.T, c store.Config) *store.S3 {
	t.Helper()
	s, err := store.Open(t.Context(), c)
	ok(t, err)
	return s
}

// eachTrouble tries something with each trouble on the way to each server. What it is given is a bench beside the trouble.
// hurried reports whether a machine that is slow was taken for a silent one: something failed without any trouble. From now on the
// server has twice the time.
func (w *way) hurried(err error) bool {
	if err == nil || w.met.Load() > 0 || w.config.Idle == 0 {
		return false
	}
	w.config.Idle *= 2
	return true
}

func eachTrouble(t *testing.T, try func(*testing.T, trouble, *way, *bench)) {
	_, stand := storetest.Stand(t)
	for name, config := range map[string]store.Config{"stand": stand, "second": storetest.Second(t)} {
		step := map[string]int{"stand": 1, "second": 3}[name]
		for i, tr := range troubles() {
			t.Run(name+"/"+tr.name, func(t *testing.T) {
				t.Parallel()
				c := config
				c.Bucket = fmt.Sprintf("bucket-%d", i)
				b := newBench(t, open(t, c))
				b.MakeBucket, b.Delete = true, true
				b.write("dir/same", "same")
				b.revise(0)
				b.pushes()
				w := newWay(t, c)
				w.config.Idle, w.step = tr.idle, step
				try(t, tr, w, b)
			})
		}
	}
}

// revise changes the source: a file is other, one is new, and later it is gone.
func (b *bench) revise(n int) {
	b.t.Helper()
	b.write("dir/other", strings.Repeat(fmt.Sprint(n, " "), 50_000))
	b.write(fmt.Sprintf("new %d", n), "new")
	b.remove(fmt.Sprintf("new %d", n-3))
}

// TestTroubleIsToldAndMended has a push and a pull that have no patience meet trouble at one of their requests after the other. Each comes to its end or
// says in one line what was wrong. Readers see the dataset from before or the new one, or are told that there is none now, and the next run
// brings all of it.
func TestTroubleIsToldAndMended(t *testing.T) {
	eachTrouble(t, func(t *testing.T, tr trouble, w *way, b *bench) {
		w.config.Attempts = 1
		n := 0
		for met := true; met; n += w.step {
			former := b.files()
			b.revise(n + 1)
			w.meets(tr, func(i int) bool { return i == n })
			met = pushMeets(t, w, b, former)
			w.meets(tr, func(i int) bool { return i == n })
			met = pullMeets(t, w, b) || met
		}
		if n <= 3 {
			t.Error("it never happened")
		}
	})
}

// TestTroubleIsEndured has every third request of a push and of a pull meet trouble. They have patience, and come to their end.
func TestTroubleIsEndured(t *testing.T) {
	eachTrouble(t, func(t *testing.T, tr trouble, w *way, b *bench) {
		w.config.Patience, w.config.Bell = time.Hour, func(error, time.Duration) { w.Back() }
		b.revise(1)
		w.meets(tr, func(n int) bool { return n%3 == 0 })
		well, way := b.bucket, open(t, w.config)
		b.bucket = way
		b.pushes()
		b.bucket = well
		b.wants(b.files())
		dir := filepath.Join(t.TempDir(), "to")
		if got, err := pull(t, way, dir); err != nil {
			t.Errorf("pull: %v, %+v", err, got.Problems)
		}
		if diff := cmp.Diff(b.files(), filesOf(t, dir)); diff != "" {
			t.Errorf("what came (-want +got):\n%s", diff)
		}
		if w.met.Load() < 2 {
			t.Errorf("it happened to %d requests", w.met.Load())
		}
	})
}

// pushMeets pushes on a way, tells whether there was trouble, and mends it.
func pushMeets(t *testing.T, w *way, b *bench, former map[string]string) bool {
	well := b.bucket
	b.bucket = open(t, w.config)
	pushed, err := b.push()
	w.Settle()
	b.bucket = well
	met := w.met.Load() > 0 || w.hurried(err)
	if err != nil {
		isTold(t, err, pushed.Problems)
		isEither(t, b, former)
		b.pushes()
	}
	if own := b.keys("set/.muster/"); len(own) != 2 {
		t.Errorf("of the dataset's own there is %q", own)
	}
	return met
}

// pullMeets pulls on a way, tells whether there was trouble, and mends it.
func pullMeets(t *testing.T, w *way, b *bench) bool {
	dir, files := filepath.Join(t.TempDir(), "to"), b.files()
	got, err := pull(t, open(t, w.config), dir)
	met := w.met.Load() > 0 || w.hurried(err)
	if err != nil {
		isTold(t, err, got.Problems)
		ok(t, os.MkdirAll(dir, 0o755))
		isPartOf(t, dir, stockOf(files))
	}
	if again, err := pull(t, b.bucket, dir); err != nil {
		t.Errorf("the next pull: %v, %+v", err, again.Problems)
	}
	if diff := cmp.Diff(files, filesOf(t, dir)); diff != "" {
		t.Errorf("the dataset (-want +got):\n%s", diff)
	}
	return met
}

func pull(t *testing.T, bucket store.Store, dir string) (data.Pulled, error) {
	t.Helper()
	d, err := data.Open(t.Context(), bucket, "set", "s3://bucket/set")
	if err != nil {
		return data.Pulled{}, err
	}
	defer d.Close()
	got, err := (&data.Pull{Dataset: d, Dir: dir}).Run(t.Context())
	if err == nil && got.Problems.All > 0 {
		err = errSome
	}
	return got, err
}

var errSome = errors.New("some files did not come")

// isTold holds that an error is one line in plain words, and names the files that it is about.
func isTold(t *testing.T, err error, problems data.Problems) {
	t.Helper()
	all := []string{err.Error()}
	for _, p := range problems.List {
		all = append(all, p.Path+": "+p.Why)
	}
	if some := errors.Is(err, data.ErrSource) || errors.Is(err, errSome); some != (len(all) > 1) {
		t.Errorf("%v, of these files: %q", err, all[1:])
	}
	for _, line := range all {
		for _, strange := range []string{"\n", "StatusCode", "RequestID", "operation error", "context canceled"} {
			if strings.Contains(line, strange) {
				t.Errorf("%q has %q in it", line, strange)
			}
		}
	}
}

// isEither holds that who reads the dataset gets it as it was before or as it is now, or is told that it is being changed.
func isEither(t *testing.T, b *bench, former map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "to")
	if got, err := pull(t, b.bucket, dir); err != nil {
		if !errors.Is(err, data.ErrChanging) {
			t.Errorf("a reader got %v, %+v", err, got.Problems)
		}
		return
	}
	if got := filesOf(t, dir); !maps.Equal(got, former) && !maps.Equal(got, b.files()) {
		t.Errorf("a reader got what never was pushed: %s", cmp.Diff(former, got))
	}
}

func stockOf(files map[string]string) stock {
	s := stock{}
	for path, text := range files {
		s[path] = []byte(text)
	}
	return s
}

// TestLargeFilesMeetTrouble has a push without patience meet trouble at a request of a file that goes in parts. The next one goes on. If
// all parts were there, it sends none of them.
func TestLargeFilesMeetTrouble(t *testing.T) {
	_, c := storetest.Stand(t)
	c.Bucket = "bucket"
	b, w := newBench(t, open(t, c)), newWay(t, c)
	b.MakeBucket, w.config.Attempts = true, 1
	well := b.bucket
	b.write("large", "")
	b.pushes()
	joins := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }
	for _, row := range []struct {
		kind  faults.Kind
		match func(*http.Request) bool
		all   bool // parts are there
	}{
		{faults.ResetRequest, faults.Parts, false},
		{faults.FlipRequest, faults.Parts, false},
		{faults.HangRequest, faults.Parts, false},
		{faults.SlowDown, joins, true},
		{faults.LostAnswer, joins, true},
	} {
		b.write("large", string(row.kind)+"\n")
		ok(t, os.Truncate(filepath.Join(b.root, "large"), 65<<20))
		w.Do(faults.First(1, row.kind, row.match))
		w.config.Idle = 0 // as usual: a busy machine takes its time for a part
		if row.kind == faults.HangRequest {
			w.config.Idle = time.Second
		}
		b.bucket = open(t, w.config)
		pushed, err := b.push()
		b.bucket = well
		if err == nil {
			t.Fatalf("%s: it did not happen: %+v", row.kind, pushed)
		}
		isTold(t, err, pushed.Problems)
		if _, err := pull(t, well, filepath.Join(t.TempDir(), "to")); !errors.Is(err, data.ErrChanging) {
			t.Errorf("%s: a reader got %v", row.kind, err)
		}
		if p := b.pushes(); row.all && p.SentBytes != p.ResumedBytes {
			t.Errorf("%s: parts were sent again: %+v", row.kind, p)
		}
		b.wants(b.files())
	}
}
