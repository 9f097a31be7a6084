package main

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// publicKey is a key pair's public half, empty without a key pair.
func (b *bridge) publicKey(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	out, err := ec2.NewFromConfig(b.aws).DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{KeyNames: []string{name}, IncludePublicKey: aws.Bool(true)})
	if err != nil || len(out.KeyPairs) == 0 {
		return "", err
	}
	return strings.TrimSpace(aws.ToString(out.KeyPairs[0].PublicKey)), nil
}

// user is the default user of an image, by its name.
func (b *bridge) user(ctx context.Context, image string) string {
	name := ""
	out, err := ec2.NewFromConfig(b.aws).DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{image}})
	if err == nil && len(out.Images) > 0 {
		name = strings.ToLower(aws.ToString(out.Images[0].Name))
	}
	for _, user := range []string{"ubuntu", "rocky"} {
		if strings.Contains(name, user) {
			return user
		}
	}
	return "ec2-user"
}
