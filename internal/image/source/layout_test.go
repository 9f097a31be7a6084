package source_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/muster-hpc/muster/internal/image/source"
)

// folder writes images with their names into an OCI layout.
func folder(t *testing.T, images map[string]v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for tag, img := range images {
		if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, uri string) (*source.Image, error) {
	t.Helper()
	ref, err := source.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	o := quick
	o.TempDir = t.TempDir()
	img, err := source.Open(t.Context(), ref, o)
	if err == nil {
		t.Cleanup(func() { img.Close() })
	}
	if left, _ := os.ReadDir(o.TempDir); len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
	return img, err
}

func TestLayout(t *testing.T) {
	one, two := linux(t, "amd64", 100_000, 2), linux(t, "amd64", 100, 1)
	dir := folder(t, map[string]v1.Image{"v1": one, "v2": two})
	digest, _ := one.Digest()
	for _, uri := range []string{"oci:" + dir + ":v1", "oci-archive:" + tarOf(t, dir) + ":v1"} {
		img, err := open(t, uri)
		if err != nil || img.Digest != digest.String() || len(img.Layers) != 2 {
			t.Fatalf("%s: got %+v, %v", uri, img, err)
		}
		check(t, img)
	}
	for uri, want := range map[string]string{
		"oci:" + dir:            "it has several images: ",
		"oci:" + dir + ":v3":    "it has no image v3; there is ",
		"oci:" + dir + "/none":  "no such file or directory",
		"oci:" + dir + "/blobs": "it has no index.json",
		dir + ":v1":             "no such file or directory; use oci:" + dir + ":v1 for v1 in the OCI layout " + dir,
	} {
		if _, err := open(t, uri); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", uri, err, want)
		}
	}
}

