package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
	"golang.org/x/sys/unix"
)

// durable adds one thing to the POSIX backend, which never syncs: an object is on the disk, its name included, before
// the client hears that it is stored.
type durable struct {
	*posix.Posix
	root       string
	attributes meta.MetadataStorer
	folders    *folders
	described  *described              // nil where attributes are not the files' own
	write      func(path string) error // to the disk
	names      *turns                  // at writing directories: who puts objects into one at the same time shares that
}

var _ backend.Backend = durable{}

func newDurable(be *posix.Posix, attrs meta.MetadataStorer, root string, write func(string) error) durable {
	d := durable{Posix: be, root: root, attributes: attrs, folders: &folders{most: mostNames}, write: write, names: &turns{last: map[string]*turn{}}}
	d.names.deed = d.writeNames
	if _, own := attrs.(extended); own {
		d.described = &described{}
	}
	return d
}

func (d durable) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	out, err := d.Posix.PutObject(ctx, in)
	if err != nil {
		return out, err
	}
	return out, d.sync(*in.Bucket, *in.Key)
}

func (d durable) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	out, err := d.Posix.CopyObject(ctx, in)
	if err != nil {
		return out, err
	}
	return out, d.sync(*in.Bucket, *in.Key)
}

func (d durable) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	out, version, err := d.Posix.CompleteMultipartUpload(ctx, in)
	if err != nil {
		return out, version, err
	}
	return out, version, d.sync(*in.Bucket, *in.Key)
}

// sync writes an object's data and attributes to the disk, then the names that lead to it. An object that another
// client has removed meanwhile needs none of that. The object comes once it has its name: a file system without a
// journal keeps the number of a file's names in the file, and a file without one is none.
func (d durable) sync(bucket, key string) error {
	path := filepath.Join(d.root, bucket, key)
	err := d.write(path)
	if err == nil {
		err = d.names.take(filepath.Dir(path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// writeNames writes a directory and those above it, for all who wait for the same turn.
func (d durable) writeNames(dir string) error {
	if err := d.write(dir); err != nil || dir == d.root {
		return err
	}
	return d.names.take(filepath.Dir(dir))
}

// syncPath does without os.File, which asks the kernel five more questions.
func syncPath(path string) error {
	f, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = unix.Fsync(f)
	return errors.Join(err, unix.Close(f))
}
