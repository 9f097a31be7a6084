package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
)

// durable adds one thing to the POSIX backend, which never syncs: an object is on the disk, its name included, before
// the client hears that it is stored.
type durable struct {
	*posix.Posix
	root string
}

var _ backend.Backend = durable{}

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
// client has removed meanwhile needs none of that.
func (d durable) sync(bucket, key string) error {
	top := filepath.Join(d.root, bucket)
	path := filepath.Join(top, key)
	for {
		err := syncPath(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
		if path == top {
			return nil
		}
		path = filepath.Dir(path)
	}
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}
