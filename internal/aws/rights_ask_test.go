package aws_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/muster-hpc/muster/internal/aws/api"
	double "github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// identity is the ARN of the role or profile of a call, by the path with which it was
// made. Who puts a role into a profile passes it on.
func (a *asked) identity(c *wire.Call, name string) string {
	role, profile := c.Form.Get("RoleName"), c.Form.Get("InstanceProfileName")
	kind, of := "role", role
	if profile != "" {
		kind, of = "instance-profile", profile
	}
	a.mu.Lock()
	if path := c.Form.Get("Path"); path != "" {
		a.roles[kind+of] = "arn:aws:iam::" + double.Account + ":" + kind + path + of
	}
	arn, passed := a.roles[kind+of], a.roles["role"+role]
	a.mu.Unlock()
	if name == "AddRoleToInstanceProfile" {
		a.add(ask{Action: "iam:PassRole", Resource: passed})
		a.add(ask{Action: "iam:PassRole", Resource: passed, Service: "ec2.amazonaws.com"})
	}
	return arn
}

// tagged is the ARN of what a call ends, and whether it has a cluster's tag now.
func (a *asked) tagged(c *wire.Call) (arn string, has bool) {
	var in struct{ FileSystemId string }
	_ = json.Unmarshal(c.Body, &in) // others have it elsewhere
	id := in.FileSystemId
	for _, name := range []string{"InstanceId.1", "VolumeId"} {
		id += c.Form.Get(name)
	}
	if id == "" {
		id = path.Base(c.Request.URL.Path)
	}
	filter := taggingtypes.TagFilter{Key: sdk.String(api.ClusterTag)}
	pages := tagging.NewGetResourcesPaginator(a.tags, &tagging.GetResourcesInput{TagFilters: []taggingtypes.TagFilter{filter}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.Request.Context())
		if err != nil {
			return id, false
		}
		for _, r := range page.ResourceTagMappingList {
			if strings.HasSuffix(*r.ResourceARN, "/"+id) {
				return *r.ResourceARN, true
			}
		}
	}
	return id, false
}

// iamName is IAM's name of a call.
func iamName(c *wire.Call) string {
	service, name := c.Service, c.Operation()
	switch service {
	case "tagging":
		service = "tag"
	case "monitoring":
		service = "cloudwatch"
	case "s3":
		name = s3Name(name)
	}
	return service + ":" + name
}

// s3Name is IAM's name of an operation of S3.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
func s3Name(name string) string {
	for right, of := range map[string][]string{
		"ListBucket": {"HeadBucket", "ListObjects", "ListObjectsV2"}, "GetObject": {"HeadObject"}, "DeleteObject": {"DeleteObjects"},
		"ListBucketVersions": {"ListObjectVersions"}, "ListBucketMultipartUploads": {"ListMultipartUploads"},
		"PutBucketPublicAccessBlock": {"PutPublicAccessBlock"}, "PutEncryptionConfiguration": {"PutBucketEncryption"},
		"PutLifecycleConfiguration": {"PutBucketLifecycleConfiguration"}, "PutObject": {"UploadPart", "CreateMultipartUpload", "CompleteMultipartUpload"},
	} {
		if slices.Contains(of, name) {
			return right
		}
	}
	return name
}
