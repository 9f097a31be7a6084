package data_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// stock is a dataset as it was put, by path.
type stock map[string][]byte

// stocked is when all files of a stock changed last.
var stocked = time.Unix(1_700_000_000, 123_456_789)

const mebi = 1 << 20

// random is content that no two files have in common.
func random(seed uint64, size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	_, _ = r.Read(b)
	return b
}

// put puts a dataset and commits it.
func (s stock) put(t testing.TB, bucket store.Store, prefix string) {
	t.Helper()
	s.commit(t, bucket, prefix, manifest.Whole, s.objects(t, bucket, prefix))
}

// objects puts the files and returns their records.
func (s stock) objects(t testing.TB, bucket store.Store, prefix string) []manifest.Record {
	t.Helper()
	var records []manifest.Record
	for _, path := range slices.Sorted(maps.Keys(s)) {
		body := s[path]
		sha := sha256.Sum256(body)
		o, err := bucket.Put(t.Context(), store.Upload{Key: manifest.Key(prefix, path), Body: bytes.NewReader(body), SizeBytes: int64(len(body))})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, manifest.Record{Path: path, SizeBytes: o.SizeBytes, ModTime: stocked.UnixNano(), Mode: 0o640,
			SHA256: hex.EncodeToString(sha[:]), CRC64NVME: o.CRC64NVME, Version: o.Version, PartBytes: o.PartBytes, Parts: o.Parts})
	}
	return records
}

func (s stock) commit(t testing.TB, bucket store.Store, prefix, state string, records []manifest.Record) {
	t.Helper()
	var text bytes.Buffer
	w := manifest.NewWriter(&text)
	head := manifest.Head{State: state, Committed: stocked}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		head.Files++
		head.Bytes += r.SizeBytes
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sha := sha256.Sum256(text.Bytes())
	head.ManifestSHA256 = hex.EncodeToString(sha[:])
	head.Manifest = manifest.Name(head.ManifestSHA256[:16])
	puts(t, bucket, manifest.ManifestKey(prefix, head.Manifest), text.Bytes())
	puts(t, bucket, manifest.HeadKey(prefix), head.Encode())
}

func puts(t testing.TB, bucket store.Store, key string, body []byte) {
	t.Helper()
	if _, err := bucket.Put(t.Context(), store.Upload{Key: key, Body: bytes.NewReader(body), SizeBytes: int64(len(body))}); err != nil {
		t.Fatal(err)
	}
}

// is holds that a directory has these files, and nothing else.
func (s stock) is(t testing.TB, dir string) {
	t.Helper()
	got := stock{}
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		path, _ := filepath.Rel(dir, at)
		got[filepath.ToSlash(path)], err = os.ReadFile(at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range got {
		if _, ok := s[path]; !ok {
			t.Errorf("%s has %s, which nobody put", dir, path)
		}
	}
	for path, want := range s {
		if body, ok := got[path]; !ok || !bytes.Equal(body, want) {
			t.Errorf("%s: there %v, %d bytes, want %d: %s", path, ok, len(body), len(want), firstOther(body, want))
		}
	}
}

func firstOther(a, b []byte) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("the first that differs is %d", i)
		}
	}
	return "one is longer"
}

func opened(t testing.TB, bucket store.Store, prefix string) *data.Dataset {
	t.Helper()
	d, err := data.Open(t.Context(), bucket, prefix, "s3://bucket/"+prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func pulled(t testing.TB, bucket store.Store, prefix, dir string) data.Pulled {
	t.Helper()
	p := data.Pull{Dataset: opened(t, bucket, prefix), Dir: dir, Progress: &data.Progress{}}
	got, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// some is a stock with all kinds of files.
func some() stock {
	return stock{
		"a":                                []byte("first"),
		"empty":                            {},
		"deep/er/and/deeper/file":          random(1, 70_000),
		"deep/er/file":                     random(2, 300_000),
		"large.bin":                        random(3, 3*mebi+17),
		"names \"with\" ü\u2028/and\ttabs": []byte("odd"),
		strings.Repeat("n", 255):           []byte("long"),
		"zeros":                            make([]byte, 5*mebi),
		"zeros at the end":                 append(random(4, 1000), make([]byte, 2*mebi)...),
	}
}
