package cli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	fsxtypes "github.com/aws/aws-sdk-go-v2/service/fsx/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/test/cloud"
)

// TestUp_asks_AWS_once holds how often `up` calls which operation of AWS until it shows
// its plan and asks: for a file that leaves everything to muster, and for one that names
// what is there.
func TestUp_asks_AWS_once(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	c.Handle("s3", bucketPolicies{})
	before := 0
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "calls"),
		RequireExplicitExec: true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("MUSTER_HOME", e.WorkDir+"/home")
			for _, setting := range append(c.Env(), things(t, c)...) {
				name, value, _ := strings.Cut(setting, "=")
				e.Setenv(name, value)
			}
			before = len(c.Calls())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"expand": func(ts *testscript.TestScript, _ bool, args []string) {
				text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
			},
			"calls": func(ts *testscript.TestScript, _ bool, args []string) {
				all := c.Calls()
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(counted(all[before:])), 0o644))
				before = len(all)
			},
		},
	})
}

// counted says how often each operation was called from outside, and how often all were.
func counted(calls []cloud.Record) string {
	of, all := map[string]int{}, 0
	for _, r := range calls {
		if !r.Inner {
			of[r.Service+" "+r.Operation]++
			all++
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(&text, "%3d %s\n", of[name], name)
	}
	fmt.Fprintf(&text, "%3d calls\n", all)
	return text.String()
}

// things makes what a file can name, and says what each is called.
func things(t *testing.T, c *cloud.Cloud) []string {
	t.Helper()
	ctx, e, zone := t.Context(), ec2.NewFromConfig(c.Config()), aws.String(c.Region()+"a")
	vpc := made(e.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})).Vpc.VpcId
	made(e.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: vpc, EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)}}))
	subnet := made(e.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: vpc, CidrBlock: aws.String("10.9.0.0/24"), AvailabilityZone: zone})).Subnet.SubnetId
	address := made(e.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: ec2types.DomainTypeVpc})).PublicIp
	made(e.CreateKeyPair(ctx, &ec2.CreateKeyPairInput{KeyName: aws.String("mine"), KeyType: ec2types.KeyTypeEd25519}))
	template := made(e.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("t"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
		CpuOptions: &ec2types.LaunchTemplateCpuOptionsRequest{CoreCount: aws.Int32(1)},
	}})).LaunchTemplate.LaunchTemplateId
	images := made(e.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{"aws-parallelcluster-3.16.1-amzn2023-hvm-x86_64*"}}}}))
	reserved := made(e.CreateCapacityReservation(ctx, &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String("c5.large"), InstancePlatform: ec2types.CapacityReservationInstancePlatformLinuxUnix, AvailabilityZone: zone, InstanceCount: aws.Int32(4),
	})).CapacityReservation.CapacityReservationId
	volume := made(e.CreateVolume(ctx, &ec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(40)})).VolumeId
	files, lustre := efs.NewFromConfig(c.Config()), fsx.NewFromConfig(c.Config())
	share := made(files.CreateFileSystem(ctx, &efs.CreateFileSystemInput{CreationToken: aws.String("x")})).FileSystemId
	made(files.CreateMountTarget(ctx, &efs.CreateMountTargetInput{FileSystemId: share, SubnetId: subnet}))
	scratch := made(lustre.CreateFileSystem(ctx, &fsx.CreateFileSystemInput{
		FileSystemType: fsxtypes.FileSystemTypeLustre, StorageCapacity: aws.Int32(1200), SubnetIds: []string{*subnet},
		LustreConfiguration: &fsxtypes.CreateFileSystemLustreConfiguration{DeploymentType: fsxtypes.LustreDeploymentTypePersistent2, PerUnitStorageThroughput: aws.Int32(125)},
	})).FileSystem.FileSystemId
	c.Clock.Advance(time.Hour) // until it is there
	names := made(route53.NewFromConfig(c.Config()).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{
		Name: aws.String("example.com"), CallerReference: aws.String("1"), VPC: &route53types.VPC{VPCId: vpc, VPCRegion: route53types.VPCRegion(c.Region())},
		HostedZoneConfig: &route53types.HostedZoneConfig{PrivateZone: true},
	})).HostedZone.Id
	profile := ownProfile(t, c)
	return []string{
		"SUBNET=" + *subnet, "ADDRESS=" + *address, "TEMPLATE=" + *template, "IMAGE=" + *images.Images[0].ImageId, "RESERVATION=" + *reserved, "VOLUME=" + *volume,
		"EFS=" + *share, "LUSTRE=" + *scratch, "ZONE=" + strings.TrimPrefix(*names, "/hostedzone/"), "PROFILE=" + profile,
	}
}

// ownProfile is an instance profile with a role.
func ownProfile(t *testing.T, c *cloud.Cloud) string {
	t.Helper()
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	ctx, client, own := t.Context(), iam.NewFromConfig(c.Config()), aws.String("own")
	made(client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: own, AssumeRolePolicyDocument: aws.String(trust)}))
	profile := made(client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: own})).InstanceProfile.Arn
	made(client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: own, RoleName: own}))
	return *profile
}

// made is what a call has made: a double that cannot make it proves nothing.
func made[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
