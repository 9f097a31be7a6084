package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ImportKey makes a key pair of a public key, unless there is one of that name.
func (a *Account) ImportKey(ctx context.Context, name, cluster string, public []byte) error {
	_, err := a.ec2().ImportKeyPair(ctx, &ec2.ImportKeyPairInput{
		KeyName: &name, PublicKeyMaterial: public,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeKeyPair, Tags: []types.Tag{{Key: aws.String(ClusterTag), Value: &cluster}}}},
	})
	if err != nil && code(err) != "InvalidKeyPair.Duplicate" {
		return failed(err, "import your public key as %s", name)
	}
	return nil
}

// DeleteKey deletes a key pair. One that is not there is gone.
func (a *Account) DeleteKey(ctx context.Context, name string) error {
	if _, err := a.ec2().DeleteKeyPair(ctx, &ec2.DeleteKeyPairInput{KeyName: &name}); err != nil && code(err) != "InvalidKeyPair.NotFound" {
		return failed(err, "delete the key pair %s", name)
	}
	return nil
}
