package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/s3response"
)

// object describes objects of a bucket for a list, as the library does, for less: there are no versions of objects, and
// of checksums a list says only which they are.
func (d durable) object(bucket string) backend.GetObjFunc {
	return func(key string, e fs.DirEntry) (s3response.Object, error) {
		version, err := d.attributes.RetrieveAttribute(nil, bucket, key, "etag")
		if gone(err) || e.IsDir() && errors.Is(err, meta.ErrNoSuchKey) {
			return s3response.Object{}, backend.ErrSkipObj
		}
		if err != nil && !errors.Is(err, meta.ErrNoSuchKey) {
			return s3response.Object{}, err
		}
		info, err := e.Info()
		if gone(err) {
			return s3response.Object{}, backend.ErrSkipObj
		}
		if err != nil {
			return s3response.Object{}, err
		}
		etag, size, modified := string(version), info.Size(), info.ModTime()
		o := s3response.Object{Key: &key, ETag: &etag, Size: &size, LastModified: &modified, StorageClass: types.ObjectStorageClassStandard}
		if e.IsDir() {
			size = 0
			return o, nil
		}
		sums, err := d.attributes.RetrieveAttribute(nil, bucket, key, "checksums")
		if err != nil && !errors.Is(err, meta.ErrNoSuchKey) {
			return o, backend.ErrSkipObj
		}
		kind := kindOf(sums)
		o.ChecksumAlgorithm, o.ChecksumType = []types.ChecksumAlgorithm{kind.Algorithm}, kind.Type
		return o, nil
	}
}

// gone says that an object went since its name was read.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

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
	path string
	dir  bool
}

var _ fs.DirEntry = entry{}

func (e entry) Name() string               { return filepath.Base(e.path) }
func (e entry) IsDir() bool                { return e.dir }
func (e entry) Info() (fs.FileInfo, error) { return os.Lstat(e.path) }

// Type implements fs.DirEntry.
func (e entry) Type() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}
