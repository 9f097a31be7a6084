package source

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// fileSet is the files of a folder or of a tar file.
type fileSet interface {
	// open opens a file by its slash-separated path. Its error wraps
	// fs.ErrNotExist if there is none.
	open(name string) (io.ReadCloser, int64, error)
}

// folder is the files of a folder.
type folder string

func (f folder) open(name string) (io.ReadCloser, int64, error) {
	file, size, err := openFile(filepath.Join(string(f), filepath.FromSlash(name)))
	if err != nil {
		return nil, 0, err // not a nil file in an interface
	}
	return file, size, nil
}

// openFile opens a file that is to be read at any place. A pipe is none: it is refused
// at once, since a writer may never come.
func openFile(path string) (*os.File, int64, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no ordinary file")}
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// tarFiles is the files of a tar file that can be read at any place.
type tarFiles struct {
	file  *os.File
	parts map[string]part
}

// part is where a file's bytes are in a tar file, or which file it is a link to.
type part struct {
	at, size int64
	link     string
}

const maxParts = 100_000

// newTarFiles finds the files of a tar file.
func newTarFiles(file *os.File) (*tarFiles, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	t := &tarFiles{file: file, parts: map[string]part{}}
	r := tar.NewReader(file)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if len(t.parts) == maxParts {
			return nil, fmt.Errorf("it has more than %d files", maxParts)
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := file.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			t.parts[name] = part{at: at, size: h.Size}
		case tar.TypeSymlink:
			t.parts[name] = part{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			t.parts[name] = part{link: path.Clean(h.Linkname)}
		}
	}
}

func (t *tarFiles) open(name string) (io.ReadCloser, int64, error) {
	name = path.Clean(name)
	for range 8 {
		p, ok := t.parts[name]
		switch {
		case !ok:
			return nil, 0, fmt.Errorf("the archive has no file %s: %w", name, fs.ErrNotExist)
		case p.link == "":
			return io.NopCloser(io.NewSectionReader(t.file, p.at, p.size)), p.size, nil
		}
		name = p.link
	}
	return nil, 0, fmt.Errorf("the archive's link %s leads nowhere", name)
}

// wholeFile reads a small file.
func wholeFile(files fileSet, name string, limit int64) ([]byte, error) {
	r, _, err := files.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := readLimited(r, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// blobName is a blob's file in the OCI image layout. The digest has been checked.
func blobName(digest string) string {
	return "blobs/" + strings.Replace(digest, ":", "/", 1)
}
