package data_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

type member struct {
	name, text string
	kind       byte
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Mode: 0o644, Size: int64(len(m.text))}
		if m.kind == tar.TypeSymlink || m.kind == tar.TypeLink {
			h.Linkname, h.Size = m.text, 0
		}
		fine(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, m.text)
			fine(t, err)
		}
	}
	fine(t, w.Close())
	return out.Bytes()
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	fine(t, err, w.Close())
	return out.Bytes()
}

func sampled(t testing.TB, files stock, n int, seed uint64) (data.Sampled, string) {
	t.Helper()
	bucket, dir := fake(), filepath.Join(t.TempDir(), "sample")
	files.put(t, bucket, "p")
	s := data.Sample{Dataset: opened(t, bucket, "p"), Files: n, Seed: seed, Dir: dir, Progress: &data.Progress{}}
	got, err := s.Run(t.Context())
	fine(t, err)
	return got, dir
}

func TestSampleChoosesByItsSeed(t *testing.T) {
	files := stock{}
	for i := range 50 {
		files[string(rune('A'+i))] = []byte{byte(i)}
	}
	first, dir := sampled(t, files, 5, 7)
	again, _ := sampled(t, files, 5, 7)
	other, _ := sampled(t, files, 5, 8)
	if len(first.Paths) != 5 || !slices.Equal(first.Paths, again.Paths) || slices.Equal(first.Paths, other.Paths) {
		t.Errorf("got %q, %q, %q", first.Paths, again.Paths, other.Paths)
	}
	want := stock{}
	for _, p := range first.Paths {
		want[p] = files[p]
	}
	want.is(t, dir)
	if all, _ := sampled(t, files, 100, 1); len(all.Paths) != 50 {
		t.Errorf("of all it chose %d", len(all.Paths))
	}
}

func TestSampleIsUnpacked(t *testing.T) {
	content := tarOf(t, member{"./", "", tar.TypeDir}, member{"train/a.txt", "text", tar.TypeReg}, member{"link", "/etc/passwd", tar.TypeSymlink}, member{"hard", "train/a.txt", tar.TypeLink})
	var zstded, zip_ bytes.Buffer
	zw, err := zstd.NewWriter(&zstded)
	fine(t, err)
	_, err = zw.Write(content)
	fine(t, err, zw.Close())
	z := zip.NewWriter(&zip_)
	w, err := z.Create("train/a.txt")
	fine(t, err)
	_, err = w.Write([]byte("text"))
	fine(t, err, z.Close())
	all := stock{"d/s.tar": content, "d/s.tar.gz": zipped(t, content), "d/s.tgz": zipped(t, content), "d/s.tar.zst": zstded.Bytes(), "d/s.zip": zip_.Bytes()}
	for path, body := range all {
		got, dir := sampled(t, stock{path: body}, 1, 1)
		stock{path: body, "d/train/a.txt": []byte("text")}.is(t, dir)
		if got.Problems.All != 0 || got.Unpacked != 1 || got.LeftOut != 2 && path != "d/s.zip" {
			t.Errorf("%s: got %+v", path, got)
		}
	}
	other := tarOf(t, member{"train/b.txt", "more", tar.TypeReg})
	all = stock{"d/one.tar": content, "d/two.tgz": zipped(t, other)}
	_, dir := sampled(t, all, 2, 1)
	all["d/train/a.txt"], all["d/train/b.txt"] = []byte("text"), []byte("more")
	all.is(t, dir)
	all = stock{"one.tar": content, "other.tar": other, "two.tgz": zipped(t, content)}
	_, dir = sampled(t, all, 3, 1)
	all["one/train/a.txt"], all["two/train/a.txt"], all["train/b.txt"] = []byte("text"), []byte("text"), []byte("more")
	all.is(t, dir)
}

// TestTheLaterOfTwoMembersCounts: archives that were added to have both.
func TestTheLaterOfTwoMembersCounts(t *testing.T) {
	body := tarOf(t, member{"d/a", "first", tar.TypeReg}, member{"b", "b", tar.TypeReg}, member{"d/a", "new", tar.TypeReg})
	got, dir := sampled(t, stock{"s.tar": body}, 1, 1)
	stock{"s.tar": body, "d/a": []byte("new"), "b": []byte("b")}.is(t, dir)
	if got.Problems.All != 0 || got.Unpacked != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestHostileArchives(t *testing.T) {
	for _, row := range []struct {
		name, want string
		archive    []byte
	}{
		{"up", "the path leads elsewhere", tarOf(t, member{"../out", "x", tar.TypeReg})},
		{"absolute", "the path leads elsewhere", tarOf(t, member{"/out", "x", tar.TypeReg})},
		{"up_further_in", "the path leads elsewhere", tarOf(t, member{"a/../../out", "x", tar.TypeReg})},
		{"through_a_link", "", tarOf(t, member{"a", "..", tar.TypeSymlink}, member{"a/out", "x", tar.TypeReg})},
		{"itself", "file exists", tarOf(t, member{"s.tgz", "x", tar.TypeReg})},
		{"cut_off", "unexpected EOF", tarOf(t, member{"a", strings.Repeat("x", 2000), tar.TypeReg})[:1500]},
		{"device", "", tarOf(t, member{"null", "", tar.TypeChar})},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, dir := sampled(t, stock{"s.tgz": zipped(t, row.archive)}, 1, 1)
			if said := says(got.Problems); row.want == "" && said != "" || !strings.Contains(said, row.want) {
				t.Errorf("got %q, want %q", said, row.want)
			}
			if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
				t.Errorf("it wrote beside: %v", entries)
			}
		})
	}
	damaged := zipped(t, tarOf(t, member{"a", "x", tar.TypeReg}))
	damaged[len(damaged)-6] ^= 1
	if got, _ := sampled(t, stock{"s.tar.gz": damaged}, 1, 1); got.Problems.All != 1 {
		t.Errorf("a wrong checksum: got %+v", got)
	}
}

