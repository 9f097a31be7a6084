package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/image/source"
)

// childTask is set for a test binary that another one starts as a process of its
// own, which may be killed.
const childTask = "MUSTER_IMAGE_CHILD"

// task is what a child does: an import, or if there is a key, what a step does.
type task struct{ URI, Dir, Key string }

// TestChild is no test but what a child runs.
func TestChild(t *testing.T) {
	if text := os.Getenv(childTask); text != "" {
		os.Exit(child(t.Context(), text))
	}
}

// child does a task and prints the path of the image.
func child(ctx context.Context, text string) int {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	o := options(t.URI, t.Dir)
	var err error
	path := ""
	if t.Key != "" {
		path, err = image.Ensure(ctx, image.EnsureOptions{URI: t.URI, Dir: t.Dir, Key: t.Key, Source: o.Source})
	} else {
		var done image.Imported
		done, err = image.Import(ctx, o)
		path = done.Path
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(path)
	return 0
}

// command is a child that does a task. What it prints goes to out.
func command(t *testing.T, what task, out io.Writer) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childTask+"="+string(text), "GOMAXPROCS=2")
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

// need skips a test for want of a program, where that is no failure.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		lack(t, "there is no "+program)
	}
}

func lack(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("MUSTER_CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// place is a registry that counts what it is asked for.
type place struct {
	host string
	mu   sync.Mutex
	// asked counts the GET requests of each path.
	asked map[string]int
	// before, if set, is called before a request is answered.
	before func(r *http.Request)
	// spoilt changes what comes for paths with an end.
	spoilt map[string]func([]byte) []byte
}

func newPlace(t *testing.T) *place {
	t.Helper()
	for _, name := range []string{"HOME", "DOCKER_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "ENROOT_CONFIG_PATH"} {
		t.Setenv(name, t.TempDir())
	}
	p := &place{asked: map[string]int{}, spoilt: map[string]func([]byte) []byte{}}
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		if r.Method == http.MethodGet {
			p.asked[r.URL.Path]++
		}
		before, spoil := p.before, p.spoilt[path.Base(r.URL.Path)]
		p.mu.Unlock()
		if before != nil {
			before(r)
		}
		if spoil == nil {
			real.ServeHTTP(w, r)
			return
		}
		r.Header.Del("Range")
		got := httptest.NewRecorder()
		real.ServeHTTP(got, r)
		w.Write(spoil(got.Body.Bytes()))
	}))
	t.Cleanup(s.Close)
	p.host = strings.TrimPrefix(s.URL, "http://")
	return p
}

func (p *place) on(before func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// spoil changes what comes for a blob.
func (p *place) spoil(digest v1.Hash, how func([]byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoilt[digest.String()] = how
}

// requests is how often paths with a part were asked for, and forgets it.
func (p *place) requests(part string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for path, times := range p.asked {
		if strings.Contains(path, part) {
			n += times
		}
	}
	clear(p.asked)
	return n
}

// push puts an image into the registry and returns its URI.
func (p *place) push(t *testing.T, tag string, img v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(p.host + "/a/b:" + tag)
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.requests("")
	return "docker://" + ref.Name()
}

// layer is a layer with a file of a size, half of which can be compressed.
func layer(t *testing.T, seed uint64, size int) v1.Layer {
	t.Helper()
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	data := make([]byte, size)
	random.Read(data[:size/2])
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, body := range map[string][]byte{fmt.Sprintf("dir/file-%d", seed): data} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Uid: 1000, Gid: 1000, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		w.Write(body)
	}
	w.Close()
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }, tarball.WithCompressionLevel(1))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// linux is an image for amd64 of layers.
func linux(t *testing.T, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", "amd64"
	config.Config = v1.Config{
		Env: []string{"A=b c"}, Cmd: []string{"it's", "$me"}, Entrypoint: []string{"/bin/run"}, WorkingDir: "/work",
		Labels: map[string]string{"who": "us"}, Volumes: map[string]struct{}{"/data set": {}},
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

func options(uri, dir string) image.ImportOptions {
	return image.ImportOptions{URI: uri, Dir: dir, Name: "x", Version: "v0", Source: source.Options{Arch: "amd64", RetryWait: 1}}
}

// sound fails unless a directory has only images that can be read, and nothing
// else but what may be there.
func sound(t *testing.T, dir string, names ...string) {
	t.Helper()
	all, err := image.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range all {
		if i.Problem != "" || i.Meta == nil {
			t.Errorf("%s: %s", i.Name, i.Problem)
		}
		got = append(got, i.Name)
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("there is %v, want %v", got, names)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); !strings.HasSuffix(name, ".sqsh") && name != ".layers" && name != ".refs" {
			t.Errorf("%s is left", name)
		}
	}
}
