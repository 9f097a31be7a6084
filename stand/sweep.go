package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/versity/versitygw/backend/posix"
)

// staleUpload is the age at which a multipart upload that nobody completed is taken to be abandoned: its client may
// outlive this server, but not by a day.
const staleUpload = 24 * time.Hour

// strayLink is the name an object has for the moment in which it replaces another one. A server killed in that moment
// leaves it behind, and it would be listed as an object.
var strayLink = regexp.MustCompile(`^\..+\.sgwtmp\.[0-9]+$`)

// sweep removes what uploads left behind that were cut off before this server started. Only one server uses a root,
// so nothing older than started is in use, except multipart uploads.
func sweep(ctx context.Context, root string, started time.Time) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == posix.MetaTmpDir {
			if err := sweepTemporary(path, started); err != nil {
				return err
			}
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && strayLink.MatchString(d.Name()) {
			return removeOlder(path, started)
		}
		return nil
	})
}

// sweepTemporary clears one bucket's directory of unfinished uploads.
func sweepTemporary(dir string, started time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := removeOlder(filepath.Join(dir, e.Name()), started); err != nil {
			return err
		}
	}
	uploads, err := filepath.Glob(filepath.Join(dir, "multipart", "*", "*"))
	if err != nil {
		return err
	}
	for _, upload := range uploads {
		if err := removeOlder(upload, started.Add(-staleUpload)); err != nil {
			return err
		}
	}
	return nil
}

// removeOlder removes what was last changed before the limit.
func removeOlder(path string, limit time.Time) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.ModTime().Before(limit) {
		return err
	}
	return os.RemoveAll(path)
}