func TestLayoutOneImage(t *testing.T) {
	dir := folder(t, map[string]v1.Image{"v1": linux(t, "amd64", 100, 1)})
	for _, uri := range []string{dir, "oci:" + dir, tarOf(t, dir)} {
		if _, err := open(t, uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	other := folder(t, map[string]v1.Image{"v1": linux(t, "arm64", 100, 1)})
	if _, err := open(t, other); err == nil || !strings.Contains(err.Error(), "there is none for linux/amd64; there is linux/arm64") {
		t.Errorf("got %v", err)
	}
}

func TestLayoutDamaged(t *testing.T) {
	img := linux(t, "amd64", 100, 1)
	config, _ := img.ConfigName()
	manifest, _ := img.Digest()
	layers, _ := img.Layers()
	layer, _ := layers[0].Digest()
	for _, test := range []struct {
		digest v1.Hash
		want   string
	}{{config, "read its configuration: "}, {manifest, "read its manifest: "}, {layer, "should have"}} {
		for _, cut := range []bool{false, true} {
			dir := folder(t, map[string]v1.Image{"v1": img})
			file := filepath.Join(dir, "blobs", "sha256", test.digest.Hex)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if cut {
				data = data[:len(data)-1]
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := open(t, dir)
			if err == nil && cut {
				_, err = sum(t.Context(), got.Layers[0])
			}
			// A layer's digest is checked by who reads it.
			if damaged := err != nil && strings.Contains(err.Error(), test.want); !damaged && (cut || test.digest != layer) {
				t.Errorf("%s, cut off %v: got %v, want %q", test.digest, cut, err, test.want)
			}
		}
	}
}

func TestArchive(t *testing.T) {
	img := linux(t, "amd64", 100_000, 2)
	tag, err := name.NewTag("train:v1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "train.tar")
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	id, _ := img.ConfigName()
	for _, uri := range []string{file, "docker-archive:" + file + ":train:v1", "docker-archive:" + file + ":docker.io/library/train:v1"} {
		got, err := open(t, uri)
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != id.String() || len(got.Layers) != 2 {
			t.Errorf("%s: got %+v", uri, got)
		}
		check(t, got)
	}
	if _, err := open(t, "docker-archive:"+file+":other"); err == nil || !strings.Contains(err.Error(), "it has no image other; there is ") {
		t.Errorf("got %v", err)
	}
}

// TestArchivePlain has layers as docker save writes them: plain, one of them a
// link to another.
func TestArchivePlain(t *testing.T) {
	layer := tarWith(t, map[string]string{"file": strings.Repeat("x", 5000)})
	config := `{"os":"linux","architecture":"amd64","config":{},"rootfs":{"type":"layers","diff_ids":["` + digest(layer) + `","` + digest(layer) + `"]}}`
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, text string) {
		h.Size, h.Mode = int64(len(text)), 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	add(tar.Header{Name: "a/layer.tar"}, string(layer))
	add(tar.Header{Name: "b/layer.tar", Typeflag: tar.TypeSymlink, Linkname: "../a/layer.tar"}, "")
	add(tar.Header{Name: "config.json"}, config)
	add(tar.Header{Name: "manifest.json"}, `[{"Config":"config.json","RepoTags":["train:v1"],"Layers":["a/layer.tar","b/layer.tar"]}]`)
	w.Close()
	file := filepath.Join(t.TempDir(), "train.tar")
	write(t, file, b.String())
	img, err := open(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if len(img.Layers) != 2 || img.Layers[1].Digest != digest(layer) {
		t.Errorf("got %+v", img.Layers)
	}
	check(t, img)
}

func TestArchiveRefusals(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"gzip -d":               {0x1f, 0x8b, 8, 0, 0, 0, 0, 0},
		"zstd -d":               {0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0},
		"no such file":          nil,
		"read the archive":      []byte("no tar file, but long enough to be looked at"),
		"neither an index.json": tarWith(t, map[string]string{"x": "y"}),
		"read manifest.json":    tarWith(t, map[string]string{"manifest.json": "{"}),
		"it has no image":       tarWith(t, map[string]string{"manifest.json": "[]"}),
		"no file config":        tarWith(t, map[string]string{"manifest.json": `[{"Config":"config"}]`}),
	} {
		file := filepath.Join(dir, "x.tar")
		os.Remove(file)
		if data != nil {
			write(t, file, string(data))
		}
		if _, err := open(t, file); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

// TestEngines has programs of ours in the place of Docker, Podman and Buildah.
func TestEngines(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "saved.tar")
	if err := tarball.WriteToFile(file, name.MustParseReference("train:v1").(name.Tag), linux(t, "amd64", 100_000, 2)); err != nil {
		t.Fatal(err)
	}
	alone(t)
	write(t, dir+"/bin/docker", "#!/bin/sh\n[ \"$*\" = 'save train:v1' ] || { echo Error: no such image: $2 >&2; exit 1; }\nexec cat "+file)
	write(t, dir+"/bin/podman", "#!/bin/sh\n[ \"$*\" = 'save --format docker-archive train:v1' ] && exec cat "+file)
	write(t, dir+"/bin/buildah", "#!/bin/sh\n[ \"$1 $4\" = 'push train:v1' ] && exec cp "+file+" ${5#docker-archive:}")
	t.Setenv("PATH", dir+"/bin:/usr/bin:/bin")
	for _, uri := range []string{"dockerd://train:v1", "podman://train:v1", "buildah://train:v1"} {
		img, err := open(t, uri)
		if err != nil {
			t.Fatal(err)
		}
		if img.Reference != uri {
			t.Errorf("got reference %s, want %s", img.Reference, uri)
		}
		check(t, img)
	}
	if _, err := open(t, "dockerd://other"); err == nil || !strings.Contains(err.Error(), "docker save: Error: no such image: other") {
		t.Errorf("got %v", err)
	}
	t.Setenv("PATH", dir)
	if _, err := open(t, "buildah://train"); err == nil || !strings.Contains(err.Error(), "there is no buildah here; `apt install buildah` brings it") {
		t.Errorf("got %v", err)
	}
}

// tarOf makes a tar file of a folder.
func tarOf(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	file := filepath.Join(t.TempDir(), "layout.tar")
	write(t, file, b.String())
	return file
}

func tarWith(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	w.Close()
	return b.Bytes()
}

// TestPipes holds that what must be a file is refused if it is a pipe, instead of waiting
// for somebody to write to it.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"image.tar", "index.json"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range []string{"docker-archive:" + dir + "/image.tar", "oci:" + dir + "/image.tar", "oci:" + dir} {
		if _, err := open(t, uri); err == nil || !strings.HasSuffix(err.Error(), ": it is no ordinary file") {
			t.Errorf("%s: got %v", uri, err)
		}
	}
}
