package layer_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-hpc/muster/internal/image/layer"
)

// refused holds that a build failed with want, told the layer, and left nothing.
func refused(t *testing.T, dir string, d layer.Descriptor, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	var e *layer.Error
	if !errors.As(err, &e) || e.Digest != d.Digest {
		t.Errorf("%v does not name the layer", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left in the cache", left[0].Name())
	}
}

func describe(z []byte) layer.Descriptor {
	return layer.Descriptor{Digest: digest(z), Size: int64(len(z))}
}

func TestBadStreamsAreRefused(t *testing.T) {
	plain := tarball(t, file("a", big(1, 1<<20)), file("b", "small"))
	z := zipped(plain)
	flipped := bytes.Clone(z)
	flipped[len(flipped)/2] ^= 1
	broken := errors.New("the connection broke")
	table := map[string]struct {
		data   []byte
		change func(*layer.Descriptor)
		end    error
		want   error
	}{
		"wrong_digest":     {data: z, change: func(d *layer.Descriptor) { d.Digest = digest(plain) }, want: layer.ErrDigest},
		"no_digest":        {data: z, change: func(d *layer.Descriptor) { d.Digest = "sha256:../../x" }, want: layer.ErrDigest},
		"wrong_diff_id":    {data: z, change: func(d *layer.Descriptor) { d.DiffID = digest(z) }, want: layer.ErrDiffID},
		"larger":           {data: z, change: func(d *layer.Descriptor) { d.Size-- }, want: layer.ErrSize},
		"smaller":          {data: z, change: func(d *layer.Descriptor) { d.Size++ }, want: layer.ErrSize},
		"endless":          {data: append(bytes.Clone(z), make([]byte, 32<<20)...), change: func(d *layer.Descriptor) { d.Size = int64(len(z)) }, want: layer.ErrSize},
		"truncated":        {data: z[:len(z)/2], want: layer.ErrStream},
		"truncated_early":  {data: z[:5], want: layer.ErrStream},
		"truncated_tar":    {data: zipped(plain[:700_000]), want: layer.ErrStream},
		"truncated_plain":  {data: plain[:700_000], want: layer.ErrStream},
		"flipped":          {data: flipped, want: layer.ErrStream},
		"rubbish_behind":   {data: append(bytes.Clone(z), "rubbish"...), want: layer.ErrStream},
		"no_tar":           {data: zipped([]byte(strings.Repeat("no tar ", 1000))), want: layer.ErrStream},
		"broken":           {data: z[:len(z)/2], end: broken, change: func(d *layer.Descriptor) { *d = describe(z) }, want: broken},
		"broken_at_once":   {end: broken, change: func(d *layer.Descriptor) { *d = describe(z) }, want: broken},
		"truncated_source": {data: z[:len(z)/2], change: func(d *layer.Descriptor) { *d = describe(z) }, want: layer.ErrSize},
		"zstd_window":      {data: []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xff, 1, 2, 3}, want: layer.ErrLimit},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			c, dir := open(t)
			d := describe(row.data)
			if row.change != nil {
				row.change(&d)
			}
			opener := func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader(row.data), &ending{row.end})), nil
			}
			refused(t, dir, d, c.Build(t.Context(), opener, d, layer.BuildOptions{}), row.want)
		})
	}
}

// ending is a reader that ends with an error, or as usual.
type ending struct{ err error }

func (e *ending) Read([]byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}

