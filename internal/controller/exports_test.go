package controller_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// mirrored is the association of a fresh directory with a bucket.
func mirrored(t *testing.T, s store.Store) controller.Association {
	rule := export.Rule{Dir: t.TempDir(), Mount: "/fsx1", Bucket: "b", New: true, Changed: true,
		Import: export.Policy{Initial: true, New: true, Changed: true, Deleted: true}}
	return controller.Association{Path: "/fsx1", Rule: rule, Record: filepath.Join(t.TempDir(), "record"), Store: s}
}

// running starts the exports of an association until the test ends.
func running(t *testing.T, a controller.Association) *controller.Exports {
	t.Helper()
	e := controller.NewExports([]controller.Association{a}, slog.New(slog.DiscardHandler))
	runs(t, e)
	return e
}

// runs has exports run until the test ends.
func runs(t *testing.T, e *controller.Exports) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

func makeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestExports_go_on_when_an_import_fails(t *testing.T) {
	fake := &storetest.Fake{}
	if _, err := fake.Put(t.Context(), store.Upload{Key: "damaged", Body: bytes.NewReader([]byte("x")), SizeBytes: 1}); err != nil {
		t.Fatal(err)
	}
	fake.Damage("damaged")
	synctest.Test(t, func(t *testing.T) {
		a := mirrored(t, fake)
		makeFile(t, a.Rule.Dir, "checkpoint-2/model.bin", "weights")
		e := running(t, a)
		<-time.After(time.Minute)
		synctest.Wait()
		if _, err := fake.Head(t.Context(), "checkpoint-2/model.bin"); err != nil {
			t.Errorf("the checkpoint was not exported: %v", err)
		}
		if s := e.Status()[0]; !strings.Contains(s.Error, "import damaged") || s.Exported != 1 {
			t.Errorf("the status is %+v", s)
		}
	})
}
