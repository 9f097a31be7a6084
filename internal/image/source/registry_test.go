package source_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/muster-hpc/muster/internal/image/source"
)

// place is a real registry in this process, with something between it and its
// clients that a test may put there.
type place struct {
	*httptest.Server
	host    string
	between atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler)]
}

func newPlace(t *testing.T) *place {
	t.Helper()
	alone(t)
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	p := &place{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if between := p.between.Load(); between != nil {
			(*between)(w, r, real)
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	p.host = strings.TrimPrefix(p.URL, "http://")
	return p
}

func (p *place) put(f func(http.ResponseWriter, *http.Request, http.Handler)) { p.between.Store(&f) }

// alone keeps this machine's credentials out of a test.
func alone(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HOME", "DOCKER_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "ENROOT_CONFIG_PATH"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("REGISTRY_AUTH_FILE", "")
}

// push puts an image into the registry and returns it.
func (p *place) push(t *testing.T, img v1.Image, tag string) {
	t.Helper()
	ref, err := name.ParseReference(p.host + "/a/b:" + tag)
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// linux is an image for a platform, of some random layers.
func linux(t *testing.T, arch string, layerBytes, layers int64) v1.Image {
	t.Helper()
	img, err := random.Image(layerBytes, layers)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", arch
	config.Config.Env = []string{"FOR=" + arch}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

var quick = source.Options{Arch: "amd64", RetryWait: time.Millisecond, Stall: time.Hour}

func (p *place) open(t *testing.T, image string, o source.Options) (*source.Image, error) {
	t.Helper()
	ref, err := source.Parse("docker://" + p.host + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	img, err := source.Open(t.Context(), ref, o)
	if err == nil {
		t.Cleanup(func() { img.Close() })
	}
	return img, err
}

// sum reads a layer and returns the digest of what came.
func sum(ctx context.Context, l source.Layer) (string, error) {
	r, err := l.Open(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	_, err = io.Copy(h, r)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}

// check reads all layers and compares them with their digests.
func check(t *testing.T, img *source.Image) {
	t.Helper()
	for _, l := range img.Layers {
		if got, err := sum(t.Context(), l); err != nil || got != l.Digest {
			t.Errorf("layer %s: got %s, %v", l.Digest, got, err)
		}
	}
}

func TestRegistry(t *testing.T) {
	p := newPlace(t)
	img := linux(t, "amd64", 100_000, 3)
	p.push(t, img, "v1")
	digest, _ := img.Digest()
	for _, image := range []string{"a/b:v1", "a/b@" + digest.String()} {
		got, err := p.open(t, image, quick)
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != digest.String() || len(got.Layers) != 3 || got.Platform != "linux/amd64" || !strings.Contains(string(got.Config), "FOR=amd64") {
			t.Errorf("%s: got %+v", image, got)
		}
		check(t, got)
	}
}

func TestRegistryPlatforms(t *testing.T) {
	p := newPlace(t)
	v7 := linux(t, "arm", 100, 1)
	index := mutate.AppendManifests(noImages(t),
		mutate.IndexAddendum{Add: linux(t, "amd64", 100, 1), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
		mutate.IndexAddendum{Add: linux(t, "amd64", 100, 1), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"},
			Annotations: map[string]string{"vnd.docker.reference.type": "attestation-manifest"}}},
		mutate.IndexAddendum{Add: linux(t, "arm", 100, 1), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v5"}}},
		mutate.IndexAddendum{Add: v7, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}}},
	)
	nested := mutate.AppendManifests(noImages(t), mutate.IndexAddendum{Add: linux(t, "arm64", 100, 1),
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}}})
	index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: nested})
	ref, err := name.ParseReference(p.host + "/a/b:all")
	if err == nil {
		err = remote.WriteIndex(ref, index)
	}
	if err != nil {
		t.Fatal(err)
	}
	for arch, want := range map[string]string{"amd64": "FOR=amd64", "x86_64": "FOR=amd64", "aarch64": "FOR=arm64", "linux/arm64": "FOR=arm64", "arm": "FOR=arm"} {
		o := quick
		o.Arch = arch
		got, err := p.open(t, "a/b:all", o)
		if err != nil || !strings.Contains(string(got.Config), want) {
			t.Errorf("%s: got %+v, %v, want %s", arch, got, err, want)
		}
		if d, _ := v7.Digest(); arch == "arm" && got != nil && got.Digest != d.String() {
			t.Errorf("arm: got %s, want the one for v7, %s", got.Digest, d)
		}
	}
	o := quick
	o.Arch = "s390x"
	_, err = p.open(t, "a/b:all", o)
	if want := "there is none for linux/s390x; there is linux/amd64, linux/arm/v5, linux/arm/v7, linux/arm64/v8; choose with --arch"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// noImages is an index without images.
func noImages(t *testing.T) v1.ImageIndex {
	t.Helper()
	index, err := random.Index(1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestRegistryRefusals(t *testing.T) {
	manifest := func(p *place, body string, header http.Header) {
		p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				real.ServeHTTP(w, r)
				return
			}
			for k := range header {
				w.Header().Set(k, header.Get(k))
			}
			io.WriteString(w, body)
		})
	}
	for _, test := range []struct {
		name string
		set  func(*place)
		want string
	}{
		{"no_image", func(*place) {}, "not found at"},
		{"forbidden", func(p *place) {
			p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
				if r.URL.Path == "/v2/" {
					real.ServeHTTP(w, r)
					return
				}
				http.Error(w, `{"errors":[{"code":"DENIED","message":"not yours"}]}`, http.StatusForbidden)
			})
		}, "does not let us read it (not yours)"},
		{"endless_manifest", func(p *place) {
			p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
				if r.URL.Path == "/v2/" {
					real.ServeHTTP(w, r)
					return
				}
				for {
					if _, err := w.Write(make([]byte, 1<<16)); err != nil {
						return
					}
				}
			})
		}, "it has more than 4194304 bytes"},
		{"no_json", func(p *place) { manifest(p, "<html>", nil) }, "read its manifest"},
		{"schema_1", func(p *place) { manifest(p, `{"schemaVersion":1}`, nil) }, "schema 1"},
		{"an_artifact", func(p *place) {
			manifest(p, `{"schemaVersion":2,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json"}}`, nil)
		}, `it is no image: its configuration is of type "application/vnd.cncf.helm.config.v1+json"`},
		{"a_large_configuration", func(p *place) {
			manifest(p, `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":99999999,"digest":"sha256:`+hex64+`"}}`, nil)
		}, "the limit is 8388608"},
		{"nested_without_end", func(p *place) {
			p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
				if strings.Contains(r.URL.Path, "/manifests/") {
					io.WriteString(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[`+strings.Repeat(`{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:`+hex64+`"},`, 20)+`{}]}`)
					return
				}
				real.ServeHTTP(w, r)
			})
		}, "the digest of its manifest should be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			test.set(p)
			_, err := p.open(t, "a/b:v1", quick)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if test.name == "no_image" && !errors.Is(err, source.ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
		})
	}
}

