package store

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// accountKey is the KMSKey that S3 has in each account for itself: it is meant if none is named.
const accountKey = "aws/s3"

func (u Upload) encryption() types.ServerSideEncryption {
	if u.KMSKey == "" {
		return ""
	}
	return types.ServerSideEncryptionAwsKms
}

func (u Upload) keyID() *string {
	if u.KMSKey == "" || u.KMSKey == accountKey {
		return nil
	}
	return &u.KMSKey
}

// encrypted reads the answer to an upload: a place that knows no KMS answers as if nothing had been asked.
func (u Upload) encrypted(as types.ServerSideEncryption) error {
	if u.KMSKey == "" || as == types.ServerSideEncryptionAwsKms {
		return nil
	}
	return fmt.Errorf("%w: it is not encrypted with key %s of KMS", ErrIgnored, u.KMSKey)
}

// asAsked looks whether an object got the class of storage that was asked for. No answer to an upload says so: the first
// object of each class is looked at.
func (s *S3) asAsked(ctx context.Context, u Upload) error {
	if u.Class == "" {
		return nil
	}
	if got, known := s.classes.Load(u.Class); known {
		return u.classed(got.(string))
	}
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &u.Key})
	if err != nil {
		return err
	}
	got := string(out.StorageClass)
	if got == "" {
		got = string(types.StorageClassStandard) // S3 leaves it out of the answer
	}
	s.classes.Store(u.Class, got)
	return u.classed(got)
}

func (u Upload) classed(got string) error {
	if got == u.Class {
		return nil
	}
	return fmt.Errorf("%w: its class of storage is %s, not %s", ErrIgnored, got, u.Class)
}

// Classes are S3's classes of storage.
func Classes() []string {
	var names []string
	for _, c := range types.StorageClass("").Values() {
		names = append(names, string(c))
	}
	return names
}

// Asleep reports whether objects of a class cannot be read before they are restored.
func Asleep(class string) bool {
	return class == string(types.StorageClassGlacier) || class == string(types.StorageClassDeepArchive)
}
