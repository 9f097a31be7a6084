package controller_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// moody is a bucket whose puts hang, fail or are refused.
type moody struct {
	storetest.Fake
	put func(ctx context.Context, u store.Upload) error
}

func (m *moody) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if err := m.put(ctx, u); err != nil {
		return store.Object{}, err
	}
	return m.Fake.Put(ctx, u)
}

func TestExports_say_what_waits_at_every_moment(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(ctx context.Context, u store.Upload) error
		want func(s client.ExportStatus) bool
	}{
		{"while_an_upload_hangs", func(ctx context.Context, u store.Upload) error {
			u.Sent(3)
			<-ctx.Done()
			return context.Cause(ctx)
		}, func(s client.ExportStatus) bool {
			return s.Pending == 1 && s.PendingBytes == 4 && len(s.Uploading) == 1 && s.Uploading[0].SentBytes == 3 && s.Waiting[0].Path == "model.bin"
		}},
		{"while_all_fails", func(context.Context, store.Upload) error { return errors.New("no space") }, func(s client.ExportStatus) bool {
			return s.Pending == 1 && s.PendingBytes == 7 && strings.Contains(s.Error, "no space") && s.Blocked == 0 && time.Since(s.FailsSince) > 50*time.Second
		}},
		{"while_it_is_refused", func(context.Context, store.Upload) error { return store.ErrRefused }, func(s client.ExportStatus) bool {
			return s.Pending == 1 && s.PendingBytes == 7 && s.Error == "" && s.Blocked == 1 && s.BlockedFiles[0].Path == "model.bin" && !s.LastSuccess.IsZero()
		}},
		{"when_all_is_well", func(context.Context, store.Upload) error { return nil }, func(s client.ExportStatus) bool {
			return s.Pending == 0 && s.PendingBytes == 0 && s.Exported == 1 && len(s.Waiting) == 0 && s.FailsSince.IsZero()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := mirrored(t, &moody{put: c.put})
				makeFile(t, a.Rule.Dir, "model.bin", "weights")
				e := running(t, a)
				if s := e.Status()[0]; s.Pending != 1 {
					t.Errorf("before the first look it is %+v", s)
				}
				<-time.After(time.Minute)
				synctest.Wait()
				if s := e.Status()[0]; !c.want(s) {
					t.Errorf("it is %+v", s)
				}
				makeFile(t, a.Rule.Dir, "later", "x")
				<-time.After(2500 * time.Millisecond)
				if s := e.Status()[0]; c.name == "while_an_upload_hangs" && s.Pending != 2 {
					t.Errorf("a file that came during an upload is not seen: %+v", s)
				}
			})
		})
	}
}

func TestExports_flush(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(n int) error
		want string
	}{
		{"all_is_well", func(int) error { return nil }, ""},
		{"trouble_that_passes", func(n int) error {
			if n < 8 {
				return errors.New("no answer")
			}
			return nil
		}, ""},
		{"refused", func(int) error { return store.ErrRefused }, "/fsx1/model.bin cannot be exported: refused"},
		{"trouble_that_stays", func(int) error { return errors.New("no answer") }, "no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				puts := 0
				a := mirrored(t, &moody{put: func(context.Context, store.Upload) error { puts++; return c.put(puts) }})
				makeFile(t, a.Rule.Dir, "model.bin", "weights")
				e := running(t, a)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				err := e.Flush(ctx)
				if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}

// TestExports_flush_waits_for_a_large_file: it is sent beside the rounds, and may take longer than the last export waits for files that
// are being written.
func TestExports_flush_waits_for_a_large_file(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := false
		a := mirrored(t, &moody{put: func(context.Context, store.Upload) error {
			<-time.After(time.Minute)
			sent = true
			return nil
		}})
		makeFile(t, a.Rule.Dir, "model.bin", "")
		if err := os.Truncate(filepath.Join(a.Rule.Dir, "model.bin"), 257<<20); err != nil {
			t.Fatal(err)
		}
		if err := running(t, a).Flush(t.Context()); err != nil || !sent {
			t.Errorf("sent: %v, %v", sent, err)
		}
	})
}
