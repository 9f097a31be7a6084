package export_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// way is a way to a server on which something goes wrong, and the credentials for it.
type way struct {
	*faults.Proxy
	keys aws.Credentials
	turn atomic.Int64 // of the credentials: when some expire there are others
	met  atomic.Int64 // how often something went wrong
}

// Retrieve implements aws.CredentialsProvider.
func (w *way) Retrieve(context.Context) (aws.Credentials, error) {
	c := w.keys
	c.SessionToken = fmt.Sprint(w.turn.Load())
	return c, nil
}

// meets has the n-th request meet something, of those that it can happen to.
func (w *way) meets(n int, kind faults.Kind, strike func(*way)) {
	w.met.Store(0)
	w.Do(func(r *http.Request) faults.Fault {
		if !kind.Suits(r) {
			return faults.Fault{}
		}
		if n--; n != -1 {
			return faults.Fault{}
		}
		w.met.Add(1)
		if strike != nil {
			strike(w)
		}
		return faults.Fault{Kind: kind, At: 0.5}
	})
}

func (w *way) heal() {
	w.Do(nil)
	w.Back()
	w.Skew(0)
	w.Settle()
}

// TestTroubleOnTheWay has each request of an export, and then of an import, meet trouble, one after the other, on the way to both servers. No
// pointer comes before its data, no file comes torn, and once all is well all of it is there.
func TestTroubleOnTheWay(t *testing.T) {
	type trouble struct {
		kind   faults.Kind
		strike func(*way) // what happens to all that follow
	}
	troubles := map[string]trouble{
		"credentials expire": {strike: func(w *way) { w.Expire(fmt.Sprint(w.turn.Add(1) - 1)) }},
		"clocks differ":      {strike: func(w *way) { w.Skew(time.Hour) }},
		"the server is gone": {strike: func(w *way) { w.Gone() }},
	}
	for _, k := range append([]faults.Kind{faults.Hang, faults.HangRequest, faults.HangAnswer}, faults.All...) {
		troubles[string(k)] = trouble{kind: k}
	}
	_, stand := storetest.Stand(t)
	step := map[string]int{"stand": 1, "second": 3}
	for server, config := range map[string]store.Config{"stand": stand, "second": storetest.Second(t)} {
		n := 0
		for name, tr := range troubles {
			n++
			c := config
			c.Bucket = fmt.Sprintf("trouble-%d", n)
			t.Run(server+"/"+name, func(t *testing.T) {
				t.Parallel()
				well := opened(t, c)
				if err := well.MakeBucket(t.Context()); err != nil {
					t.Fatal(err)
				}
				keys, err := c.Keys().Retrieve(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				w := &way{keys: keys}
				w.Proxy, c = faults.New(t, c)
				c.Credentials, c.Attempts = w, 1
				if strings.HasPrefix(string(tr.kind), "nothing of") || strings.HasSuffix(string(tr.kind), "nothing more") {
					c.Idle = 200 * time.Millisecond
				}
				dir := t.TempDir()
				met := 0
				for n, again := 0, true; again; n += step[server] {
					again = exportMeets(t, w, well, &c, dir, n, func() { w.meets(n, tr.kind, tr.strike) })
					again = importMeets(t, w, &c, dir, func() { w.meets(n, tr.kind, tr.strike) }) || again
					if again {
						met++
					}
				}
				if met < 1 {
					t.Error("it never happened")
				}
			})
		}
	}
}

func opened(t *testing.T, c store.Config) *store.S3 {
	t.Helper()
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// turn is a job's files of a turn.
func turn(n int) files {
	return files{
		fmt.Sprintf("run/step-%d/a.bin", n): strings.Repeat(fmt.Sprint(n, " "), 50_000), fmt.Sprintf("run/step-%d/b", n): "",
		"run/latest": fmt.Sprintf("step-%d", n),
	}
}

// exportMeets exports what is new while something goes wrong, and then the rest.
func exportMeets(t *testing.T, w *way, well *store.S3, c *store.Config, dir string, n int, trouble func()) bool {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, turn(n))
	for key := range bucket(t, well) {
		if err := well.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	trouble()
	m := mirror(dir, opened(t, *c))
	result, err := m.Round(t.Context(), soon())
	again := w.met.Load() > 0 || hurried(c, result, err)
	w.heal()
	have := bucket(t, well)
	if at, ok := have["fsx1/run/latest"]; ok {
		if _, ok := have["fsx1/run/"+at+"/a.bin"]; !ok {
			t.Errorf("%s is named and not there: %v", at, err)
		}
	}
	finish(t, mirror(dir, opened(t, calm(*c))))
	wantMirrored(t, dir, well, turn(n))
	return again
}

// importMeets brings it all to a new directory.
func importMeets(t *testing.T, w *way, c *store.Config, from string, trouble func()) bool {
	t.Helper()
	dir := t.TempDir()
	trouble()
	rule := export.Rule{Dir: dir, Bucket: c.Bucket, Prefix: "fsx1", Import: allOf}
	m := &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: opened(t, *c), Record: record(t, "", rule)}
	result, err := m.Round(t.Context(), soon())
	again := w.met.Load() > 0 || hurried(c, result, err)
	w.heal()
	want, got := content(t, from), content(t, dir)
	for p, text := range got {
		if text != want[p] {
			t.Errorf("%s came with %d bytes of %d: %v", p, len(text), len(want[p]), err)
		}
	}
	m.Store = opened(t, calm(*c))
	if result, err := m.Round(t.Context(), soon().Add(time.Hour)); err != nil || len(result.Import.Failed) > 0 {
		t.Errorf("the next round: %+v, %v", result.Import, err)
	}
	if got := content(t, dir); !maps.Equal(got, want) {
		t.Errorf("what came (-want +got):\n%s", cmp.Diff(want, got))
	}
	return again
}

// hurried reports whether a machine that is slow was taken for a silent one: a round failed without any trouble. From now on the
// server has twice the time.
func hurried(c *store.Config, r export.Result, err error) bool {
	if c.Idle == 0 || err == nil && len(r.Failed)+len(r.Import.Failed) == 0 {
		return false
	}
	c.Idle *= 2
	return true
}

// calm has the usual time for an answer.
func calm(c store.Config) store.Config {
	c.Idle = 0
	return c
}

// content is what a directory has.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	w := &world{t: t, rule: export.Rule{Dir: dir}}
	return w.here()
}

