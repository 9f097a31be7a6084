package export_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// ending is a store whose caller ends in the middle of an upload: when a part was sent that makes so many bytes.
type ending struct {
	store.Store
	after int64
	end   context.CancelFunc
	sent  int64
}

func (e *ending) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	told := u.Sent
	u.Sent = func(n int64) {
		told(n)
		if e.sent += n; e.sent == e.after {
			e.end()
		}
	}
	return e.Store.Put(ctx, u)
}

// TestExportGoesOnWhereItWasCutOff ends an export in the middle of a large file. The next process sends the rest alone, or all if it
// is another file, and none of what was sent is left on the server.
func TestExportGoesOnWhereItWasCutOff(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(file string) error
		sent int64 // by the next process
	}{
		{"the_same_file", func(string) error { return nil }, 6},
		{"another_file", func(file string) error { return os.WriteFile(file, []byte("other bytes"), 0o600) }, 11},
		{"touched", func(file string) error { return os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)) }, 10},
		{"gone", os.Remove, 0},
		{"a_name_that_is_not_exported", func(file string) error { return os.Rename(file, file+".tmp") }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, record, fake := t.TempDir(), filepath.Join(t.TempDir(), "record"), &storetest.Fake{PartBytes: 2}
			write(t, dir, files{"large": "0123456789"})
			ctx, end := context.WithCancel(t.Context())
			s := &ending{Store: fake, after: 4, end: end}
			rounds(t, ctx, dir, record, s, 1)
			if fake.Uploads() != 1 || s.sent != 4 {
				t.Fatalf("%d uploads are left, and %d bytes were sent", fake.Uploads(), s.sent)
			}
			if err := c.then(filepath.Join(dir, "large")); err != nil {
				t.Fatal(err)
			}
			s.sent, s.after = 0, 0
			rounds(t, t.Context(), dir, record, s, 3)
			if fake.Uploads() != 0 || s.sent != c.sent {
				t.Errorf("%d uploads are left, and %d bytes were sent, want %d", fake.Uploads(), s.sent, c.sent)
			}
			if text, err := os.ReadFile(record); err != nil || strings.Contains(string(text), "begun ") && !strings.Contains(string(text), "ended ") && c.sent == 0 {
				t.Errorf("the record says %s, %v", text, err)
			}
		})
	}
}

// rounds are those of a process.
func rounds(t *testing.T, ctx context.Context, dir, name string, s store.Store, n int) {
	t.Helper()
	m := mirror(dir, s)
	r, err := export.OpenRecord(name, m.Rule)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer m.Close()
	m.Record = r
	for i := range n {
		if _, err := m.Round(ctx, soon().Add(time.Duration(i)*time.Hour)); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
}
