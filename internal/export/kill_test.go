package export_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestExports is the process that is killed: it says each put before it does it.
func TestExports(t *testing.T) {
	dir := os.Getenv("EXPORT_DIR")
	if dir == "" {
		return
	}
	c := store.Config{Endpoint: os.Getenv("EXPORT_TO"), CredentialsFile: os.Getenv("EXPORT_AS"), Region: "us-east-1", Bucket: os.Getenv("EXPORT_BUCKET")}
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, mirror(dir, &telling{Store: s}))
}

// telling is a store that says each put.
type telling struct {
	store.Store
	mu sync.Mutex
}

func (s *telling) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	s.mu.Lock()
	fmt.Println("put " + u.Key)
	s.mu.Unlock()
	return s.Store.Put(ctx, u)
}

// isKilled kills an export with kill -9 at each of its puts, one after the other: what a restore would take is whole each
// time, and in the end all is there.
func isKilled(t *testing.T, c store.Config, s store.Store) {
	dir, all := t.TempDir(), files{}
	for step := range 4 {
		for _, name := range []string{"__0_0.distcp", "__1_0.distcp", "__2_0.distcp", ".metadata"} {
			all[fmt.Sprintf("run/step-%d/%s", step+1, name)] = fmt.Sprintf("%s of %d", name, step)
		}
	}
	all["run/latest"] = "step-4"
	write(t, dir, all)
	for n := 1; storetest.Killed(t, n, "TestExports", "EXPORT_DIR="+dir, "EXPORT_TO="+c.Endpoint, "EXPORT_AS="+c.CredentialsFile, "EXPORT_BUCKET="+c.Bucket); n++ {
		v, err := restore.Look(t.Context(), s, "fsx1", time.Now().Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := v.Choose(t.Context(), restore.Want{Step: checkpoint.NoStep})
		if err == nil && len(f.Files) != 4 {
			t.Errorf("after %d puts %s is taken for whole, with %d files", n, f.Dir, len(f.Files))
		}
	}
	wantMirrored(t, dir, s, all)
}
