// Package source reads images from where they are: registries, OCI layout
// folders, archives of docker save, the stores of Docker, Podman and Buildah.
//
// It turns a URI into one image for one platform: the manifest's digest, the
// configuration, and the layers as readers of bytes as they are stored. Manifests
// and configurations are checked against their digests and have a limit. A layer's
// reader goes on where a broken download ended, and never gives more bytes than
// the manifest says; who reads it checks the digest. Credentials come from the
// files of Docker, Podman and Enroot and from AWS, and go only to the
// registry that they are for.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrNotFound is wrapped by errors about images that are not there.
var ErrNotFound = errors.New("not found")

// Options are how an image is looked for. The zero value works.
type Options struct {
	// Arch is the platform as Docker, Go or uname write it: arm64, aarch64,
	// linux/arm/v7. Empty is this machine's.
	Arch string
	// AuthFiles are files of credentials in Docker's or Podman's form, which go
	// before all others.
	AuthFiles []string
	// PlainHTTP allows registries without TLS. Registries of this machine and
	// of private addresses may always do without.
	PlainHTTP bool
	// TempDir keeps what local engines save, until the image is closed.
	TempDir string
	// RetryWait is the wait before the first retry, half a second if zero. Each
	// further wait is twice as long.
	RetryWait time.Duration
	// Stall is how long a download may give no byte before it is tried again, 30
	// seconds if zero.
	Stall time.Duration
	// Notice is told of what takes time or is odd. It may be nil.
	Notice func(string)
}

func (o Options) notice(format string, args ...any) {
	if o.Notice != nil {
		o.Notice(fmt.Sprintf(format, args...))
	}
}

func (o Options) retryWait() time.Duration {
	if o.RetryWait == 0 {
		return 500 * time.Millisecond
	}
	return o.RetryWait
}

func (o Options) stall() time.Duration {
	if o.Stall == 0 {
		return 30 * time.Second
	}
	return o.Stall
}

// Image is an image for one platform.
type Image struct {
	// Reference is where it came from, in full, without a user's name.
	Reference string
	// Digest is the manifest's, as sha256:HEX. An archive of docker save has no
	// manifest: then it is the configuration's, which Docker calls the image's ID.
	Digest string
	// ConfigDigest is the configuration's.
	ConfigDigest string
	// Config is the configuration, a JSON document.
	Config []byte
	// Platform is as Docker writes it: linux/amd64.
	Platform string
	// Layers are in order, the lowest first.
	Layers []Layer

	close func() error
}

// Close lets go of what the image's layers are read from.
func (i *Image) Close() error {
	if i.close == nil {
		return nil
	}
	return i.close()
}

// Layer is one layer of an image.
type Layer struct {
	// Digest is that of the bytes as they are stored, sha256:HEX.
	Digest string
	// DiffID is the digest of the tar stream in them, as the configuration has it.
	DiffID string
	// Size is the number of bytes as they are stored.
	Size int64
	// MediaType is as in the manifest.
	MediaType string

	open func(context.Context) (io.ReadCloser, error)
}

// Open starts to read a layer's bytes. It may be called many times, from many
// goroutines. The reader ends with an error when the context does.
func (l Layer) Open(ctx context.Context) (io.ReadCloser, error) { return l.open(ctx) }

// Open looks an image up. The layers are not read yet. The caller closes the
// image.
func Open(ctx context.Context, ref Ref, o Options) (*Image, error) {
	want, err := ParsePlatform(o.Arch)
	if err != nil {
		return nil, err
	}
	switch ref.Kind {
	case Registry:
		return openRegistry(ctx, ref, want, o)
	case Layout:
		return openFolder(ctx, ref, want)
	case Archive:
		return openArchive(ctx, ref, want)
	case Docker, Podman, Buildah:
		return openEngine(ctx, ref, want, o)
	}
	return nil, fmt.Errorf("no kind of source %d", ref.Kind)
}
