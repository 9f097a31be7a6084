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
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

func openArchive(ctx context.Context, ref Ref, want Platform) (*Image, error) {
	if info, err := os.Stat(ref.Path); err == nil && info.IsDir() {
		return openFolder(ctx, ref, want)
	}
	file, _, err := openFile(ref.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", ref.Path, whole.Cause(err))
	}
	img, err := archiveImage(ctx, file, ref.Tag, want)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	img.Reference = ref.String()
	return img, nil
}

// archiveImage finds an image in a tar file, which the image then owns.
func archiveImage(ctx context.Context, file *os.File, tag string, want Platform) (*Image, error) {
	if err := plainTar(file); err != nil {
		return nil, err
	}
	files, err := newTarFiles(file)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	var img *Image
	_, layout := files.parts["index.json"]
	_, saved := files.parts["manifest.json"]
	switch {
	case layout:
		img, err = layoutImage(ctx, files, tag, want)
	case saved:
		img, err = savedImage(ctx, files, tag, want)
	default:
		err = errors.New("it has neither an index.json nor a manifest.json, so it is no image; `docker save`, `podman save` and `skopeo copy` make some")
	}
	if err != nil {
		return nil, err
	}
	img.close = file.Close
	return img, nil
}

// plainTar refuses compressed archives, which cannot be read at any place.
func plainTar(file *os.File) error {
	head := make([]byte, 6)
	if _, err := file.ReadAt(head, 0); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	if program := compression(head); program != "" {
		return fmt.Errorf("the archive is compressed; uncompress it with `%s -d` first", program)
	}
	return nil
}

// compression is the program that the first bytes of a file are from, or "".
func compression(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "gzip"
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd"
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return "xz"
	}
	return ""
}

// saved is an entry of the manifest.json of docker save.
type saved struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// savedImage finds an image in an archive of docker save.
func savedImage(ctx context.Context, files fileSet, tag string, want Platform) (*Image, error) {
	data, err := wholeFile(files, "manifest.json", maxManifest)
	if err != nil {
		return nil, err
	}
	var all []saved
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read manifest.json: %w", malformed(err))
	}
	chosen, err := chooseSaved(all, tag)
	if err != nil {
		return nil, err
	}
	config, err := wholeFile(files, chosen.Config, maxConfig)
	if err != nil {
		return nil, err
	}
	img := &Image{Digest: digestOf(config), ConfigDigest: digestOf(config)}
	diffs, err := img.configure(config, want)
	if err != nil {
		return nil, err
	}
	if len(diffs) != len(chosen.Layers) || len(diffs) > maxLayers {
		return nil, fmt.Errorf("its manifest has %s, its configuration %d (of at most %d)", count.Of(len(chosen.Layers), "layer"), len(diffs), maxLayers)
	}
	for i, name := range chosen.Layers {
		l, err := savedLayer(ctx, files, name, diffs[i])
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", name, err)
		}
		img.Layers = append(img.Layers, l)
	}
	return img, nil
}

func chooseSaved(all []saved, tag string) (saved, error) {
	var names []string
	for _, s := range all {
		names = append(names, s.RepoTags...)
		if tag != "" && slices.ContainsFunc(s.RepoTags, func(n string) bool { return sameName(n, tag) }) {
			return s, nil
		}
	}
	switch {
	case len(all) == 0:
		return saved{}, errors.New("it has no image")
	case tag != "":
		return saved{}, noImage(tag, names)
	case len(all) > 1:
		return saved{}, fmt.Errorf("it has several images: %s; say which, as docker-archive:FILE:IMAGE", strings.Join(names, ", "))
	}
	return all[0], nil
}

// savedLayer is a layer of docker save, which is mostly a plain tar file, whose
// digest is then known from the configuration.
func savedLayer(ctx context.Context, files fileSet, name, diffID string) (Layer, error) {
	r, size, err := files.open(name)
	if err != nil {
		return Layer{}, err
	}
	defer r.Close()
	l := Layer{Digest: diffID, DiffID: diffID, Size: size, MediaType: string(types.DockerUncompressedLayer)}
	l.open = func(context.Context) (io.ReadCloser, error) {
		r, _, err := files.open(name)
		return r, err
	}
	head := make([]byte, 6)
	if _, err := io.ReadFull(r, head); err != nil {
		return Layer{}, err
	}
	if compression(head) == "" {
		return l, nil
	}
	h := sha256.New()
	h.Write(head)
	if _, err := io.Copy(h, contextReader{ctx, r}); err != nil {
		return Layer{}, err
	}
	l.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	l.MediaType = string(types.DockerLayer)
	return l, nil
}

// contextReader reads until its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
