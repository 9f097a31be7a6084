// Package pack makes an image out of tar streams and directories: one layer each,
// in order. It needs no builder, keeps nothing on disk and runs nothing, so it
// cannot replace a Dockerfile with RUN lines.
package pack

import (
	"compress/gzip"
	"io"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/stream"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Options are the image's configuration.
type Options struct {
	// Env is the environment; it gets the usual PATH if it has none.
	Env []string
	// Workdir is the directory to start in.
	Workdir             string
	Entrypoint, Command []string
	Labels              map[string]string
	// Created is the image's date.
	Created time.Time
}

// Layer is the content of one layer: an uncompressed tar stream, read once.
type Layer struct {
	io.ReadCloser
	// Origin is for the image's history: a file's name or a directory's.
	Origin string
}

// Image is an image of layers that are read while it is uploaded; it has a digest
// only after that. A tar stream that ends early fails the upload. Closing the
// layers is the caller's part.
func Image(layers []Layer, o Options) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, o.config())
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		whole := io.NopCloser(&wholeTar{r: l, origin: l.Origin})
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   stream.NewLayer(whole, stream.WithCompressionLevel(gzip.BestSpeed), stream.WithMediaType(types.OCILayer)),
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
