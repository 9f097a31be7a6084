package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// refusing is a bucket that takes no keys of some beginning, for two reasons.
type refusing struct{ storetest.Fake }

func (r *refusing) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	switch {
	case strings.HasPrefix(u.Key, "refused"):
		return store.Object{}, store.ErrRefused
	case strings.HasPrefix(u.Key, "failing"):
		return store.Object{}, errors.New("no answer")
	}
	return r.Fake.Put(ctx, u)
}

// bucketOf is a link of a fresh directory, and its bucket.
func bucketOf(t *testing.T) (*link, *refusing) {
	bucket := &refusing{}
	rule := export.Rule{Dir: t.TempDir(), Bucket: "b", New: true, Changed: true, Deleted: true,
		Import: export.Policy{Initial: true, New: true, Changed: true, Deleted: true}}
	a := Association{Path: "/fsx1", Rule: rule, Record: filepath.Join(t.TempDir(), "record"), Store: bucket}
	l := NewExports([]Association{a}, slog.New(slog.DiscardHandler)).links[0]
	t.Cleanup(l.close)
	return l, bucket
}

// put makes an object, write a file that was finished an hour ago.
func put(t *testing.T, s store.Store, key string) {
	t.Helper()
	if _, err := s.Put(t.Context(), store.Upload{Key: key, Body: strings.NewReader("x"), SizeBytes: 1}); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, l *link, name string, age time.Duration) {
	t.Helper()
	path := filepath.Join(l.Rule.Dir, name)
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if at := time.Now().Add(-age); os.Chtimes(path, at, at) != nil {
		t.Fatal("chtimes")
	}
}

// TestLook_is_busy_while_something_moves holds that the next look comes soon after one
// that found something to do, and that what is refused keeps nobody busy.
func TestLook_is_busy_while_something_moves(t *testing.T) {
	for _, row := range []struct {
		name string
		set  func(t *testing.T, l *link, bucket *refusing)
		busy bool
	}{
		{"nothing", func(*testing.T, *link, *refusing) {}, false},
		{"exported", func(t *testing.T, l *link, _ *refusing) { write(t, l, "model", time.Hour) }, true},
		{"being_written", func(t *testing.T, l *link, _ *refusing) { write(t, l, "model", 0) }, true},
		{"imported", func(t *testing.T, _ *link, b *refusing) { put(t, b, "model") }, true},
		{"failed", func(t *testing.T, l *link, _ *refusing) { write(t, l, "failing", time.Hour) }, true},
		{"refused", func(t *testing.T, l *link, _ *refusing) { write(t, l, "refused", time.Hour) }, false},
		{"removed", func(t *testing.T, l *link, b *refusing) {
			put(t, b, "model")
			if _, _, err := l.look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := b.Delete(t.Context(), "model"); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, bucket := bucketOf(t)
			row.set(t, l, bucket)
			result, busy, err := l.look(t.Context())
			if busy != row.busy {
				t.Errorf("busy is %v after %+v, %v", busy, result, err)
			}
		})
	}
}

// TestRest_waits_long_but_hears_the_bell holds that a link rests as long as it was told,
// and for a change, which comes with others, no less than the shortest time.
func TestRest_waits_long_but_hears_the_bell(t *testing.T) {
	for _, row := range []struct {
		name             string
		wait, bell, want time.Duration
	}{
		{"quiet", exportSeldom, 0, exportSeldom},
		{"short", exportSoon / 2, 0, exportSoon / 2},
		{"a_change", exportSeldom, 3 * time.Second, 3 * time.Second},
		{"a_change_at_once", exportSeldom, time.Second, exportSoon},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bell := make(chan struct{}, 1)
				l := &link{bell: bell}
				if row.bell > 0 {
					time.AfterFunc(row.bell, func() { bell <- struct{}{} })
				}
				began := time.Now()
				if !l.rest(t.Context(), row.wait) || time.Since(began) != row.want {
					t.Errorf("rested for %s, want %s", time.Since(began), row.want)
				}
				ctx, stop := context.WithCancel(t.Context())
				stop()
				if l.rest(ctx, row.wait) {
					t.Error("goes on after its end")
				}
			})
		})
	}
}

