package source_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestEngineService asks an engine without a program by its socket.
func TestEngineService(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	img := linux(t, "amd64", 1000, 1)
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/images/a/b:v1/get" {
			http.Error(w, "no such image", http.StatusNotFound)
			return
		}
		if err := tarball.Write(name.MustParseReference("a/b:v1"), img, w); err != nil {
			t.Error(err)
		}
	}))
	s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	t.Setenv("PATH", dir)
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/s")
	t.Setenv("CONTAINER_HOST", "unix://"+dir+"/s")
	for _, uri := range []string{"dockerd://a/b:v1", "podman://a/b:v1"} {
		got, err := open(t, uri)
		if err != nil {
			t.Fatal(err)
		}
		check(t, got)
	}
	if _, err := open(t, "dockerd://none"); err == nil {
		t.Error("an image that is not there was found")
	}
}
