package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
)

func TestExports_await(t *testing.T) {
	for _, c := range []struct {
		name, dir string
		put       func(n int, key string) error
		want      client.Awaited
		fails     string
	}{
		{"all", "", func(int, string) error { return nil }, client.Awaited{Files: 3, SizeBytes: 9, Verified: 3}, ""},
		{"a_part", "/fsx1/a/", func(int, string) error { return nil }, client.Awaited{Files: 2, SizeBytes: 6, Verified: 2}, ""},
		{"a_file", "/fsx1/b", func(int, string) error { return nil }, client.Awaited{Files: 1, SizeBytes: 3, Verified: 1}, ""},
		{"from_above", "/", func(int, string) error { return nil }, client.Awaited{Files: 3, SizeBytes: 9, Verified: 3}, ""},
		{"trouble_that_passes", "", func(n int, _ string) error {
			if n < 8 {
				return errors.New("no answer")
			}
			return nil
		}, client.Awaited{Files: 3, SizeBytes: 9, Verified: 3}, ""},
		{"one_is_refused", "", func(_ int, key string) error {
			if key == "b" {
				return fmt.Errorf("put %s: %w", key, store.ErrRefused)
			}
			return nil
		}, client.Awaited{Files: 3, SizeBytes: 9, Verified: 2, Blocked: 1, BlockedFiles: []client.WaitingFile{{Path: "b", SizeBytes: 3, Reason: "put b: refused"}}}, ""},
		{"trouble_that_stays", "", func(int, string) error { return errors.New("no answer") }, client.Awaited{}, "no answer"},
		{"elsewhere", "/home/me", func(int, string) error { return nil }, client.Awaited{}, "/home/me: no export has it; exported: /fsx1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var puts atomic.Int32
				a := mirrored(t, &moody{put: func(_ context.Context, u store.Upload) error { return c.put(int(puts.Add(1)), u.Key) }})
				for _, name := range []string{"a/x", "a/y", "b"} {
					makeFile(t, a.Rule.Dir, name, "abc")
				}
				e := running(t, a)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				got, err := e.Await(ctx, c.dir)
				if c.fails != "" {
					if err == nil || !strings.Contains(err.Error(), c.fails) {
						t.Errorf("got %v, want %q", err, c.fails)
					}
					return
				}
				if err != nil || len(got) != 1 {
					t.Fatalf("got %+v, %v", got, err)
				}
				c.want.Path, c.want.Bucket = "/fsx1", "b"
				if fmt.Sprint(got[0]) != fmt.Sprint(c.want) {
					t.Errorf("got  %+v\nwant %+v", got[0], c.want)
				}
			})
		})
	}
}

// TestExports_await_what_was_there holds that files that come and go on growing keep nobody
// waiting.
func TestExports_await_what_was_there(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		fake := &moody{}
		a := mirrored(t, fake)
		more := func(n int) {
			makeFile(t, a.Rule.Dir, fmt.Sprintf("more-%d", n), "abc")
			if err := os.WriteFile(filepath.Join(a.Rule.Dir, "train.log"), bytes.Repeat([]byte("x"), n), 0o644); err != nil {
				t.Error(err)
			}
		}
		e := controller.NewExports([]controller.Association{a}, slog.New(slog.DiscardHandler))
		fake.put = func(context.Context, store.Upload) error {
			n := int(made.Add(1))
			if n == 1 { // the call has seen what there is: others export from now on, too
				runs(t, e)
			}
			more(n)
			return nil
		}
		makeFile(t, a.Rule.Dir, "model.bin", "abc")
		makeFile(t, a.Rule.Dir, "train.log", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := e.Await(ctx, "")
		if err != nil || len(got) != 1 || got[0].Files != 2 || !got[0].OK() || got[0].Verified < 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestExports_await_kept holds that checkpoints which the rule does not keep keep nobody waiting, and are not missed.
func TestExports_await_kept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mirrored(t, &moody{put: func(context.Context, store.Upload) error { return nil }})
		a.Rule.Keep = checkpoint.Policy{Last: 1}
		for n := range 3 {
			makeFile(t, a.Rule.Dir, fmt.Sprintf("run/checkpoint-%d/model.bin", n), "abc")
		}
		e := running(t, a)
		<-time.After(10 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		got, err := e.Await(ctx, "")
		if err != nil || len(got) != 1 || got[0].Verified != 1 || got[0].LeftAlone != 2 || len(got[0].Missing) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestExports_await_no_file holds that what is no file, and so in no bucket, is named, if it is in the directory that is meant.
func TestExports_await_no_file(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mirrored(t, &moody{put: func(context.Context, store.Upload) error { return nil }})
		makeFile(t, a.Rule.Dir, "a/x", "abc")
		makeFile(t, a.Rule.Dir, "b", "abc")
		if err := syscall.Mkfifo(filepath.Join(a.Rule.Dir, "a/pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		e := running(t, a)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		want := []client.WaitingFile{{Path: "a/pipe", Reason: "it is a pipe, not a file"}}
		for _, dir := range []string{"", "/fsx1/a", "/fsx1/a/pipe"} {
			got, err := e.Await(ctx, dir)
			if err != nil || len(got) != 1 || got[0].OK() || got[0].Blocked != 1 || !slices.Equal(got[0].BlockedFiles, want) || got[0].Verified != got[0].Files {
				t.Errorf("of %q it says %+v, %v", dir, got, err)
			}
		}
		if got, err := e.Await(ctx, "/fsx1/b"); err != nil || len(got) != 1 || !got[0].OK() || got[0].Verified != 1 {
			t.Errorf("of another file it says %+v, %v", got, err)
		}
	})
}
