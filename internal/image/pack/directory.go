package pack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Directory is a layer with the content of a directory, placed below a directory
// of the image. All of it belongs to root there. Sockets are left out.
func Directory(dir, below string) Layer {
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeDirectory(w, dir, below)) }()
	return Layer{ReadCloser: r, Origin: dir}
}

func writeDirectory(w io.Writer, dir, below string) error {
	t := tar.NewWriter(w)
	below = strings.Trim(filepath.ToSlash(filepath.Clean("/"+below)), "/")
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(below+"/"+path, "/")
		if path == "." {
			name = below
		}
		if name == "" || entry.Type()&fs.ModeSocket != 0 {
			return nil
		}
		return writeEntry(t, root, path, name)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	return t.Close()
}

func writeEntry(t *tar.Writer, root *os.Root, path, name string) error {
	info, err := root.Lstat(path)
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = root.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name, header.Uid, header.Gid, header.Uname, header.Gname = name, 0, 0, "root", "root"
	if info.IsDir() {
		header.Name += "/"
	}
	if err := t.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return copyFile(t, root, path)
}

func copyFile(t *tar.Writer, root *os.Root, path string) (err error) {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err = io.Copy(t, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
