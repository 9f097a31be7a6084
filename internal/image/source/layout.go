package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

func openFolder(ctx context.Context, ref Ref, want Platform) (*Image, error) {
	dir := ref.Path
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return openArchive(ctx, ref, want)
	} else if err != nil {
		return nil, fmt.Errorf("open %s: %w%s", dir, whole.Cause(err), meantTag(ref))
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		return nil, fmt.Errorf("%s is no OCI layout: it has no index.json", dir)
	}
	img, err := layoutImage(ctx, folder(dir), ref.Tag, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	img.Reference = ref.String()
	return img, nil
}

// meantTag is a hint for a path with an image's name behind it, which is taken as it is:
// files may have colons in their names.
func meantTag(ref Ref) string {
	dir, tag, found := strings.Cut(ref.Path, ":")
	if _, err := os.Stat(filepath.Join(dir, "index.json")); !found || ref.Tag != "" || err != nil {
		return ""
	}
	return fmt.Sprintf("; use oci:%s for %s in the OCI layout %s", ref.Path, tag, dir)
}

// layoutImage finds an image in the OCI image layout.
func layoutImage(ctx context.Context, files fileSet, tag string, want Platform) (*Image, error) {
	data, err := wholeFile(files, "index.json", maxManifest)
	if err != nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read index.json: %w", malformed(err))
	}
	entries, err := tagged(index.Manifests, tag)
	if err != nil {
		return nil, err
	}
	d, err := imageAmong(ctx, entries, want, func(ctx context.Context, d v1.Descriptor) (document, error) {
		data, err := smallBlob(ctx, d, maxManifest, layoutBlob(files))
		if err != nil {
			return document{}, fmt.Errorf("read its manifest: %w", malformed(err))
		}
		return newDocument(data, string(d.MediaType))
	})
	if err != nil {
		return nil, err
	}
	return newImage(ctx, d, want, layoutBlob(files))
}

// layoutBlob reads blobs of the layout, whose sizes must be right.
func layoutBlob(files fileSet) blobs {
	return func(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
		if !digestForm().MatchString(d.Digest.String()) {
			return nil, fmt.Errorf("the digest %s is not SHA-256", d.Digest)
		}
		r, size, err := files.open(blobName(d.Digest.String()))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no blob %s", d.Digest)
		}
		if err != nil {
			return nil, err
		}
		if size != d.Size {
			r.Close()
			return nil, fmt.Errorf("blob %s should have %d bytes and has %d", d.Digest, d.Size, size)
		}
		return r, nil
	}
}

// namesOf are the names that a layout knows an entry by.
func namesOf(d v1.Descriptor) []string {
	var names []string
	for _, key := range []string{"org.opencontainers.image.ref.name", "io.containerd.image.name"} {
		if n := d.Annotations[key]; n != "" {
			names = append(names, n)
		}
	}
	return names
}

// tagged are the entries of a layout with a name, or all if there is only one
// name and none is asked for.
func tagged(entries []v1.Descriptor, tag string) ([]v1.Descriptor, error) {
	var found []v1.Descriptor
	var names []string
	for _, d := range entries {
		has := namesOf(d)
		if len(has) > 0 && !slices.Contains(names, has[0]) {
			names = append(names, has[0])
		}
		if tag == "" || slices.ContainsFunc(has, func(n string) bool { return sameName(n, tag) }) {
			found = append(found, d)
		}
	}
	switch {
	case tag == "" && len(names) > 1:
		return nil, fmt.Errorf("it has several images: %s; say which, as oci:FOLDER:%s", strings.Join(names, ", "), names[0])
	case len(entries) == 0:
		return nil, errors.New("it has no image")
	case len(found) == 0:
		return nil, noImage(tag, names)
	}
	return found, nil
}

// noImage says which images there are instead of one that was asked for.
func noImage(tag string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("it has no image %s; there is none with a name: %w", tag, ErrNotFound)
	}
	return fmt.Errorf("it has no image %s; there is %s: %w", tag, strings.Join(names, ", "), ErrNotFound)
}

// sameName compares a user's name of an image with the archive's, which may
// be the longer form: docker.io/library/busybox:latest for busybox.
func sameName(full, asked string) bool {
	if full == asked {
		return true
	}
	a, errA := parseRegistry(full)
	b, errB := parseRegistry(asked)
	return errA == nil && errB == nil && a == b
}
