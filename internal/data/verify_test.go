package data_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func says(p data.Problems) string {
	var lines []string
	for _, one := range p.List {
		lines = append(lines, one.Path+": "+one.Why)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestVerify(t *testing.T) {
	bucket, files := fake(), some()
	files.put(t, bucket, "p")
	for _, row := range []struct {
		name      string
		spoil     func()
		head, all string // problems
	}{
		{"as_it_was", func() {}, "", ""},
		{
			"damage_at_rest", func() { bucket.Damage("p/a"); bucket.Damage("p/large.bin") }, "",
			"a: its bytes are not those that were pushed\nlarge.bin: its bytes are not those that were pushed: those from 0 to 1048576",
		},
		{
			"gone", func() { fine(t, bucket.Delete(t.Context(), "p/a")) },
			"a: its object is not there, though the manifest names it; push the dataset again",
			"a: its object is not there, though the manifest names it; push the dataset again\nlarge.bin: its bytes are not those that were pushed: those from 0 to 1048576",
		},
		{
			"others", func() { puts(t, bucket, "p/a", []byte("other")); puts(t, bucket, "p/large.bin", []byte("short")) },
			"a: its object has other bytes: CRC64NVME IFGErwSMGpI=, the manifest says wE1dmMvEEDE=\nlarge.bin: its object has 5 bytes, the manifest says 3145745",
			"a: its object is another one than was pushed, though the manifest is the same; push the dataset again\nlarge.bin: its object is another one than was pushed, though the manifest is the same; push the dataset again",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.spoil()
			v := data.Verify{Dataset: opened(t, bucket, "p"), Progress: &data.Progress{}}
			head, err := v.Heads(t.Context())
			if fine(t, err); says(head.Problems) != row.head || head.Files+head.Problems.All != int64(len(files)) || head.Extra.All != 0 {
				t.Errorf("heads: got %+v\n%s", head, says(head.Problems))
			}
			full, err := v.Full(t.Context())
			if fine(t, err); says(full.Problems) != row.all || full.Files+full.Problems.All != int64(len(files)) {
				t.Errorf("full: got %+v\n%s", full, says(full.Problems))
			}
		})
	}
}

func TestVerifyNamesWhatIsNotOfTheDataset(t *testing.T) {
	bucket := fake()
	some().put(t, bucket, "p")
	for _, key := range []string{"p/0", "p/deep/er/x", "p/zzz", "q", "p2/x"} {
		puts(t, bucket, key, nil)
	}
	v := data.Verify{Dataset: opened(t, bucket, "p")}
	got, err := v.Heads(t.Context())
	if fine(t, err); got.Problems.All != 0 || !slices.Equal(got.Extra.List, []string{"0", "deep/er/x", "zzz"}) {
		t.Errorf("got %+v", got)
	}
}

func TestVerifyTellsAReplacedDataset(t *testing.T) {
	bucket := fake()
	some().put(t, bucket, "p")
	v := data.Verify{Dataset: opened(t, bucket, "p")}
	fine(t, bucket.Delete(t.Context(), "p/a"))
	stock{"b": nil}.put(t, bucket, "p")
	for _, verify := range []func(context.Context) (data.Verified, error){v.Heads, v.Full} {
		if _, err := verify(t.Context()); !errors.Is(err, data.ErrReplaced) {
			t.Errorf("got %v", err)
		}
	}
}

// forgetful is a place that knows no checksums.
type forgetful struct{ *storetest.Fake }

func (f forgetful) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := f.Fake.Head(ctx, key)
	o.CRC64NVME, o.SHA256 = "", ""
	return o, err
}

func TestVerifySaysWhatIsNotProven(t *testing.T) {
	bucket := fake()
	some().put(t, bucket, "p")
	v := data.Verify{Dataset: opened(t, forgetful{bucket}, "p")}
	got, err := v.Heads(t.Context())
	if fine(t, err); got.Unproven != got.Files || got.Files != int64(len(some())) {
		t.Errorf("got %+v", got)
	}
}

