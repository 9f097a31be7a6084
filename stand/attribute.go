package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"golang.org/x/sys/unix"
)

// attributes chooses where checksums and user metadata live: in the files' own extended attributes, which appear and
// vanish with the file, or, where the file system has none (tmpfs before Linux 6.6), in a directory beside the root.
func attributes(root string) (meta.MetadataStorer, error) {
	ok, err := extendedAttributes(root)
	if err != nil {
		return nil, fmt.Errorf("write below the root %s: %w", root, err)
	}
	if ok {
		return extended{}, nil
	}
	side := filepath.Join(filepath.Dir(root), "."+filepath.Base(root)+"-attributes")
	if err := os.MkdirAll(side, 0o700); err != nil {
		return nil, fmt.Errorf("make directory for attributes: %w", err)
	}
	return meta.NewSideCar(side)
}

// extendedAttributes tries one on a file below the root that has no name. It also proves that the root can be written.
func extendedAttributes(root string) (bool, error) {
	f, err := os.CreateTemp(root, ".probe-*")
	if err != nil {
		return false, errors.Unwrap(err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return false, err
	}
	err = unix.Fsetxattr(int(f.Fd()), "user.muster", []byte("1"), 0)
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EPERM) {
		return false, nil
	}
	return err == nil, err
}

// extended adds one thing to attributes of files: to look for one costs no memory. A list looks for many.
type extended struct{ meta.XattrMeta }

// RetrieveAttribute implements meta.MetadataStorer.
func (x extended) RetrieveAttribute(f *os.File, bucket, object, attribute string) ([]byte, error) {
	if f != nil {
		return x.XattrMeta.RetrieveAttribute(f, bucket, object, attribute)
	}
	var value [512]byte
	n, err := unix.Getxattr(filepath.Join(bucket, object), "user."+attribute, value[:])
	switch {
	case err == unix.ENODATA:
		return nil, meta.ErrNoSuchKey
	case err == unix.ERANGE:
		return x.XattrMeta.RetrieveAttribute(f, bucket, object, attribute)
	case err != nil:
		return nil, &fs.PathError{Op: "read attribute " + attribute + " of", Path: filepath.Join(bucket, object), Err: err}
	}
	return slices.Clone(value[:n]), nil
}
