package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3api/utils"
)

// makeBuckets makes those that are missing. A directory that exists is a bucket already.
func makeBuckets(ctx context.Context, be backend.Backend, o s3Options, owner string) error {
	for _, name := range o.Buckets {
		if !utils.IsValidBucketName(name) {
			return fmt.Errorf("make bucket %q: S3 does not allow this name", name)
		}
		_, err := os.Stat(filepath.Join(o.Root, name))
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make bucket %q: %w", name, err)
		}
		if err := makeBucket(ctx, be, name, owner); err != nil {
			return fmt.Errorf("make bucket %q: %w", name, err)
		}
	}
	return nil
}

func makeBucket(ctx context.Context, be backend.Backend, name, owner string) error {
	acl, err := json.Marshal(auth.ACL{Owner: owner})
	if err != nil {
		return err
	}
	return be.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket:                    &name,
		ObjectOwnership:           types.ObjectOwnershipBucketOwnerEnforced,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{},
	}, acl)
}