func TestArchiveThatFillsDisks(t *testing.T) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	fine(t, err)
	w := tar.NewWriter(packed)
	fine(t, w.WriteHeader(&tar.Header{Name: "link", Typeflag: tar.TypeReg, Size: 3 << 30, Mode: 0o644}))
	zeros := make([]byte, 1<<20)
	for range 1025 {
		_, err := w.Write(zeros)
		fine(t, err)
	}
	fine(t, packed.Close())
	got, _ := sampled(t, stock{"s.tgz": out.Bytes()}, 1, 1)
	if !strings.Contains(says(got.Problems), "far more comes out of it than there should") {
		t.Errorf("got %+v", got)
	}
}

// FuzzUnpack holds that nothing an archive says leads out of the sample, and that nothing panics.
func FuzzUnpack(f *testing.F) {
	for _, seed := range [][]byte{
		tarOf(f, member{"a/b", "text", tar.TypeReg}, member{"l", "..", tar.TypeSymlink}, member{"l/x", "x", tar.TypeReg}),
		tarOf(f, member{"../x", "x", tar.TypeReg}),
	} {
		f.Add(seed, byte(0))
		f.Add(zipped(f, seed), byte(1))
	}
	names := []string{"s.tar", "s.tgz", "s.zip", "s.tar.zst"}
	f.Fuzz(func(t *testing.T, archive []byte, kind byte) {
		bucket, above := &storetest.Fake{}, t.TempDir()
		dir := filepath.Join(above, "sample")
		stock{names[int(kind)%len(names)]: archive}.put(t, bucket, "p")
		s := data.Sample{Dataset: opened(t, bucket, "p"), Files: 1, Seed: rand.Uint64(), Dir: dir}
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Fatalf("beside the sample: %v, %v", entries, err)
		}
		fine(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !d.Type().IsRegular() {
				t.Errorf("%s is no file", d)
			}
			return err
		}))
	})
}

func TestSampleWantsADirectoryOfItsOwn(t *testing.T) {
	bucket, dir := fake(), t.TempDir()
	stock{"a": nil}.put(t, bucket, "p")
	fine(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644))
	s := data.Sample{Dataset: opened(t, bucket, "p"), Files: 1, Dir: dir}
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v", err)
	}
}

func TestValidator(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		at := filepath.Join(dir, name)
		fine(t, os.WriteFile(at, []byte(text), mode))
		return at
	}
	for _, row := range []struct{ name, command, said, err string }{
		{"program", script("validate", "#!/bin/sh\necho \"$1 $2 $MUSTER_SAMPLE_DIR\"\n", 0o755), "--data-dir DIR DIR\n", ""},
		{"line", "echo yes", "yes --data-dir DIR\n", ""},
		{"python", script("validate.py", "import sys; print(sys.argv[1:]); sys.exit(4)", 0o644), "['--data-dir', 'DIR']\n", "refuses the data: it ended with exit code 4"},
		{"none", "./nosuch-validator", "", "refuses the data: it ended with exit code 127"},
		{"killed", "kill -9 $$;", "", "was ended: signal: killed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := exec.LookPath("python3"); err != nil && row.name == "python" && os.Getenv("MUSTER_CI") == "" {
				t.Skip(err)
			}
			var out bytes.Buffer
			err := data.Validator{Command: row.command, Dir: dir, Out: &out}.Run(t.Context())
			if err == nil && row.err != "" || err != nil && (row.err == "" || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("got %v, want %s", err, row.err)
			}
			if said := strings.ReplaceAll(out.String(), dir, "DIR"); row.name != "none" && said != row.said {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// TestSampleFillsADisk needs the right to mount. The disk may be full as files come, or as they are unpacked.
func TestSampleFillsADisk(t *testing.T) {
	small := smallDisk(t)
	for name, files := range map[string]stock{
		"file":    {"large": random(3, 9*mebi)},
		"archive": {"a.tar.gz": zipped(t, tarOf(t, member{name: "a", text: strings.Repeat("a", 9*mebi), kind: tar.TypeReg}))},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, dir := fake(), filepath.Join(small, name)
			files.put(t, bucket, "p")
			_, err := (&data.Sample{Dataset: opened(t, bucket, "p"), Files: 1, Dir: dir}).Run(t.Context())
			if want := "put the sample to " + dir + ": no space left on device"; !errors.Is(err, syscall.ENOSPC) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			fine(t, os.RemoveAll(dir))
		})
	}
}