func TestGoodStreams(t *testing.T) {
	plain := tarball(t, file("a", big(1, 1<<20)), file("b", "small"))
	half := len(plain) / 2
	var z bytes.Buffer
	w, err := zstd.NewWriter(&z, zstd.WithWindowSize(32<<20))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(plain)
	w.Close()
	table := map[string][]byte{
		"plain":        plain,
		"gzip_members": append(zipped(plain[:half]), zipped(plain[half:])...),
		"zstd":         z.Bytes(),
		"padded":       zipped(append(bytes.Clone(plain), make([]byte, 1<<20)...)),
		"no_end":       zipped(plain[:len(plain)-1024]),
		"empty":        {},
		"empty_gzip":   zipped(nil),
	}
	for name, data := range table {
		t.Run(name, func(t *testing.T) {
			c, _ := open(t)
			var read int64
			o := layer.BuildOptions{Progress: func(n int64) { read = n }}
			if err := c.Build(t.Context(), blob(data), describe(data), o); err != nil {
				t.Fatal(err)
			}
			if read != int64(len(data)) {
				t.Errorf("progress ends at %d of %d", read, len(data))
			}
			if _, r := assemble(t, c, []string{digest(data)}, nil, layer.Options{}); !strings.Contains(name, "empty") && r.Entries != 3 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestHostileEntriesAreRefused(t *testing.T) {
	long := strings.Repeat("n", 256)
	pax := func(name string, i item) item {
		i.PAXRecords = map[string]string{"GNU.x": "y"}
		i.Name = name
		return i
	}
	table := map[string][]item{
		"above_root":        {pax("../x", file("", ""))},
		"above_root_inside": {pax("a/../../x", file("", ""))},
		"absolute_above":    {pax("/../x", file("", ""))},
		"link_above_root":   {file("a", ""), hardlink("b", "../../etc/shadow")},
		"long_name":         {pax(long, file("", ""))},
		"long_path":         {pax(strings.Repeat("d/", 2100)+"x", file("", ""))},
		"long_target":       {symlink("s", strings.Repeat("t", 4096))},
		"no_target":         {symlink("s", "")},
		"root_is_a_file":    {file("/", "x").with(func(i *item) { i.Name = "." })},
		"root_is_a_link":    {symlink(".", "/etc")},
		"large_device":      {device("d", tar.TypeChar, 4096, 0)},
		"no_whiteout":       {file("d/.wh.", "")},
		"whiteout_up":       {file("d/.wh...", "")},
		"whiteout_self":     {file("d/.wh..", "")},
		"large_attribute":   {file("a", "").xattr("user.x", strings.Repeat("v", 64<<10+1))},
		"unknown_type":      {entry("x", '7', 0o644)},
	}
	for name, items := range table {
		t.Run(name, func(t *testing.T) {
			c, dir := open(t)
			z := zipped(tarball(t, items...))
			d := describe(z)
			err := c.Build(t.Context(), blob(z), d, layer.BuildOptions{})
			refused(t, dir, d, err, layer.ErrEntry)
			if e := new(layer.Error); errors.As(err, &e) && e.Entry != items[len(items)-1].Name {
				t.Errorf("%v names entry %q", err, e.Entry)
			}
		})
	}
}

func TestImpossibleImagesAreRefused(t *testing.T) {
	loop := []item{symlink("a", "b"), symlink("b", "a")}
	table := map[string][][]item{
		"link_to_nothing":   {{file("a", "")}, {hardlink("b", "nothing")}},
		"link_to_removed":   {{file("a", "")}, {whiteout("a"), hardlink("b", "a")}},
		"link_to_self":      {{file("a", "")}, {hardlink("a", "a")}},
		"link_to_directory": {{dir("d")}, {hardlink("b", "d")}},
		"link_to_root":      {{dir("d"), hardlink("b", ".")}},
		"link_before":       {{hardlink("b", "a"), file("a", "")}},
		"below_file":        {{file("a", "")}, {file("a/b", "")}},
		"below_loop":        {loop, {file("a/x", "")}},
		"below_long_way":    {{symlink("l", strings.Repeat("l/", 2000))}, {file("l/x", "")}},
	}
	for name, layers := range table {
		t.Run(name, func(t *testing.T) {
			c, _ := open(t)
			var digests []string
			for _, items := range layers {
				digests = append(digests, build(t, c, tarball(t, items...))...)
			}
			f, err := os.Create(t.TempDir() + "/image")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			_, err = layer.Assemble(t.Context(), c, digests, nil, layer.Options{}, f)
			var e *layer.Error
			if !errors.Is(err, layer.ErrEntry) || !errors.As(err, &e) || e.Digest != digests[len(digests)-1] || e.Entry == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBombsAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var attributed []item
	for i := range 40 {
		attributed = append(attributed, file("f"+string(rune('A'+i)), "").xattr("user.x", strings.Repeat(string(rune('a'+r.IntN(26))), 60_000)))
	}
	sparse := file("sparse", "")
	table := map[string]struct {
		data   []byte
		limits layer.Limits
	}{
		"zeros":      {zipped(tarball(t, file("z", string(make([]byte, 64<<20))))), layer.Limits{FreeBytes: 1 << 20, Ratio: 100}},
		"bytes":      {zipped(tarball(t, file("z", big(1, 4<<20)))), layer.Limits{Bytes: 3 << 20}},
		"padding":    {zipped(append(tarball(t, sparse), make([]byte, 64<<20)...)), layer.Limits{FreeBytes: 1 << 20, Ratio: 100}},
		"entries":    {zipped(tarball(t, many("d", 200)...)), layer.Limits{Entries: 100}},
		"attributes": {zipped(tarball(t, attributed...)), layer.Limits{Index: 1 << 20}},
		"names":      {zipped(tarball(t, many("d", 2000)...)), layer.Limits{Index: 10_000}},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			c, dir := open(t)
			d := describe(row.data)
			refused(t, dir, d, c.Build(t.Context(), blob(row.data), d, layer.BuildOptions{Limits: row.limits}), layer.ErrLimit)
		})
	}
	t.Run("default_ratio", func(t *testing.T) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(tarball(t, file("z", string(make([]byte, 16<<20)))))
		w.Close()
		c, _ := open(t)
		if err := c.Build(t.Context(), blob(b.Bytes()), describe(b.Bytes()), layer.BuildOptions{Limits: layer.Limits{FreeBytes: 1}}); err != nil {
			t.Errorf("what gzip can do is refused: %v", err)
		}
	})
}
