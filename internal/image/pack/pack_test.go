package pack_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/muster-hpc/muster/internal/image/pack"
)

// serve runs a registry and returns the reference of an image in it.
func serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://") + "/team/image:1"
}

// names are the entries of a layer.
func names(t *testing.T, l v1.Layer) (list []string) {
	t.Helper()
	r, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", h.Name, h.Uid, h.Gid)
		}
		list = append(list, h.Name+h.Linkname)
	}
}

// push uploads an image and returns its digest.
func push(t *testing.T, at string, layers []pack.Layer, o pack.Options) (string, error) {
	t.Helper()
	image, err := pack.Image(layers, o)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		return "", err
	}
	d, err := image.Digest()
	return d.String(), err
}

func stream(t *testing.T) pack.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "etc/os-release", Mode: 0o644, Size: 2}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("ok"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return pack.Layer{ReadCloser: io.NopCloser(&b), Origin: "-"}
}

func TestPush(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "sub", "a"), []byte("A"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	at := serve(t)
	o := pack.Options{Env: []string{"A=b"}, Workdir: "/workspace", Created: time.Unix(1, 0).UTC()}
	digest, err := push(t, at, []pack.Layer{stream(t), pack.Directory(dir, "/workspace")}, o)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := image.Digest(); err != nil || d.String() != digest {
		t.Errorf("digest %s, %v, want %s", d, err, digest)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.WorkingDir != "/workspace" || len(config.Config.Env) != 2 || config.Config.Env[1] != "A=b" || len(config.RootFS.DiffIDs) != 2 {
		t.Errorf("configuration %+v", config)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"etc/os-release"}, names(t, layers[0])); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"workspace/", "workspace/link/etc/passwd", "workspace/sub/", "workspace/sub/a"}, names(t, layers[1])); d != "" {
		t.Error(d)
	}
}

// A layer that cannot be read to its end makes no image.
func TestPushFails(t *testing.T) {
	at := serve(t)
	r, w := io.Pipe()
	go func() { w.CloseWithError(errors.New("mmdebstrap failed")) }()
	for _, try := range []struct {
		layer pack.Layer
		want  string
	}{
		{pack.Layer{ReadCloser: r}, "mmdebstrap failed"},
		{pack.Layer{ReadCloser: io.NopCloser(io.LimitReader(stream(t), 1500)), Origin: "half.tar"}, "half.tar is no tar archive, or ends too early"},
		{pack.Layer{ReadCloser: io.NopCloser(strings.NewReader("")), Origin: "empty"}, "ends too early"},
		{pack.Directory(filepath.Join(t.TempDir(), "absent"), ""), "no such file"},
	} {
		if _, err := push(t, at, []pack.Layer{try.layer}, pack.Options{}); err == nil || !strings.Contains(err.Error(), try.want) {
			t.Errorf("error %v, want %q in it", err, try.want)
		}
	}
	ref, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Image(ref); err == nil {
		t.Error("there is an image")
	}
}