func TestCompareFindsWhatDiffersBothWays(t *testing.T) {
	bucket, dir, files := fake(), t.TempDir(), some()
	files.put(t, bucket, "p")
	pulled(t, bucket, "p", dir)
	for _, withManifest := range []bool{true, false} {
		compare := func(full bool) data.Compared {
			t.Helper()
			c := data.Compare{Dir: dir, Bucket: bucket, Prefix: "p", Full: full, Progress: &data.Progress{}}
			if withManifest {
				c.Dataset = opened(t, bucket, "p")
			}
			got, err := c.Run(t.Context())
			fine(t, err)
			return got
		}
		for _, full := range []bool{false, true} {
			if got := compare(full); !got.Same() || got.Files != int64(len(files)) || got.Unproven != 0 {
				t.Errorf("manifest %v, full %v: got %+v", withManifest, full, got)
			}
		}
		fine(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644), os.WriteFile(filepath.Join(dir, "x.tmp"), nil, 0o644))
		fine(t, os.Rename(filepath.Join(dir, "empty"), filepath.Join(dir, "zzz")))
		same := filepath.Join(dir, "deep/er/file")
		body, err := os.ReadFile(same)
		body[200_000] ^= 4
		fine(t, err, os.WriteFile(same, body, 0o640), os.Chtimes(same, stocked, stocked), os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
		got := compare(false)
		wantMissing := []string{"mine", "zzz"}
		if withManifest {
			wantMissing = []string{"mine", "x.tmp", "zzz"}
		}
		want := "a: the file has 0 bytes, the object 5\ndeep/er/file: the file has other bytes than the object"
		if says(got.Different) != want || !slices.Equal(got.Missing.List, wantMissing) || !slices.Equal(got.Extra.List, []string{"empty"}) {
			t.Errorf("manifest %v: got %+v\n%s", withManifest, got, says(got.Different))
		}
		body[200_000] ^= 4
		fine(t, os.WriteFile(same, body, 0o640), os.WriteFile(filepath.Join(dir, "a"), files["a"], 0o644))
		fine(t, os.Rename(filepath.Join(dir, "zzz"), filepath.Join(dir, "empty")), os.Remove(filepath.Join(dir, "mine")), os.Remove(filepath.Join(dir, "x.tmp")))
		bucket.Damage("p/large.bin")
		if got := compare(false); !got.Same() {
			t.Errorf("manifest %v: got %+v", withManifest, got)
		}
		if got := compare(true); got.Different.All != 1 || !strings.HasPrefix(says(got.Different), "large.bin: ") {
			t.Errorf("manifest %v: got %+v", withManifest, got)
		}
		bucket.Damage("p/large.bin")
	}
}

func TestCompareSaysWhereNothingIsProven(t *testing.T) {
	bucket, dir := fake(), t.TempDir()
	files := stock{"a": []byte("1"), "dir/b": []byte("2")}
	files.put(t, bucket, "p")
	pulled(t, bucket, "p", dir)
	puts(t, bucket, "p/dir/", nil)
	fine(t, os.WriteFile(filepath.Join(dir, "a"), []byte("3"), 0o644))
	c := data.Compare{Dir: dir, Bucket: forgetful{bucket}, Prefix: "p"}
	got, err := c.Run(t.Context())
	if fine(t, err); !got.Same() || got.Unproven != 2 {
		t.Errorf("got %+v", got)
	}
	c.Full = true
	got, err = c.Run(t.Context())
	if fine(t, err); got.Different.All != 1 || got.Unproven != 0 {
		t.Errorf("got %+v", got)
	}
	c.Dir = filepath.Join(dir, "none")
	if _, err := c.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestCompareTakesOneFile as push does, also one that a link leads to, and one without a directory before its name.
func TestCompareTakesOneFile(t *testing.T) {
	bucket, dir := fake(), t.TempDir()
	stock{"a.tar": []byte("1"), "l.tar": []byte("1")}.put(t, bucket, "p")
	fine(t, os.WriteFile(filepath.Join(dir, "a.tar"), []byte("1"), 0o644), os.Symlink("a.tar", filepath.Join(dir, "l.tar")))
	t.Chdir(dir)
	for _, row := range []struct {
		file, extra string
	}{{"a.tar", "l.tar"}, {filepath.Join(dir, "a.tar"), "l.tar"}, {"l.tar", "a.tar"}} {
		for _, full := range []bool{false, true} {
			got, err := (&data.Compare{Dir: row.file, Bucket: bucket, Prefix: "p", Dataset: opened(t, bucket, "p"), Full: full}).Run(t.Context())
			if fine(t, err); got.Files != 1 || got.Different.All != 0 || !slices.Equal(got.Extra.List, []string{row.extra}) {
				t.Errorf("%s, full %v: got %+v", row.file, full, got)
			}
		}
	}
	fine(t, os.WriteFile("a.tar", []byte("2"), 0o644))
	got, err := (&data.Compare{Dir: "a.tar", Bucket: bucket, Prefix: "p"}).Run(t.Context())
	if fine(t, err); says(got.Different) != "a.tar: the file has other bytes than the object" {
		t.Errorf("got %+v", got)
	}
}
