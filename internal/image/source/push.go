package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Push copies the one image of an OCI layout folder, or of an archive of docker
// save, to a registry, where it gets the reference's tag. What is there already is
// not sent again. It returns the digest of the manifest.
func Push(ctx context.Context, path string, to Ref, o Options) (digest string, err error) {
	img, err := onlyImage(path)
	if err != nil {
		return "", fmt.Errorf("push %s: %w", path, err)
	}
	return PushImage(ctx, img, to, o)
}

// PushImage puts an image into a registry, where it gets the reference's tag when
// all of it is there. Its layers may be streams, which are read once. It returns
// the digest of the manifest.
func PushImage(ctx context.Context, img v1.Image, to Ref, o Options) (digest string, err error) {
	if to.Kind != Registry || to.Tag == "" {
		return "", fmt.Errorf("%s is no place in a registry", to)
	}
	var options []name.Option
	if o.PlainHTTP {
		options = append(options, name.Insecure)
	}
	tag, err := name.NewTag(to.Host+"/"+to.Repository+":"+to.Tag, options...)
	if err != nil {
		return "", err
	}
	auth, err := credentials(ctx, to, tag.Repository, o.AuthFiles)
	if err != nil {
		return "", err
	}
	if err := remote.Write(tag, img, remote.WithContext(ctx), remote.WithAuth(auth)); err != nil {
		return "", fmt.Errorf("push to %s: %w", to, (&client{ref: to, repo: tag.Repository, o: o}).explain(err))
	}
	h, err := img.Digest()
	return h.String(), err
}

func onlyImage(path string) (v1.Image, error) {
	if kindOfPath(path) == Archive {
		return tarball.ImageFromPath(path, nil)
	}
	index, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsImage() {
		return nil, errors.New("it has not exactly one image")
	}
	return index.Image(manifest.Manifests[0].Digest)
}
