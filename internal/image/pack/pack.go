// Package pack makes an image out of tar streams and directories and puts it into
// a registry: one layer each, in order. It needs no builder, keeps nothing on disk
// and does not run anything, so it cannot replace a Dockerfile with RUN lines.
package pack

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/stream"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Options say what the image is and where it goes.
type Options struct {
	// Reference is REGISTRY/NAME:TAG.
	Reference string
	// PlainHTTP allows a registry without TLS.
	PlainHTTP bool
	// Login is who we are to the registry.
	Login authn.Keychain
	// Env, Workdir, Entrypoint, Command and Labels go into the configuration.
	Env                 []string
	Workdir             string
	Entrypoint, Command []string
	Labels              map[string]string
	// Created is the image's date.
	Created time.Time
	// Transport is for tests; nil is the default one.
	Transport http.RoundTripper
	// Sent is told how many bytes have gone to the registry. It may be nil.
	Sent func(bytes int64)
}

// Layer is the content of one layer: an uncompressed tar stream, read once.
type Layer struct {
	io.ReadCloser
	// Origin is for the image's history: a file's name or a directory's.
	Origin string
}

// Push makes the image and uploads it while the layers are read, and returns the
// digest of its manifest. Nobody sees an image of that name before all of it is
// there. It closes the layers.
func Push(ctx context.Context, layers []Layer, o Options) (digest string, err error) {
	defer func() {
		for _, l := range layers {
			err = errors.Join(err, l.Close())
		}
	}()
	var checks []name.Option
	if o.PlainHTTP {
		checks = append(checks, name.Insecure)
	}
	ref, err := name.ParseReference(o.Reference, checks...)
	if err != nil {
		return "", err
	}
	image, err := build(layers, o)
	if err != nil {
		return "", err
	}
	if err := remote.Write(ref, image, o.remote(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", ref, err)
	}
	// A streamed layer's digest, and with it the image's, is known only now.
	d, err := image.Digest()
	if err != nil {
		return "", err
	}
	return d.String(), nil
}

func build(layers []Layer, o Options) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, o.config())
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   stream.NewLayer(io.NopCloser(l), stream.WithCompressionLevel(gzip.BestSpeed), stream.WithMediaType(types.OCILayer)),
			History: v1.History{Created: v1.Time{Time: o.Created}, CreatedBy: "muster image pack " + l.Origin},
		})
		if err != nil {
			return nil, err
		}
	}
	return image, nil
}

func (o Options) config() *v1.ConfigFile {
	return &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Created: v1.Time{Time: o.Created},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Env: withPath(o.Env), WorkingDir: o.Workdir, Entrypoint: o.Entrypoint, Cmd: o.Command, Labels: o.Labels,
		},
	}
}

// withPath gives an environment the usual PATH if it has none.
func withPath(env []string) []string {
	for _, e := range env {
		if strings.HasPrefix(e, "PATH=") {
			return env
		}
	}
	return append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, env...)
}

func (o Options) remote(ctx context.Context) []remote.Option {
	options := []remote.Option{remote.WithContext(ctx)}
	if o.Login != nil {
		options = append(options, remote.WithAuthFromKeychain(o.Login))
	}
	transport := o.Transport
	if transport == nil {
		transport = remote.DefaultTransport
	}
	if o.Sent != nil {
		transport = &counting{transport: transport, sent: o.Sent}
	}
	return append(options, remote.WithTransport(transport))
}
