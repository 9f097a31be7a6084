package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/image/source"
)

func TestTooMuch(t *testing.T) {
	all := []layer.Segment{{Digest: "old", SizeBytes: 3}, {Digest: "mid", SizeBytes: 2}, {Digest: "new", SizeBytes: 1}}
	for limit, want := range map[int64]int{0: 3, 1: 2, 2: 2, 3: 1, 5: 1, 6: 0, 99: 0} {
		if got := tooMuch(all, limit); len(got) != want {
			t.Errorf("limit %d: %d go, want %d", limit, len(got), want)
		}
	}
}

// TestMissing: each layer that the cache does not have, once, the largest first.
func TestMissing(t *testing.T) {
	c, err := layer.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string, size int64) source.Layer { return source.Layer{Digest: name, Size: size} }
	img := &source.Image{Layers: []source.Layer{of("a", 10), of("b", 30), of("c", 10), of("b", 30), of("d", 20)}}
	todo, bytes, least, err := missing(&cache{Cache: c}, img)
	want := []source.Layer{of("b", 30), of("d", 20), of("a", 10), of("c", 10)}
	if err != nil || !slices.Equal(names(todo), names(want)) || bytes != 70 || least != 56 {
		t.Errorf("got %v, %d, %d, %v, want %v", names(todo), bytes, least, err, names(want))
	}
}

func names(layers []source.Layer) (list []string) {
	for _, l := range layers {
		list = append(list, l.Digest)
	}
	return list
}

func TestUnused(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	all := []Image{
		{Name: "new", SizeBytes: 5, Changed: now.Add(-time.Hour)},
		{Name: "oldest", SizeBytes: 5, Changed: now.AddDate(0, 0, -30)},
		{Name: "old", SizeBytes: 5, Changed: now.AddDate(0, 0, -20)},
	}
	for limit, want := range map[int64]string{100: "", 15: "", 14: "oldest", 10: "oldest", 9: "oldest old", 0: "oldest old"} {
		var names []string
		for _, i := range unused(all, limit, now) {
			names = append(names, i.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"x", "nvidia+pytorch+25.06-py3", "sha256-ab", "_x", "a@b=c,d"} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", ".x", "-x", "a/b", "a b", "..", "a\n", "ä", strings.Repeat("x", 201)} {
		if CheckName(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestEnrootRC runs the script that starts containers.
func TestEnrootRC(t *testing.T) {
	dir := t.TempDir()
	show := []string{"printf", "[%s]"}
	for _, test := range []struct {
		name  string
		meta  Meta
		args  []string
		wants string
	}{
		{"command", Meta{Cmd: append(show, "it's", "$HOME `id`", "")}, nil, "[it's][$HOME `id`][]"},
		{"entrypoint", Meta{Entrypoint: show, Cmd: []string{"a", "b"}}, nil, "[a][b]"},
		{"arguments", Meta{Entrypoint: show, Cmd: []string{"a"}}, []string{"x y", "z"}, "[x y][z]"},
		{"directory", Meta{Workdir: filepath.Join(dir, "a b'c"), Cmd: []string{"sh", "-c", `printf %s "${PWD##*/}"`}}, nil, "a b'c"},
		{"labels_that_would_run", Meta{Source: "x\necho no", Labels: map[string]string{"a": "b\necho no"}, Cmd: []string{"true"}}, nil, ""},
	} {
		file := filepath.Join(dir, "rc")
		if err := os.WriteFile(file, []byte(enrootRC(test.meta)), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "/bin/sh", append([]string{file}, test.args...)...).CombinedOutput()
		if err != nil || string(out) != test.wants {
			t.Errorf("%s: got %q, %v, want %q", test.name, out, err, test.wants)
		}
	}
}

func TestWords(t *testing.T) {
	var w words
	if err := w.UnmarshalJSON([]byte(`"echo hi"`)); err != nil || !slices.Equal(w, words{"/bin/sh", "-c", "echo hi"}) {
		t.Errorf("got %q, %v", w, err)
	}
	if err := w.UnmarshalJSON([]byte(`["a","b"]`)); err != nil || !slices.Equal(w, words{"a", "b"}) {
		t.Errorf("got %q, %v", w, err)
	}
}

func TestTrailer(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Write(make([]byte, 10_000))
	for used, at := range map[int64]int64{0: 0, 1: 4096, 4096: 4096, 4097: 8192} {
		if err := writeTrailer(t.Context(), f, used, nil, Meta{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		m, found, err := ReadMeta(f)
		if err != nil || !found || m.Name != "x" {
			t.Errorf("got %+v, %v, %v", m, found, err)
		}
		info, _ := f.Stat()
		if want := at + int64(sumSize+len(`{"name":"x"}`)+endSize); info.Size() != want {
			t.Errorf("%d bytes used: the file has %d, want %d", used, info.Size(), want)
		}
	}
}

// TestForeign reads a squashfs that another program made.
func TestForeign(t *testing.T) {
	if _, err := exec.LookPath("mksquashfs"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("there is no mksquashfs")
		}
		t.Skip("there is no mksquashfs")
	}
	dir := t.TempDir()
	for _, compression := range []string{"lzo", "gzip", "zstd"} {
		path := filepath.Join(dir, compression+".sqsh")
		if out, err := exec.CommandContext(t.Context(), "mksquashfs", "/etc/hostname", path, "-comp", compression, "-quiet").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		i, err := Inspect(dir, compression)
		if err != nil || i.Meta != nil || i.Compression != compression {
			t.Errorf("got %+v, %v", i, err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, found, err := ReadMeta(f); found || err != nil {
			t.Errorf("got %v, %v", found, err)
		}
	}
	if err := os.WriteFile(dir+"/a.sqsh", []byte("no image"), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := List(dir)
	if err != nil || len(all) != 4 || all[0].Problem == "" || all[1].Problem != "" {
		t.Errorf("got %+v, %v", all, err)
	}
	if all, err = List(dir + "/none"); err != nil || len(all) != 0 {
		t.Errorf("got %+v, %v", all, err)
	}
}

// FuzzTrailer holds that no file makes the reader fail but by an error, or take
// more memory than the file has.
func FuzzTrailer(f *testing.F) {
	f.Add([]byte("{\"name\":\"x\"}\x0c\x00\x00\x00\x00\x00\x00\x00MUSTERIM"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xffMUSTERIM"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7fMUSTERIM"))
	f.Add([]byte("MUSTERIM"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, found, err := readTrailer(bytes.NewReader(data), int64(len(data)))
		if !found && err != nil || found && !bytes.HasSuffix(data, []byte(magic)) {
			t.Errorf("found %v, %v", found, err)
		}
	})
}