func TestRegistryWrongManifest(t *testing.T) {
	p := newPlace(t)
	img := linux(t, "amd64", 100, 1)
	p.push(t, img, "v1")
	digest, _ := img.Digest()
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			io.WriteString(w, `{"schemaVersion":2}`)
			return
		}
		real.ServeHTTP(w, r)
	})
	if _, err := p.open(t, "a/b@"+digest.String(), quick); err == nil || !strings.Contains(err.Error(), "the digest of its manifest should be "+digest.String()) {
		t.Errorf("got %v", err)
	}
}

func TestRegistryBusy(t *testing.T) {
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 100, 1), "v1")
	var asked atomic.Int32
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		if asked.Add(1)%2 == 1 {
			http.Error(w, "later", []int{http.StatusServiceUnavailable, http.StatusTooManyRequests}[asked.Load()%4/2])
			return
		}
		real.ServeHTTP(w, r)
	})
	img, err := p.open(t, "a/b:v1", quick)
	if err != nil {
		t.Fatal(err)
	}
	check(t, img)
}

// TestRegistryWantsToBeLeftAlone: for a day is too long, and is said.
func TestRegistryWantsToBeLeftAlone(t *testing.T) {
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 100, 1), "v1")
	var asked atomic.Int32
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		if !strings.Contains(r.URL.Path, "/manifests/") {
			real.ServeHTTP(w, r)
			return
		}
		asked.Add(1)
		w.Header().Set("Retry-After", "86400")
		http.Error(w, "later", http.StatusTooManyRequests)
	})
	_, err := p.open(t, "a/b:v1", quick)
	if want := "too many requests from here (too many requests); log in, or wait; it asks us to come back in 24h0m0s"; err == nil || !strings.Contains(err.Error(), want) || asked.Load() != 1 {
		t.Errorf("asked %d times, got %v, want %q", asked.Load(), err, want)
	}
}

func TestRedirectKeepsCredentials(t *testing.T) {
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 100_000, 1), "v1")
	var elsewhere atomic.Int32
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: credentials went elsewhere", r.URL)
		}
		elsewhere.Add(1)
		r.Header.Set("Authorization", "Basic bWU6c2VjcmV0")
		r.URL.RawQuery = ""
		p.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(cdn.Close)
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		switch user, password, _ := r.BasicAuth(); {
		case user != "me" || password != "secret":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, "{}", http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/blobs/") && r.Host == p.host:
			http.Redirect(w, r, cdn.URL+r.URL.Path+"?signed=1", http.StatusTemporaryRedirect)
		default:
			real.ServeHTTP(w, r)
		}
	})
	o := quick
	o.AuthFiles = []string{authFile(t, p.host, "me", "secret")}
	img, err := p.open(t, "a/b:v1", o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, img)
	if elsewhere.Load() < 2 {
		t.Errorf("%d requests went elsewhere, want 2", elsewhere.Load())
	}
}
