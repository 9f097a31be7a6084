package data_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestPushToTheRealServer is all that is tried on the S3 server that a local cluster has.
func TestPushToTheRealServer(t *testing.T) {
	_, config := storetest.Stand(t)
	for name, try := range map[string]func(*testing.T, *bench){"odd": pushOdd, "large": pushLarge} {
		t.Run(name, func(t *testing.T) {
			config.Bucket = "bucket-" + name
			s, err := store.Open(t.Context(), config)
			ok(t, err)
			b := newBench(t, s)
			b.MakeBucket, b.Delete = true, true
			try(t, b)
		})
	}
}

// pushOdd pushes what is seldom: names that XML cannot carry, depth, files of nothing, times before 1970.
func pushOdd(t *testing.T, b *bench) {
	for _, p := range []string{"a b", "a\nb", "a\x01b", "a+b", "a%41", "ü/é", `"'<>&`, "a/b", "a-", "a.b", strings.Repeat("d/", 200) + "f", strings.Repeat("n", 255)} {
		b.write(p, p)
	}
	b.write("empty", "")
	when := time.Unix(-1, 5)
	ok(t, os.Chtimes(filepath.Join(b.root, "a-"), when, when))
	n := int64(len(b.files()))
	if p := b.pushes(); p.SentFiles != n {
		t.Errorf("got %+v", p)
	}
	b.wants(b.files())
	if p := b.pushes(); p.UnchangedFiles != n || p.Committed {
		t.Errorf("the second push: %+v", p)
	}
}

// pushLarge pushes a sparse file in parts.
func pushLarge(t *testing.T, b *bench) {
	b.write("large", "beginning")
	ok(t, os.Truncate(filepath.Join(b.root, "large"), 65<<20))
	if p := b.pushes(); p.SentBytes != 65<<20 {
		t.Errorf("got %+v", p)
	}
	b.wants(b.files())
	if p := b.pushes(); p.UnchangedFiles != 1 {
		t.Errorf("the second push: %+v", p)
	}
}
