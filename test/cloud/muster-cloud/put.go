package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// put makes a bucket of the double's if it is missing, and puts a file into it. It
// speaks to the double from outside its network.
func put(ctx context.Context, dir, bucket, key, file string) error {
	env, err := readEnv(dir)
	if err != nil {
		return err
	}
	url := ""
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == outsideVariable {
			url = value
		}
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-2"), config.WithBaseEndpoint(url), config.WithCredentialsProvider(
		aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		})))
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
