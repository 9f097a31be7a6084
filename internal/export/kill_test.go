package export_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/export"
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
	m := mirror(dir, &telling{Store: s})
	if m.Record, err = export.OpenRecord(os.Getenv("EXPORT_RECORD"), m.Rule); err != nil {
		t.Fatal(err)
	}
	finish(t, m)
}

// telling is a store that says each put, and whenever 32 MiB more of it were sent.
type telling struct {
	store.Store
	mu   sync.Mutex
	sent int64
}

func (s *telling) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	s.mu.Lock()
	fmt.Println("put " + u.Key)
	s.mu.Unlock()
	told := u.Sent
	u.Sent = func(n int64) {
		told(n)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sent += n; s.sent/(32<<20) > (s.sent-n)/(32<<20) {
			fmt.Println("sent 32 MiB")
		}
	}
	return s.Store.Put(ctx, u)
}

// isKilledInALargeFile kills an export with kill -9 when six parts of seven were sent. Four go at a time: at least two of
// them are there, and the next process does not send these again.
func isKilledInALargeFile(t *testing.T, objects string, c store.Config, s store.Store) {
	dir, record := t.TempDir(), filepath.Join(t.TempDir(), "record")
	const size = 200 << 20
	write(t, dir, files{"large": "begins"})
	if err := errors.Join(os.Truncate(filepath.Join(dir, "large"), size), os.Chtimes(filepath.Join(dir, "large"), time.Unix(1, 0), time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	if !storetest.Killed(t, 7, "TestExports", "EXPORT_DIR="+dir, "EXPORT_RECORD="+record, "EXPORT_TO="+c.Endpoint, "EXPORT_AS="+c.CredentialsFile, "EXPORT_BUCKET="+c.Bucket) {
		t.Fatal("it came to its end")
	}
	rest := &telling{Store: s}
	rounds(t, t.Context(), dir, record, rest, 2)
	if rest.sent > size-64<<20 || rest.sent == 0 {
		t.Errorf("%d bytes were sent again of %d", rest.sent, size)
	}
	if left, err := filepath.Glob(filepath.Join(objects, c.Bucket, ".sgwtmp/multipart/*/*")); err != nil || len(left) > 0 {
		t.Errorf("uploads are left: %q, %v", left, err)
	}
	report, err := export.Verify(t.Context(), export.Rule{Dir: dir, Mount: "/fsx3", Prefix: "fsx1"}, s)
	if err != nil || !report.OK() || report.Matched != 1 {
		t.Errorf("verify says %+v, %v", report, err)
	}
}

// isKilled kills an export with kill -9 at each of its puts, one after the other: what a restore would take is whole each
// time, and in the end all is there.
func isKilled(t *testing.T, c store.Config, s store.Store) {
	dir, all := t.TempDir(), files{}
	for step := range 4 {
		for _, name := range []string{"__0_0.distcp", "__1_0.distcp", "__2_0.distcp", ".metadata"} {
			all[fmt.Sprintf("run/step-%d/%s", step+1, name)] = fmt.Sprintf("%s of %d", name, step)
		}
		all[fmt.Sprintf("run/step-%d/.metadata", step+1)] = fmt.Sprintf("__0_0.distcp, __1_0.distcp and __2_0.distcp of %d", step)
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
