package layer_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/layer"
)

// item is an entry of a layer that a test makes.
type item struct {
	tar.Header
	body string
}

var epoch = time.Unix(1_700_000_000, 0)

func entry(name string, kind byte, mode int64) item {
	return item{Header: tar.Header{Name: name, Typeflag: kind, Mode: mode, ModTime: epoch}}
}

func file(name, body string) item {
	i := entry(name, tar.TypeReg, 0o644)
	i.body, i.Size = body, int64(len(body))
	return i
}

func dir(name string) item { return entry(name+"/", tar.TypeDir, 0o755) }

func symlink(name, target string) item {
	i := entry(name, tar.TypeSymlink, 0o777)
	i.Linkname = target
	return i
}

func hardlink(name, target string) item {
	i := entry(name, tar.TypeLink, 0o644)
	i.Linkname = target
	return i
}

func device(name string, kind byte, major, minor int64) item {
	i := entry(name, kind, 0o600)
	i.Devmajor, i.Devminor = major, minor
	return i
}

func (i item) with(change func(*item)) item {
	change(&i)
	return i
}

func (i item) xattr(name, value string) item {
	records := map[string]string{"SCHILY.xattr." + name: value}
	for k, v := range i.PAXRecords {
		records[k] = v
	}
	i.PAXRecords = records
	return i
}

func (i item) owned(uid, gid int) item {
	i.Uid, i.Gid = uid, gid
	return i
}

func (i item) at(seconds int64) item {
	i.ModTime = time.Unix(seconds, 0)
	return i
}

func (i item) mode(mode int64) item {
	i.Mode = mode
	return i
}

func whiteout(name string) item {
	d, base := filepath.Split(name)
	return file(d+".wh."+base, "")
}

func opaque(dir string) item { return file(dir+"/.wh..wh..opq", "") }

// tarball is a layer's tar.
func tarball(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		h := i.Header
		if len(h.PAXRecords) > 0 {
			h.Format = tar.FormatPAX
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatalf("%q: %v", i.Name, err)
		}
		if _, err := io.WriteString(w, i.body); err != nil {
			t.Fatalf("%q: %v", i.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// blob opens bytes as a layer.
func blob(data []byte) layer.Opener {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

func open(t testing.TB) (*layer.Cache, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := layer.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// build brings tars into a cache, zipped, and returns their digests.
func build(t testing.TB, c *layer.Cache, tars ...[]byte) []string {
	t.Helper()
	var digests []string
	for _, data := range tars {
		z := zipped(data)
		d := layer.Descriptor{Digest: digest(z), Size: int64(len(z)), DiffID: digest(data)}
		if err := c.Build(t.Context(), blob(z), d, layer.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d.Digest)
	}
	return digests
}

// assemble makes an image and returns its file, cut where the squashfs ends.
func assemble(t testing.TB, c *layer.Cache, digests []string, extra []layer.File, o layer.Options) (string, layer.Result) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.sqsh")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := layer.Assemble(t.Context(), c, digests, extra, o, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate((r.BytesUsed + 4095) &^ 4095); err != nil {
		t.Fatal(err)
	}
	return path, r
}

// image makes an image of tars in a cache of its own.
func image(t testing.TB, tars ...[]byte) (string, layer.Result) {
	t.Helper()
	c, _ := open(t)
	return assemble(t, c, build(t, c, tars...), nil, layer.Options{Time: epoch})
}

// need skips a test without root or a program; with MUSTER_CI that fails.
func need(t testing.TB, programs ...string) {
	t.Helper()
	lacks := ""
	if os.Geteuid() != 0 {
		lacks = "root"
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			lacks = p
		}
	}
	if lacks != "" && os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("this machine lacks %s", lacks)
	} else if lacks != "" {
		t.Skipf("this machine lacks %s", lacks)
	}
}

// command runs a program that has to succeed.
func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// has tells whether a layer is in a cache.
func has(c *layer.Cache, digest string) bool {
	found, err := c.Has(layer.Descriptor{Digest: digest})
	return found && err == nil
}
