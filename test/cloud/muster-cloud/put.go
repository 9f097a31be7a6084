package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// put makes a bucket of the double's if it is missing, and puts a file into it. It
// speaks to the double from outside its network.
func put(ctx context.Context, dir, bucket, key, file string) error {
	cfg, err := outside(dir)
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "us-east-2"}})
	if err != nil && !errors.As(err, new(*types.BucketAlreadyOwnedByYou)) {
		return err
	}
	body, err := os.Open(file)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: body})
	return err
}
