package data_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestPushFillsTheDiskOfTheServer needs the right to mount. When there is room again, the next push goes on.
func TestPushFillsTheDiskOfTheServer(t *testing.T) {
	root, c := storetest.Stand(t)
	c.Bucket, c.Patience, c.Bell = "bucket", time.Minute, func(err error, _ time.Duration) { t.Errorf("it was waited for: %v", err) }
	b := newBench(t, open(t, c))
	fine(t, open(t, c).MakeBucket(t.Context()))
	small := smallDiskAt(t, filepath.Join(root, c.Bucket))
	b.write("a", "small")
	b.write("large", strings.Repeat("large ", 700_000))
	b.write("larger", strings.Repeat("larger ", 2*mebi))
	pushed, err := b.push()
	if err == nil || !strings.HasPrefix(err.Error(), "put object set/large") || !strings.Contains(err.Error(), "No space left on device") {
		t.Fatalf("got %v", err)
	}
	isTold(t, err, pushed.Problems)
	if _, err := pull(t, b.bucket, t.TempDir()); !errors.Is(err, data.ErrChanging) && !errors.Is(err, data.ErrNone) {
		t.Errorf("a reader got %v", err)
	}
	fine(t, widen(small))
	if p := b.pushes(); p.Files != 3 {
		t.Errorf("got %+v", p)
	}
	b.wants(b.files())
}

// TestPushFillsItsOwnDisk has no room for the journal and the manifest.
func TestPushFillsItsOwnDisk(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	fine(t, os.Mkdir(b.state, 0o700))
	small := smallDiskAt(t, b.state)
	fill := filepath.Join(small, "fill")
	if err := os.WriteFile(fill, make([]byte, 9*mebi), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	b.write("a", "small")
	pushed, err := b.push()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	isTold(t, err, pushed.Problems)
	fine(t, os.Remove(fill))
	b.pushes()
	b.wants(b.files())
}
