package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/s3response"
)

// object describes objects of a bucket for a list, as the library does, for less: there are no versions of objects, and
// of checksums a list says only which they are.
func (d durable) object(bucket string) backend.GetObjFunc {
	read, root := d.attributesOf(bucket), filepath.Join(d.root, bucket)+"/"
	return func(key string, e fs.DirEntry) (s3response.Object, error) {
		if e.IsDir() {
			return d.directory(bucket, key, e)
		}
		return d.described.file(root+key, key, time.Now(), read)
	}
}

// directory describes an object that is a directory, which few are.
func (d durable) directory(bucket, key string, e fs.DirEntry) (s3response.Object, error) {
	etag, err := d.attributes.RetrieveAttribute(nil, bucket, key, "etag")
	if errors.Is(err, meta.ErrNoSuchKey) {
		return s3response.Object{}, backend.ErrSkipObj
	}
	if err != nil {
		return s3response.Object{}, skipped(err)
	}
	info, err := e.Info()
	if err != nil {
		return s3response.Object{}, skipped(err)
	}
	version, size, modified := string(etag), int64(0), info.ModTime()
	return s3response.Object{Key: &key, ETag: &version, Size: &size, LastModified: &modified, StorageClass: types.ObjectStorageClassStandard}, nil
}

// attributesOf reads attributes of a bucket's objects that are files.
func (d durable) attributesOf(bucket string) reader {
	return func(key string) (string, sumKind, error) {
		etag, err := d.attributes.RetrieveAttribute(nil, bucket, key, "etag")
		if err != nil && !errors.Is(err, meta.ErrNoSuchKey) {
			return "", sumKind{}, skipped(err)
		}
		sums, err := d.attributes.RetrieveAttribute(nil, bucket, key, "checksums")
		if err != nil && !errors.Is(err, meta.ErrNoSuchKey) {
			return "", sumKind{}, backend.ErrSkipObj
		}
		kind := kindOf(sums)
		return string(etag), sumKind{kind.Algorithm, kind.Type}, nil
	}
}

// gone says that an object went since its name was read, or is a link that leads in a circle, and so to none.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// kindOf reads which checksum an object has, which the library writes first.
func kindOf(sums []byte) (kind s3response.Checksum) {
	rest, plain := bytes.CutPrefix(sums, []byte(`{"Algorithm":"`))
	algorithm, rest, also := bytes.Cut(rest, []byte(`","Type":"`))
	name, _, ends := bytes.Cut(rest, []byte(`"`))
	if plain && also && ends && bytes.IndexByte(algorithm, '"') < 0 {
		return s3response.Checksum{Algorithm: types.ChecksumAlgorithm(algorithm), Type: types.ChecksumType(name)}
	}
	if json.Unmarshal(sums, &kind) != nil {
		return s3response.Checksum{}
	}
	return kind
}

// entry is a file or a directory.
type entry struct {
	root, key string
	dir       bool
}

var _ fs.DirEntry = entry{}

func (e entry) Name() string               { return filepath.Base(e.key) }
func (e entry) IsDir() bool                { return e.dir }
func (e entry) Info() (fs.FileInfo, error) { return os.Lstat(filepath.Join(e.root, e.key)) }

// Type implements fs.DirEntry.
func (e entry) Type() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}
