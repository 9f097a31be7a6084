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
	tags := j.labels()
	if set, unset := j.relabelled(); len(tags) == 0 || len(set)+len(unset) == 0 {
		return nil
	}
	return tell(ctx, j.aws.s3.PutBucketTagging, props{"Bucket": j.id, "Tagging": props{"TagSet": tagsOf(tags)}})
}

func (j *job) configure(ctx context.Context, name string) error {
	value, _ := j.props[name].(props)
	with := props{"Bucket": j.id, name: value}
	switch name {
	case "BucketEncryption":
		_, err := ask(ctx, j.aws.s3.PutBucketEncryption, with, map[string]string{name: "ServerSideEncryptionConfiguration",
			"BucketEncryption/ServerSideEncryptionConfiguration":                               "Rules",
			"BucketEncryption/ServerSideEncryptionConfiguration/ServerSideEncryptionByDefault": "ApplyServerSideEncryptionByDefault"})
		return err
	case "PublicAccessBlockConfiguration":
		return tell(ctx, j.aws.s3.PutPublicAccessBlock, with)
	case "VersioningConfiguration":
		return tell(ctx, j.aws.s3.PutBucketVersioning, with)
	case "OwnershipControls":
		return tell(ctx, j.aws.s3.PutBucketOwnershipControls, with)
	case "LifecycleConfiguration":
		with[name] = lifecycle(value)
		return tell(ctx, j.aws.s3.PutBucketLifecycleConfiguration, with)
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
	return tell(ctx, j.aws.s3.DeleteBucket, props{"Bucket": j.id})
}

func putBucketPolicy(ctx context.Context, j *job) error {
	j.id = text(j.props["Bucket"])
	return tell(ctx, j.aws.s3.PutBucketPolicy, props{"Bucket": j.id, "Policy": document(j.props["PolicyDocument"])})
}

func removeBucketPolicy(ctx context.Context, j *job) error {
	return tell(ctx, j.aws.s3.DeleteBucketPolicy, props{"Bucket": j.id})
}
