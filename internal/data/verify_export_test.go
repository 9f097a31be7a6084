package data_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// foreign is a place where others put objects, with a CRC32 each.
type foreign struct {
	*storetest.Fake
	sums map[string]string
}

func (f foreign) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := f.Fake.Head(ctx, key)
	o.CRC64NVME, o.SHA256 = "", ""
	if f.sums[key] != "" {
		o.Other = store.Checksum{Algorithm: "CRC32", Text: f.sums[key]}
	}
	return o, err
}

func TestCompareTakesTheChecksumsOfOthers(t *testing.T) {
	dir, bucket := t.TempDir(), foreign{fake(), map[string]string{}}
	for _, path := range []string{"a", "m"} {
		puts(t, bucket, "r/"+path, []byte("first"))
		bucket.sums["r/"+path] = base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte("first"))))
		fine(t, os.WriteFile(filepath.Join(dir, path), []byte("first"), 0o644))
	}
	c := data.Compare{Dir: dir, Bucket: bucket, Prefix: "r"}
	got, err := c.Run(t.Context())
	if fine(t, err); !got.Same() || got.Unproven != 0 {
		t.Errorf("got %+v", got)
	}
	fine(t, os.WriteFile(filepath.Join(dir, "m"), []byte("other"), 0o644))
	got, err = c.Run(t.Context())
	if fine(t, err); says(got.Different) != "m: the file has other bytes than the object" {
		t.Errorf("got %+v", got)
	}
	bucket.sums["r/a"] = "AAAAAA==" // which no byte of it has
	c.Full = true
	got, err = c.Run(t.Context())
	if fine(t, err); says(got.Different) != "m: the object's bytes were read, and are not those of the file" {
		t.Errorf("got %+v", got)
	}
}

// TestCompareTakesLinksAsTheyWereExported is of links to files, to directories, to nothing and to themselves.
func TestCompareTakesLinksAsTheyWereExported(t *testing.T) {
	dir, bucket := t.TempDir(), fake()
	link := func(path, target, text string) {
		t.Helper()
		fine(t, os.Symlink(target, filepath.Join(dir, path)))
		_, err := bucket.Put(t.Context(), store.Upload{Key: "e/" + path, Body: bytes.NewReader([]byte(text)), SizeBytes: int64(len(text)),
			Meta: map[string]string{"file-permissions": "0120777"}})
		fine(t, err)
	}
	fine(t, os.MkdirAll(filepath.Join(dir, "run/1"), 0o755), os.WriteFile(filepath.Join(dir, "run/1/f"), []byte("some text"), 0o644))
	puts(t, bucket, "e/run/1/f", []byte("some text"))
	link("run/file", "1/f", "1/f")
	link("run/latest", "1", "1")
	link("run/mounted", "/fsx/results/run/1", "1")
	link("run/none", "gone", "gone")
	link("run/here", filepath.Join(dir, "run/1/f"), "1/f")
	link("run/loop", "../run", "../run")
	link("up", filepath.Join(filepath.Dir(dir), "x"), "../x")
	c := data.Compare{Dir: dir, Bucket: bucket, Prefix: "e"}
	for _, c.Full = range []bool{false, true} {
		got, err := c.Run(t.Context())
		if fine(t, err); !got.Same() || got.Files != 8 || got.Unproven != 0 {
			t.Errorf("full %v: got %+v\n%s", c.Full, got, says(got.Different))
		}
	}
	fine(t, os.Remove(filepath.Join(dir, "run/latest")), os.Symlink("2", filepath.Join(dir, "run/latest")))
	fine(t, os.Remove(filepath.Join(dir, "run/file")), os.WriteFile(filepath.Join(dir, "run/file"), []byte("some text"), 0o644))
	fine(t, os.Remove(filepath.Join(dir, "run/none")))
	got, err := c.Run(t.Context())
	want := "run/file: the file has 9 bytes, the object 3\nrun/latest: it is a link to 2, and in the bucket one to 1"
	if fine(t, err); says(got.Different) != want || got.Missing.All != 0 || !slices.Equal(got.Extra.List, []string{"run/none"}) {
		t.Errorf("got %+v\n%s", got, says(got.Different))
	}
}

func TestCompareNamesWhatIsNotOfTheDataset(t *testing.T) {
	dir, bucket := t.TempDir(), fake()
	some().put(t, bucket, "p")
	pulled(t, bucket, "p", dir)
	puts(t, bucket, "p/deep/other", nil)
	got, err := (&data.Compare{Dir: dir, Bucket: bucket, Prefix: "p", Dataset: opened(t, bucket, "p")}).Run(t.Context())
	if fine(t, err); !got.Same() || !slices.Equal(got.Besides.List, []string{"deep/other"}) {
		t.Errorf("got %+v", got)
	}
}
