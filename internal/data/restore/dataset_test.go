package restore_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// pushed is a bucket with a dataset.
func pushed(t *testing.T, prefix string, all files) *storetest.Fake {
	t.Helper()
	bucket, dir := &storetest.Fake{}, t.TempDir()
	for p, text := range all {
		at := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	push := data.Push{Bucket: bucket, Place: "here", Prefix: prefix, Source: dir, State: t.TempDir(), Progress: &data.Progress{}}
	if _, err := push.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return bucket
}

// TestDatasetIsNoFile brings what was pushed, and nothing that a push adds: of a prefix that is a checkpoint, and of one with several.
func TestDatasetIsNoFile(t *testing.T) {
	one := files{".metadata": "pickle __0_0.distcp", "__0_0.distcp": "a"}
	dir := t.TempDir()
	if _, err := bring(t, pushed(t, "m/step-10", one), "m/step-10", dir, newest); err != nil {
		t.Fatal(err)
	}
	want(t, dir, one)
	dir = t.TempDir()
	if _, err := bring(t, pushed(t, "m/step-10", one), "m", dir, newest); err != nil {
		t.Fatal(err)
	}
	want(t, dir, files{"step-10/.metadata": one[".metadata"], "step-10/__0_0.distcp": "a"})
	dir = t.TempDir()
	if _, err := bring(t, pushed(t, "", one), "", dir, newest); err != nil {
		t.Fatal(err)
	}
	want(t, dir, one)
}

// TestDatasetNamesWhatIsWhole passes over a checkpoint that is not as its dataset's manifest says, where its files alone say nothing.
func TestDatasetNamesWhatIsWhole(t *testing.T) {
	all := files{"ckpt-1/model.bin": "aa", "ckpt-1/optimizer.bin": "bb", "ckpt-2/model.bin": "aa", "ckpt-2/optimizer.bin": "bb", "ckpt-2/notes.log": "x"}
	for name, row := range map[string]struct {
		prefix string
		spoil  func(*storetest.Fake)
		passed []restore.Passed
	}{
		"as_it_was":  {"m", func(*storetest.Fake) {}, nil},
		"the_bucket": {"", func(b *storetest.Fake) { put(t, b, files{"ckpt-2/model.bin": "a"}) }, []restore.Passed{{"ckpt-2", "model.bin has 1 byte, and 2 in the dataset's manifest", true}}},
		"short":      {"m", func(b *storetest.Fake) { put(t, b, files{"m/ckpt-2/model.bin": "a"}) }, []restore.Passed{{"ckpt-2", "model.bin has 1 byte, and 2 in the dataset's manifest", true}}},
		"gone":       {"m", func(b *storetest.Fake) { _ = b.Delete(t.Context(), "m/ckpt-2/optimizer.bin") }, []restore.Passed{{"ckpt-2", "optimizer.bin, which the dataset's manifest names, is not there", true}}},
		"no_head":    {"m", func(b *storetest.Fake) { put(t, b, files{"m/.muster/dataset.json": "x", "m/ckpt-2/model.bin": "a"}) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := pushed(t, row.prefix, all)
			row.spoil(bucket)
			_, _, passed, err := choose(t, bucket, row.prefix, newest)
			if err != nil || !slices.Equal(passed, row.passed) {
				t.Errorf("got %+v, %v", passed, err)
			}
		})
	}
}
