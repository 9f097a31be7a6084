package image_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/image"
)

// nodes has as many processes as a step has nodes ask for an image, and returns
// what each of them prints.
func nodes(t *testing.T, n int, what task) []string {
	t.Helper()
	said := make([]string, n)
	var group sync.WaitGroup
	for i := range said {
		group.Go(func() {
			var out bytes.Buffer
			err := command(t, what, &out).Run()
			said[i] = strings.TrimSpace(out.String())
			if err != nil {
				said[i] = "error: " + said[i]
			}
		})
	}
	group.Wait()
	return said
}

// userDir is where the user's images of URIs are.
func userDir(t *testing.T, shared string) string {
	t.Helper()
	dir, err := image.UserDir(shared)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEnsure(t *testing.T) {
	p, shared := newPlace(t), t.TempDir()
	img := linux(t, layer(t, 1, 3_000_000))
	uri := p.push(t, "v1", img)
	what := task{URI: uri, Dir: userDir(t, shared), Key: "12.0"}
	digest, _ := img.Digest()
	want := filepath.Join(what.Dir, strings.Replace(digest.String(), ":", "-", 1)+".sqsh")
	for _, got := range nodes(t, 8, what) {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if m, b := p.requests("/manifests/"), p.requests("/blobs/"); m != 1 {
		t.Errorf("the manifest was asked for %d times, want once; blobs %d times", m, b)
	}
	sound(t, what.Dir, strings.TrimSuffix(filepath.Base(want), ".sqsh"))
	if info, err := os.Stat(what.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}

	// Another step sees what the tag means now.
	next := linux(t, layer(t, 2, 1000))
	p.push(t, "v1", next)
	digest, _ = next.Digest()
	if got := nodes(t, 1, what)[0]; got != want {
		t.Errorf("the same step got %s, want %s", got, want)
	}
	what.Key = "12.1"
	if got := nodes(t, 1, what)[0]; !strings.Contains(got, digest.Hex) {
		t.Errorf("got %s, want %s", got, digest)
	}

	// A digest means the same for ever.
	what = task{URI: "docker://" + p.host + "/a/b@" + digest.String(), Dir: what.Dir, Key: "13.0"}
	nodes(t, 1, what)
	p.requests("")
	what.Key = "13.1"
	if got := nodes(t, 1, what)[0]; !strings.Contains(got, digest.Hex) || p.requests("") != 0 {
		t.Errorf("got %s, and the registry was asked again", got)
	}
}

func TestEnsureFails(t *testing.T) {
	p, shared := newPlace(t), t.TempDir()
	what := task{URI: "docker://" + p.host + "/a/b:none", Dir: userDir(t, shared), Key: "12.0"}
	for _, got := range nodes(t, 6, what) {
		if !strings.HasPrefix(got, "error: docker://"+p.host+"/a/b:none: not found at ") {
			t.Errorf("got %s", got)
		}
	}
	if n := p.requests("/manifests/"); n != 1 {
		t.Errorf("the manifest was asked for %d times, want once", n)
	}
	p.push(t, "none", linux(t, layer(t, 1, 1000)))
	what.Key = "12.1"
	if got := nodes(t, 1, what)[0]; strings.HasPrefix(got, "error") {
		t.Errorf("the next step got %s", got)
	}
}

func TestEnsureWantsADirectoryOfItsOwn(t *testing.T) {
	newPlace(t)
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, link} {
		_, err := image.Ensure(t.Context(), image.EnsureOptions{URI: "a", Dir: dir, Key: "1"})
		if want := fmt.Sprintf("must be a directory of user %d that nobody else may write to", os.Geteuid()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", dir, err, want)
		}
	}
}
