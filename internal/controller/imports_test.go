package controller_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// started is a controller of one association that runs until it is stopped.
func started(t *testing.T, a controller.Association) (e *controller.Exports, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	e = controller.NewExports([]controller.Association{a}, slog.New(slog.DiscardHandler))
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	return e, func() {
		cancel()
		<-done
	}
}

// TestImports_come_while_it_runs_and_stay_deleted has an object come, change and go, and a file deleted here, over a
// restart of the controller.
func TestImports_come_while_it_runs_and_stay_deleted(t *testing.T) {
	fake := &storetest.Fake{}
	put := func(key, text string) {
		if _, err := fake.Put(t.Context(), store.Upload{Key: key, Body: strings.NewReader(text), SizeBytes: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
	}
	put("first", "1")
	put("mine", "1")
	synctest.Test(t, func(t *testing.T) {
		a := mirrored(t, fake)
		wait := func(name, want string) {
			t.Helper()
			<-time.After(time.Minute)
			synctest.Wait()
			if text, _ := os.ReadFile(filepath.Join(a.Rule.Dir, name)); string(text) != want {
				t.Errorf("%s is %q, want %q", name, text, want)
			}
		}
		_, stop := started(t, a)
		wait("first", "1")
		put("later", "1")
		wait("later", "1")
		put("later", "two")
		wait("later", "two")
		if err := os.Remove(filepath.Join(a.Rule.Dir, "mine")); err != nil {
			t.Fatal(err)
		}
		wait("mine", "")
		stop()
		e, stop := started(t, a)
		wait("mine", "")
		put("mine", "again")
		wait("mine", "again")
		put("dir/goes", "1")
		put("dir/stays", "1")
		wait("dir/goes", "1")
		for _, key := range []string{"first", "dir/goes"} {
			if err := fake.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		wait("first", "")
		wait("dir/goes", "")
		wait("dir/stays", "1")
		if got := e.Status()[0]; got.Removed != 2 || got.Imported != 3 {
			t.Errorf("%d files went and %d came", got.Removed, got.Imported)
		}
		stop()
	})
}