// filler is a store whose large object fills the disk, and holds it full until another object has found no room.
type filler struct {
	storetest.Fake
	dir   string
	gets  atomic.Int64
	full  chan struct{} // closed when it is full
	tried chan struct{} // closed when another has been tried
}

func (f *filler) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	body, o, err := f.Fake.Get(ctx, key)
	switch {
	case key == "run/step-1/model.bin" && f.gets.Add(1) == 1:
		body = &filling{body, f}
	case key == "small" && !isClosed(f.tried):
		<-f.full
		body = endCloser{body, func() { close(f.tried) }}
	}
	return body, o, err
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// endCloser says that it was closed.
type endCloser struct {
	io.ReadCloser
	closed func()
}

func (c endCloser) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

// filling is a body of which is read what there is room for, and the rest when another object has been tried.
type filling struct {
	io.ReadCloser
	*filler
}

func (f *filling) Read(p []byte) (int, error) {
	var room syscall.Statfs_t
	if err := syscall.Statfs(f.dir, &room); err != nil {
		return 0, err
	}
	if room.Bavail == 0 && !isClosed(f.full) {
		close(f.full)
		<-f.tried
	}
	return f.ReadCloser.Read(p[:min(len(p), 4096)])
}

// TestImportFillsTheDisk needs the right to mount. What has room comes, nothing is left of what has none, no pointer names it, and it comes
// when there is room.
func TestImportFillsTheDisk(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=1m")
	fake := &filler{dir: dir, full: make(chan struct{}), tried: make(chan struct{})}
	all := files{"run/step-1/model.bin": strings.Repeat("large ", 400_000), "run/latest": "step-1", "small": "small"}
	place(t, &fake.Fake, all)
	m := importer(t, dir, "", fake)
	got := round(t, m)
	if len(got.Failed) != 2 || !strings.Contains(told(got.Failed[1:]), "no space left on device") {
		t.Errorf("it failed with %v", got.Failed)
	}
	if diff := cmp.Diff(map[string]string{"small": "small"}, content(t, dir)); diff != "" {
		t.Errorf("what came (-want +got):\n%s", diff)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	result, err := m.Round(t.Context(), soon().Add(time.Hour))
	if err != nil || len(result.Import.Failed) > 0 {
		t.Errorf("with room: %+v, %v", result.Import, err)
	}
	if diff := cmp.Diff(all, files(content(t, dir))); diff != "" {
		t.Errorf("with room (-want +got):\n%s", diff)
	}
}

func mountTmpfs(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("needs the right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
