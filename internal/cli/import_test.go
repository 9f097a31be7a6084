package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/test/cloud"
)

// theirTemplate is of the shape of ParallelCluster's: the parameters that it reads back
// itself, and a head node.
const theirTemplate = `{
  "Parameters": {
    "ClusterUser": {"Type": "String"}, "ResourcesS3Bucket": {"Type": "String"}, "ArtifactS3RootDirectory": {"Type": "String"},
    "Scheduler": {"Type": "String"}, "ConfigVersion": {"Type": "String"}, "Image": {"Type": "String"}, "Subnet": {"Type": "String"}
  },
  "Resources": {
    "HeadNode": {"Type": "AWS::EC2::Instance", "Properties": {
      "ImageId": {"Ref": "Image"}, "InstanceType": "c5.large", "SubnetId": {"Ref": "Subnet"},
      "Tags": [{"Key": "parallelcluster:cluster-name", "Value": "theirs"}, {"Key": "parallelcluster:node-type", "Value": "HeadNode"}]
    }}
  },
  "Outputs": {"HeadNodeInstanceID": {"Value": {"Ref": "HeadNode"}}}
}`

const theirConsole = `ci-info: nothing
-----BEGIN SSH HOST KEY KEYS-----
ecdsa-sha2-nistp256 AAAAE2VjZHNh root@ip-10-0-0-1
ssh-ed25519 AAAAC3NzaC1lZDI1 root@ip-10-0-0-1
-----END SSH HOST KEY KEYS-----
`

// theirCluster makes what ParallelCluster leaves in an account: a stack, the file in a
// bucket, a head node with its console and compute nodes.
func theirCluster(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	ctx, machines := t.Context(), ec2.NewFromConfig(c.Config())
	objects := s3.NewFromConfig(c.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	bucket := aws.String("parallelcluster-0123456789abcdef-v1-do-not-delete")
	images, err := machines.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}})
	if err == nil {
		_, err = objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(c.Region())}})
	}
	if err == nil {
		_, err = objects.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}})
	}
	subnets, err2 := machines.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	put := func(text string) *s3.PutObjectOutput {
		out, err := objects.PutObject(ctx, &s3.PutObjectInput{
			Bucket: bucket, Key: aws.String("parallelcluster/3.16.1/clusters/theirs-abc/configs/cluster-config.yaml"), Body: strings.NewReader(text),
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	deployed := put("Region: us-east-2\n# as it was deployed\n")
	put("Region: us-east-2\n# an update that failed\n")
	driver := cloudformation.New(c.Config())
	_, p, err := driver.Ensure(ctx, cloudformation.Stack{
		Name: "theirs", Template: []byte(theirTemplate),
		Tags: map[string]string{"parallelcluster:cluster-name": "theirs", "parallelcluster:version": "3.16.1"},
		Parameters: map[string]string{
			"ClusterUser": "ec2-user", "ResourcesS3Bucket": *bucket, "ArtifactS3RootDirectory": "parallelcluster/3.16.1/clusters/theirs-abc",
			"Scheduler": "slurm", "ConfigVersion": *deployed.VersionId, "Image": *images.Images[0].ImageId, "Subnet": *subnets.Subnets[0].SubnetId,
		},
	})
	if err != nil {
		t.Fatal(err, p)
	}
	state, err := driver.Describe(ctx, "theirs")
	if err != nil || state.Outputs["HeadNodeInstanceID"] == "" {
		t.Fatal(state, err)
	}
	c.EC2.SetConsole(state.Outputs["HeadNodeInstanceID"], theirConsole)
	tag := func(k, v string) types.Tag { return types.Tag{Key: &k, Value: &v} }
	if _, err := machines.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: "c5.xlarge", MinCount: aws.Int32(2), MaxCount: aws.Int32(2), SubnetId: subnets.Subnets[0].SubnetId,
		TagSpecifications: []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{
			tag("parallelcluster:cluster-name", "theirs"), tag("parallelcluster:node-type", "Compute"), tag("parallelcluster:queue-name", "gpu"),
		}}},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestImport runs the command line on a cluster that ParallelCluster could have made. In
// place of SSH stands a program that runs the command here, in another home directory.
func TestImport(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Speed: 600})
	theirCluster(t, c)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "adopted"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("MUSTER_HOME", e.WorkDir+"/home")
			e.Setenv("HOME", e.WorkDir+"/user")
			e.Setenv("REMOTE", e.WorkDir+"/remote")
			e.Setenv("PATH", e.WorkDir+"/bin:"+e.Getenv("PATH"))
			e.Setenv("TZ", "UTC")
			for _, setting := range c.Env() {
				name, value, _ := strings.Cut(setting, "=")
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "valid": valid},
	})
}

// valid FILE holds that a file is JSON.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if ok := json.Valid([]byte(ts.ReadFile(args[0]))); ok == neg {
		ts.Fatalf("%s is JSON: %v", args[0], ok)
	}
}
