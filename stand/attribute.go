package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		return meta.XattrMeta{}, nil
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