func TestTroubles_names_five(t *testing.T) {
	var errs []error
	for n, want := range []string{"", "e1", "e1; e2", "e1; e2; e3", "e1; e2; e3; e4", "e1; e2; e3; e4; e5", "e1; e2; e3; e4; e5; and 1 more"} {
		if n > 0 {
			errs = append(errs, fmt.Errorf("e%d", n), nil)
		}
		if got := troubles(errs); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAssociation_knows_its_ways(t *testing.T) {
	for _, row := range []struct {
		rule    export.Rule
		out, in bool
	}{
		{export.Rule{}, false, false},
		{export.Rule{New: true}, true, false},
		{export.Rule{Deleted: true}, true, false},
		{export.Rule{Import: export.Policy{New: true}}, false, true},
	} {
		s := NewExports([]Association{{Rule: row.rule}}, nil).links[0].status
		if s.Export != row.out || s.Import != row.in {
			t.Errorf("%+v: exports %v, imports %v", row.rule, s.Export, s.Import)
		}
	}
}

func TestBlocked_says_how_many(t *testing.T) {
	for n, want := range []string{"<nil>", "cannot be exported: refused", "cannot be exported: refused, nor can 1 more"} {
		l, _ := bucketOf(t)
		for i := range n {
			write(t, l, fmt.Sprint("refused", i+1), time.Hour)
		}
		if _, _, err := l.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(l.blocked()); !strings.HasSuffix(got, want) || strings.HasPrefix(got, "/fsx1/refused") != (n > 0) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestFlush_waits_little_for_what_is_being_written holds that a file that changes all the
// time does not keep a cluster from going: it is named as left behind, some time after
// the last file that could be exported.
func TestFlush_waits_little_for_what_is_being_written(t *testing.T) {
	for _, other := range []time.Duration{0, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := bucketOf(t)
			write(t, l, "model", 0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			done := make(chan error)
			began := time.Now()
			go func() { done <- l.flush(ctx) }()
			for n := 0; ; n++ {
				select {
				case err := <-done:
					if want := "export /fsx1: 1 file is being written"; fmt.Sprint(err) != want {
						t.Errorf("got %v, want %s", err, want)
					}
					if took := time.Since(began); took < other+flushPatience || took > other+flushPatience+exportSoon {
						t.Errorf("it took %s", took)
					}
					return
				case <-time.After(exportSoon / 8):
					write(t, l, "model", -time.Duration(n)*time.Nanosecond)
					if time.Since(began) == other {
						write(t, l, "other", time.Hour)
					}
				}
			}
		})
	}
}

// TestRun_tells_what_happened_once holds what the log of the exports says, and that
// what goes on is not said again each time.
func TestRun_tells_what_happened_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		l, bucket := bucketOf(t)
		for _, key := range []string{"goes", "both", "damaged"} {
			put(t, bucket, key)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.run(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		<-time.After(time.Minute)
		if log.Len() > 0 {
			t.Errorf("all is well, and the log says %s", &log)
		}
		if err := bucket.Delete(ctx, "goes"); err != nil {
			t.Fatal(err)
		}
		write(t, l, "both", 0)
		put(t, bucket, "both")
		put(t, bucket, "damaged")
		bucket.Damage("damaged")
		<-time.After(time.Minute)
		stop()
		<-ended
		for _, want := range []string{
			`msg="files were deleted, as their objects were" path=/fsx1 bucket=b files=1`, `msg="mirror failed" path=/fsx1 bucket=b error="import damaged`,
			`msg="a file was changed here and in the bucket, and stays" path=/fsx1/both`,
		} {
			if got := strings.Count(log.String(), want); got != 1 {
				t.Errorf("%s comes %d times:\n%s", want, got, &log)
			}
		}
	})
}

// TestNote_fails_since keeps the first of several failures, and forgets it when all is well.
func TestNote_fails_since(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := &link{}, time.Now()
		for _, row := range []struct {
			err  error
			want time.Duration // ago
			none bool
		}{{nil, 0, true}, {errors.New("x"), 0, false}, {errors.New("y"), time.Minute, false}, {nil, 0, true}, {errors.New("z"), 0, false}} {
			_ = l.note(export.Result{}, row.err)
			if at := l.told().FailsSince; at.IsZero() != row.none || !row.none && time.Since(at) != row.want {
				t.Errorf("after %v, %v it fails since %v", time.Since(began), row.err, at)
			}
			<-time.After(time.Minute)
		}
	})
}
