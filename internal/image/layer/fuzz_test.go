package layer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// FuzzBuild reads anything as a layer, on top of a good one. It may be refused,
// but it neither panics nor leaves anything, and what is accepted is an image.
func FuzzBuild(f *testing.F) {
	below := tarball(f, dir("d"), file("d/f", "x"), symlink("l", "d"), file("a", "a"), hardlink("b", "a"), file("big", big(1, 200_000)))
	for _, items := range [][]item{
		allTypes(), attributes(), {whiteout("d"), opaque("l"), file("l/n", "n"), hardlink("z", "l/f")},
		{symlink("a", "../.."), file("a/x", "x")}, {dir("."), file("d", "now a file"), file("big", string(make([]byte, 300_000)))},
	} {
		data := tarball(f, items...)
		f.Add(data, byte(0))
		f.Add(zipped(data), byte(0))
		f.Add(data, byte(1))
	}
	c, err := layer.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	lower := build(f, c, below)
	limits := layer.Limits{Bytes: 64 << 20, FreeBytes: 16 << 20, Entries: 10_000, Index: 4 << 20}
	f.Fuzz(func(t *testing.T, data []byte, how byte) {
		if how%2 == 1 {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			w.Write(data)
			w.Close()
			data = z.Bytes()
		}
		d := describe(data)
		err := c.Build(t.Context(), blob(data), d, layer.BuildOptions{Limits: limits})
		if err != nil {
			if e := new(layer.Error); !errors.As(err, &e) || has(c, d.Digest) {
				t.Errorf("got %v", err)
			}
			return
		}
		defer c.Remove(d.Digest)
		out, err := os.Create(filepath.Join(t.TempDir(), "image"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		r, err := layer.Assemble(t.Context(), c, append(lower[:1:1], d.Digest), nil, layer.Options{}, out)
		if err != nil {
			if !errors.Is(err, layer.ErrEntry) {
				t.Errorf("got %v", err)
			}
			return
		}
		if info, err := squashfs.Probe(out); err != nil || info.Inodes != r.Inodes {
			t.Errorf("%+v %v", info, err)
		}
	})
}

// FuzzBuild's layers are also valid as they come from a network: in pieces.
func TestPiecesMakeNoDifference(t *testing.T) {
	z := zipped(tarball(t, append(many("d", 100), file("big", big(3, 1<<20)))...))
	c, _ := open(t)
	opener := func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(&pieces{data: z}), nil
	}
	if err := c.Build(t.Context(), opener, describe(z), layer.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	got, _ := assemble(t, c, []string{digest(z)}, nil, layer.Options{})
	whole, _ := open(t)
	if err := whole.Build(t.Context(), blob(z), describe(z), layer.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	want, _ := assemble(t, whole, []string{digest(z)}, nil, layer.Options{})
	if !bytes.Equal(contents(t, got), contents(t, want)) {
		t.Error("the images differ")
	}
}

// pieces reads a few bytes at once.
type pieces struct {
	data []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	p.n = p.n%977 + 13
	n := copy(b[:min(len(b), p.n)], p.data)
	p.data = p.data[n:]
	return n, nil
}
