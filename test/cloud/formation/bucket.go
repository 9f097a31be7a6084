package formation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func createBucket(ctx context.Context, j *job) error {
	name := text(j.props["BucketName"])
	if name == "" {
		name = strings.ToLower(j.generated(63))
	}
	in := &s3.CreateBucketInput{Bucket: &name}
	if j.aws.region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(j.aws.region)}
	}
	// A bucket that is ours already is no success for CloudFormation.
	if _, err := j.aws.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name}); err == nil {
		return reason("%s already exists", name)
	}
	if _, err := j.aws.s3.CreateBucket(ctx, in); err != nil {
		return err
	}
	j.id = name
	j.att["Arn"] = "arn:aws:s3:::" + name
	j.att["DomainName"] = name + ".s3.amazonaws.com"
	j.att["RegionalDomainName"] = name + ".s3." + j.aws.region + ".amazonaws.com"
	return updateBucket(ctx, j)
}

// updateBucket makes a call for each property that changed.
func updateBucket(ctx context.Context, j *job) error {
	for _, name := range slices.Sorted(maps.Keys(merged(j.old, j.props))) {
		if !j.changed(name) || name == "BucketName" || name == "Tags" {
			continue
		}
		if j.props[name] == nil {
			return reason("The double does not take %s away from a bucket", name)
		}
		if err := j.configure(ctx, name); err != nil {
			return err
		}
	}
	if tags := j.labels(); len(tags) > 0 && canon(tagValue(tags)) != canon(tagValue(labels(j.old, j.oldTags))) {
		var set []types.Tag
		for _, k := range slices.Sorted(maps.Keys(tags)) {
			set = append(set, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
		}
		_, err := j.aws.s3.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: &j.id, Tagging: &types.Tagging{TagSet: set}})
		return err
	}
	return nil
}

func (j *job) configure(ctx context.Context, name string) error {
	props, _ := j.props[name].(map[string]any)
	switch name {
	case "BucketEncryption":
		in := &s3.PutBucketEncryptionInput{Bucket: &j.id, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{}}
		err := fill(in.ServerSideEncryptionConfiguration, props, map[string]string{"ServerSideEncryptionConfiguration": "Rules",
			"ServerSideEncryptionConfiguration/ServerSideEncryptionByDefault": "ApplyServerSideEncryptionByDefault"})
		return steps(func() error { return err }, func() error { _, err := j.aws.s3.PutBucketEncryption(ctx, in); return err })
	case "PublicAccessBlockConfiguration":
		in := &s3.PutPublicAccessBlockInput{Bucket: &j.id, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{}}
		err := fill(in.PublicAccessBlockConfiguration, props, nil)
		return steps(func() error { return err }, func() error { _, err := j.aws.s3.PutPublicAccessBlock(ctx, in); return err })
	case "VersioningConfiguration":
		in := &s3.PutBucketVersioningInput{Bucket: &j.id, VersioningConfiguration: &types.VersioningConfiguration{}}
		err := fill(in.VersioningConfiguration, props, nil)
		return steps(func() error { return err }, func() error { _, err := j.aws.s3.PutBucketVersioning(ctx, in); return err })
	case "OwnershipControls":
		in := &s3.PutBucketOwnershipControlsInput{Bucket: &j.id, OwnershipControls: &types.OwnershipControls{}}
		err := fill(in.OwnershipControls, props, nil)
		return steps(func() error { return err }, func() error { _, err := j.aws.s3.PutBucketOwnershipControls(ctx, in); return err })
	case "LifecycleConfiguration":
		in := &s3.PutBucketLifecycleConfigurationInput{Bucket: &j.id, LifecycleConfiguration: &types.BucketLifecycleConfiguration{}}
		err := fill(in.LifecycleConfiguration, lifecycle(props), nil)
		return steps(func() error { return err }, func() error { _, err := j.aws.s3.PutBucketLifecycleConfiguration(ctx, in); return err })
	}
	return reason("The double does not set the %s of a bucket", name)
}

// lifecycle are rules as the API takes them: days of expiration and the prefix stand
// one level deeper there.
func lifecycle(props map[string]any) map[string]any {
	var rules []any
	for _, r := range ruleList(props, "Rules") {
		rule := without(r, "Id", "ExpirationInDays", "Prefix", "NoncurrentVersionExpirationInDays")
		rule["ID"] = r["Id"]
		rule["Filter"] = map[string]any{"Prefix": text(r["Prefix"])}
		if d := r["ExpirationInDays"]; d != nil {
			rule["Expiration"] = map[string]any{"Days": d}
		}
		if d := r["NoncurrentVersionExpirationInDays"]; d != nil {
			rule["NoncurrentVersionExpiration"] = map[string]any{"NoncurrentDays": d}
		}
		rules = append(rules, rule)
	}
	return map[string]any{"Rules": rules}
}

func removeBucket(ctx context.Context, j *job) error {
	// S3 refuses as long as there are objects, versions or markers of deletions.
	out, err := j.aws.s3.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &j.id, MaxKeys: aws.Int32(1)})
	if err == nil && len(out.Versions)+len(out.DeleteMarkers) > 0 {
		return reason("Resource handler returned message: \"The bucket you tried to delete is not empty. You must delete all versions in the bucket. (Service: S3, Status Code: 409, Request ID: %s)\" (RequestToken: %s, HandlerErrorCode: GeneralServiceException)", uuid(), uuid())
	}
	_, err = j.aws.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &j.id})
	return err
}

func putBucketPolicy(ctx context.Context, j *job) error {
	j.id = text(j.props["Bucket"])
	_, err := j.aws.s3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &j.id, Policy: aws.String(document(j.props["PolicyDocument"]))})
	return err
}

func removeBucketPolicy(ctx context.Context, j *job) error {
	_, err := j.aws.s3.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: &j.id})
	return err
}
