package main

import (
	"sync/atomic"
	"time"
	"unique"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
	"golang.org/x/sys/unix"
)

// described remembers what lists say of objects that are files, for which attributes were read: that was a quarter of a
// list's work. A file of another number, or that the kernel saw change, which it also does when an attribute changes, is
// read again, and so is one that may have changed without showing it.
//
// Files have places by their numbers. Two of the same place take turns there, so that it needs no more memory than this.
type described struct {
	places [describedMost]atomic.Pointer[description]
}

// describedMost is how many files are remembered, with 150 bytes for each.
const describedMost = 1 << 16

// description is what a list says of a file while it is the same.
type description struct {
	device, inode uint64
	changed       unix.Timespec
	modified      time.Time
	size          int64
	etag          string
	sum           unique.Handle[sumKind]
}

// sumKind is which checksum an object has.
type sumKind struct {
	algorithm types.ChecksumAlgorithm
	kind      types.ChecksumType
}

// reader reads what attributes say of an object.
type reader func(key string) (etag string, sum sumKind, err error)

// file describes an object that is a file. What is no file is skipped.
func (d *described) file(path, key string, now time.Time, read reader) (s3response.Object, error) {
	var at unix.Stat_t
	if err := lstat(path, &at); err != nil {
		return s3response.Object{}, err
	}
	if d == nil || at.Mode&unix.S_IFMT != unix.S_IFREG { // a link's time says nothing of what it leads to
		n, err := describe(&at, key, read)
		if err != nil {
			return s3response.Object{}, err
		}
		return n.object(key), nil
	}
	place := &d.places[uint64(at.Ino)%describedMost]
	if n := place.Load(); n != nil && n.of(&at) {
		return n.object(key), nil
	}
	n, err := describe(&at, key, read)
	if err != nil {
		return s3response.Object{}, err
	}
	var after unix.Stat_t
	if still(&at, now) && lstat(path, &after) == nil && n.of(&after) {
		place.Store(n)
	}
	return n.object(key), nil
}

// still says that a change after this moment will show in the file's time, on any file system.
func still(at *unix.Stat_t, now time.Time) bool {
	return now.Sub(time.Unix(at.Ctim.Unix())) > clocksTick
}

func lstat(path string, at *unix.Stat_t) error {
	for {
		if err := unix.Lstat(path, at); err != unix.EINTR {
			return skipped(err)
		}
	}
}

// skipped turns what says that an object went since its name was read to what has a list go on.
func skipped(err error) error {
	if gone(err) {
		return backend.ErrSkipObj
	}
	return err
}

func describe(at *unix.Stat_t, key string, read reader) (*description, error) {
	etag, sum, err := read(key)
	if err != nil {
		return nil, err
	}
	return &description{device: uint64(at.Dev), inode: uint64(at.Ino), changed: at.Ctim, modified: time.Unix(at.Mtim.Unix()),
		size: at.Size, etag: etag, sum: unique.Make(sum)}, nil
}

// of says that it is of this file as it is.
func (n *description) of(at *unix.Stat_t) bool {
	return n.inode == uint64(at.Ino) && n.device == uint64(at.Dev) && n.changed == at.Ctim && n.size == at.Size &&
		n.modified.Equal(time.Unix(at.Mtim.Unix()))
}

func (n *description) object(key string) s3response.Object {
	sum := n.sum.Value()
	return s3response.Object{Key: &key, ETag: &n.etag, Size: &n.size, LastModified: &n.modified, StorageClass: types.ObjectStorageClassStandard,
		ChecksumAlgorithm: []types.ChecksumAlgorithm{sum.algorithm}, ChecksumType: sum.kind}
}
