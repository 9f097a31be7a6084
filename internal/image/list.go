package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/squashfs"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Image is an image's file.
type Image struct {
	Name      string    `json:"name"`
	Path      string    `json:"path"`
	SizeBytes int64     `json:"size_bytes"`
	Changed   time.Time `json:"changed"`
	// Compression is squashfs's name of it: zstd.
	Compression string `json:"compression,omitempty"`
	// Problem says why the file is no image.
	Problem string `json:"problem,omitempty"`
	// Meta is nil for files that others made. Its name is the one that the file had
	// when it was imported.
	*Meta
}

// List are the images of a directory, in the order of their names. A directory
// that is not there has none.
func List(dir string) ([]Image, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var all []Image
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || strings.HasPrefix(name, ".") || e.IsDir() {
			continue
		}
		i, err := read(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed meanwhile
		case err != nil:
			i.Problem = whole.Cause(err).Error()
		}
		all = append(all, i)
	}
	return all, nil
}

// Inspect reads what there is to know of an image, by its name in a directory or
// by its path. The error wraps fs.ErrNotExist if there is none.
func Inspect(dir, name string) (Image, error) {
	path := Path(dir, name)
	i, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return i, fmt.Errorf("there is no image %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return i, fmt.Errorf("read image %s: %w", path, whole.Cause(err))
	}
	return i, nil
}

func read(path string) (Image, error) {
	i := Image{Name: strings.TrimSuffix(filepath.Base(path), suffix), Path: path}
	info, err := os.Stat(path)
	if err != nil {
		return i, err
	}
	i.SizeBytes, i.Changed = info.Size(), info.ModTime()
	if !info.Mode().IsRegular() {
		return i, errors.New("it is no file")
	}
	// It may be something else by now, which is waited for or acts when it is opened.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return i, err
	}
	defer f.Close()
	fsys, err := squashfs.Probe(f)
	if err != nil && !errors.Is(err, squashfs.ErrCompression) {
		return i, err
	}
	i.Compression = fsys.Compression
	if fsys.BytesUsed > info.Size() {
		return i, fmt.Errorf("it is cut off: it has %d bytes of %d", info.Size(), fsys.BytesUsed)
	}
	m, found, err := readTrailer(f, info.Size())
	if found && err == nil {
		i.Meta = &m
	}
	return i, err
}

// Remove removes an image's file. Layers stay in the cache until it is pruned.
// The error wraps fs.ErrNotExist if there is none.
func Remove(ctx context.Context, dir, name string) error {
	path := Path(dir, name)
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf("there is no image %s: %w", path, whole.Cause(err))
	}
	unlock, err := lockImage(ctx, path, func() {})
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove image %s: %w", path, whole.Cause(err))
	}
	return nil
}
