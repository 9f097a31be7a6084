package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/muster-hpc/muster/internal/say/count"
)

// Limits on what is read whole into memory. Real manifests have some KiB; the
// largest configurations are those with long histories.
const (
	maxManifest = 4 << 20
	maxConfig   = 8 << 20
	maxIndexes  = 16
	maxLayers   = 1000
)

// document is a manifest or an index as it is stored.
type document struct {
	digest    string
	mediaType types.MediaType
	data      []byte
}

// newDocument finds out what kind of document the bytes are. Their own media type goes
// before said, that of the registry's answer, which may be anything.
func newDocument(data []byte, said string) (document, error) {
	var shape struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(data, &shape); err != nil {
		return document{}, fmt.Errorf("read its manifest: %w", malformed(err))
	}
	said, _, _ = strings.Cut(said, ";")
	d := document{digest: digestOf(data), mediaType: shape.MediaType, data: data}
	told := types.MediaType(said)
	switch {
	case d.mediaType != "":
	case shape.Manifests != nil:
		d.mediaType = types.OCIImageIndex
	case told.IsImage() || told.IsSchema1():
		d.mediaType = told
	default:
		d.mediaType = types.OCIManifestSchema1
	}
	if shape.SchemaVersion == 1 || d.mediaType.IsSchema1() {
		return document{}, errors.New("it has a manifest of schema 1, a format that Docker gave up in 2017; push it again with a newer Docker")
	}
	return d, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// documents gets a document that a descriptor names, with its digest checked.
type documents func(context.Context, v1.Descriptor) (document, error)

// imageOf follows indexes, which may be nested, to the image for a platform.
func imageOf(ctx context.Context, d document, want Platform, get documents) (document, error) {
	if !d.mediaType.IsIndex() {
		return d, nil
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(d.data))
	if err != nil {
		return d, fmt.Errorf("read its index: %w", malformed(err))
	}
	return imageAmong(ctx, index.Manifests, want, get)
}

// imageAmong is the image for a platform among those of an index.
func imageAmong(ctx context.Context, entries []v1.Descriptor, want Platform, get documents) (document, error) {
	indexes := 0
	all, err := leaves(ctx, entries, get, &indexes)
	if err != nil {
		return document{}, err
	}
	chosen, err := choose(want, all)
	if err != nil {
		return document{}, err
	}
	return get(ctx, chosen)
}

// leaves are the images of an index and of the indexes in it. seen counts these.
func leaves(ctx context.Context, entries []v1.Descriptor, get documents, seen *int) ([]v1.Descriptor, error) {
	var all []v1.Descriptor
	for _, m := range entries {
		if !m.MediaType.IsIndex() {
			if m.MediaType.IsImage() || m.MediaType == "" {
				all = append(all, m)
			}
			continue
		}
		if *seen++; *seen > maxIndexes {
			return nil, fmt.Errorf("it has more than %d indexes within each other", maxIndexes)
		}
		d, err := get(ctx, m)
		if err != nil {
			return nil, err
		}
		index, err := v1.ParseIndexManifest(bytes.NewReader(d.data))
		if err != nil {
			return nil, fmt.Errorf("read its index %s: %w", m.Digest, malformed(err))
		}
		below, err := leaves(ctx, index.Manifests, get, seen)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// blobs gets a blob that a descriptor names, unchecked.
type blobs func(context.Context, v1.Descriptor) (io.ReadCloser, error)

// newImage reads an image's configuration and makes its layers.
func newImage(ctx context.Context, d document, want Platform, get blobs) (*Image, error) {
	manifest, err := v1.ParseManifest(bytes.NewReader(d.data))
	if err != nil {
		return nil, fmt.Errorf("read its manifest: %w", malformed(err))
	}
	switch {
	case !d.mediaType.IsImage():
		return nil, fmt.Errorf("it is no image but %q", d.mediaType)
	case !manifest.Config.MediaType.IsConfig():
		return nil, fmt.Errorf("it is no image: its configuration is of type %q", manifest.Config.MediaType)
	}
	config, err := smallBlob(ctx, manifest.Config, maxConfig, get)
	if err != nil {
		return nil, fmt.Errorf("read its configuration: %w", err)
	}
	img := &Image{Digest: d.digest, ConfigDigest: manifest.Config.Digest.String()}
	diffs, err := img.configure(config, want)
	if err != nil {
		return nil, err
	}
	if len(diffs) != len(manifest.Layers) || len(diffs) > maxLayers {
		return nil, fmt.Errorf("its manifest has %s, its configuration %d (of at most %d)", count.Of(len(manifest.Layers), "layer"), len(diffs), maxLayers)
	}
	for i, l := range manifest.Layers {
		if err := checkLayer(l); err != nil {
			return nil, err
		}
		img.Layers = append(img.Layers, Layer{
			Digest:    l.Digest.String(),
			DiffID:    diffs[i],
			Size:      l.Size,
			MediaType: string(l.MediaType),
			open:      func(ctx context.Context) (io.ReadCloser, error) { return get(ctx, l) },
		})
	}
	return img, nil
}

// checkLayer refuses layers of unknown formats.
func checkLayer(l v1.Descriptor) error {
	switch {
	case !digestForm().MatchString(l.Digest.String()):
		return fmt.Errorf("the digest %s of a layer is not SHA-256", l.Digest)
	case l.Size < 0:
		return fmt.Errorf("layer %s has a negative size", l.Digest)
	case !l.MediaType.IsLayer():
		return fmt.Errorf("layer %s is of type %q; muster reads tar, plain, by gzip or by zstd", l.Digest, l.MediaType)
	}
	return nil
}

// configure takes over what the configuration says and returns the digests of
// the layers' tar streams.
func (i *Image) configure(config []byte, want Platform) ([]string, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, fmt.Errorf("read its configuration: %w", err)
	}
	i.Config = config
	have := Platform{OS: c.OS, Arch: c.Architecture, Variant: c.Variant}
	if have.Arch == "" {
		have.Arch = want.Arch
	}
	if have.OS == "linux" && have.Arch == want.Arch && want.Variant == "" {
		want.Variant = have.Variant // whatever the index chose
	}
	if rank(want, have) == 0 {
		return nil, otherPlatform(want, []string{have.String()})
	}
	i.Platform = have.String()
	var diffs []string
	for _, d := range c.RootFS.DiffIDs {
		if !digestForm().MatchString(d.String()) {
			return nil, fmt.Errorf("the digest %s of a layer's content is not SHA-256", d)
		}
		diffs = append(diffs, d.String())
	}
	return diffs, nil
}

// smallBlob reads a blob whole and checks it.
func smallBlob(ctx context.Context, d v1.Descriptor, limit int64, get blobs) ([]byte, error) {
	if d.Size > limit {
		return nil, fmt.Errorf("it says it has %d bytes; the limit is %d", d.Size, limit)
	}
	body, err := get(ctx, d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := readLimited(body, limit)
	if err != nil {
		return nil, err
	}
	if got := digestOf(data); got != d.Digest.String() {
		return nil, fmt.Errorf("its digest should be %s and is %s", d.Digest, got)
	}
	return data, nil
}

// readLimited reads all there is, and fails if that is more than the limit.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return data, err
}
