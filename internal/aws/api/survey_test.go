package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/test/cloud"
	double "github.com/muster-hpc/muster/test/cloud/account"
)

const region = "us-east-2"

// open opens the double's account.
func open(t *testing.T, c *cloud.Cloud) *api.Account {
	t.Helper()
	for _, setting := range c.Env() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	a, err := api.Open(t.Context(), region)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// must fails the test for an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// things are what a test's account has.
type things struct{ subnet, private, group, address, key, secret, zone, snapshot, volume, template string }

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

func fill(t *testing.T, c *cloud.Cloud) things {
	t.Helper()
	ctx, e := t.Context(), ec2.NewFromConfig(c.Config())
	var x things
	vpc := must[*ec2.CreateVpcOutput](t)(e.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})).Vpc.VpcId
	net := func(cidr string) string {
		return *must[*ec2.CreateSubnetOutput](t)(e.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: vpc, CidrBlock: &cidr, AvailabilityZone: aws.String(region + "a")})).Subnet.SubnetId
	}
	x.subnet, x.private = net("10.9.0.0/24"), net("10.9.1.0/24")
	gateway := must[*ec2.CreateInternetGatewayOutput](t)(e.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})).InternetGateway.InternetGatewayId
	must[*ec2.AttachInternetGatewayOutput](t)(e.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{VpcId: vpc, InternetGatewayId: gateway}))
	table := must[*ec2.CreateRouteTableOutput](t)(e.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: vpc})).RouteTable.RouteTableId
	must[*ec2.CreateRouteOutput](t)(e.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: gateway}))
	must[*ec2.AssociateRouteTableOutput](t)(e.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: &x.subnet}))
	group := must[*ec2.CreateSecurityGroupOutput](t)(e.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: vpc, GroupName: aws.String("efa"), Description: aws.String("x")})).GroupId
	x.group = *group
	everything := []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: group}}}}
	must[*ec2.AuthorizeSecurityGroupIngressOutput](t)(e.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group, IpPermissions: everything}))
	x.address = *must[*ec2.AllocateAddressOutput](t)(e.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})).PublicIp
	must[*ec2.CreateKeyPairOutput](t)(e.CreateKeyPair(ctx, &ec2.CreateKeyPairInput{KeyName: aws.String("mine"), KeyType: types.KeyTypeEd25519}))
	must[*ec2.CreatePlacementGroupOutput](t)(e.CreatePlacementGroup(ctx, &ec2.CreatePlacementGroupInput{GroupName: aws.String("near"), Strategy: types.PlacementStrategyCluster}))
	x.volume = *must[*ec2.CreateVolumeOutput](t)(e.CreateVolume(ctx, &ec2.CreateVolumeInput{AvailabilityZone: aws.String(region + "a"), Size: aws.Int32(10)})).VolumeId
	x.snapshot = *must[*ec2.CreateSnapshotOutput](t)(e.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{VolumeId: &x.volume})).SnapshotId
	x.template = *must[*ec2.CreateLaunchTemplateOutput](t)(e.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("t"), LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "c5.large"},
	})).LaunchTemplate.LaunchTemplateId
	x.key = *must[*kms.CreateKeyOutput](t)(kms.NewFromConfig(c.Config()).CreateKey(ctx, &kms.CreateKeyInput{})).KeyMetadata.KeyId
	x.secret = *must[*secretsmanager.CreateSecretOutput](t)(secretsmanager.NewFromConfig(c.Config()).CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name: aws.String("munge"), SecretString: aws.String("never read"),
	})).ARN
	zone := must[*route53.CreateHostedZoneOutput](t)(route53.NewFromConfig(c.Config()).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("example.com"), CallerReference: aws.String("1")}))
	x.zone = strings.TrimPrefix(*zone.HostedZone.Id, "/hostedzone/")
	roles(t, c)
	objects(t, c)
	return x
}

// roles makes a role that allows little, in a profile of its own.
func roles(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	ctx, client := t.Context(), iam.NewFromConfig(c.Config())
	must[*iam.CreateRoleOutput](t)(client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("own"), AssumeRolePolicyDocument: aws.String(trust)}))
	must[*iam.PutRolePolicyOutput](t)(client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("own"), PolicyName: aws.String("p"), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*","logs:*","cloudwatch:*"],"Resource":"*"}]}`)}))
	must[*iam.CreateInstanceProfileOutput](t)(client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("own")}))
	must[*iam.AddRoleToInstanceProfileOutput](t)(client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("own"), RoleName: aws.String("own")}))
}

func objects(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	ctx := t.Context()
	var client *s3.Client
	for name, at := range map[string]string{"here": region, "abroad": "eu-west-1"} {
		config := c.Config()
		config.Region = at
		client = s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
		must[*s3.CreateBucketOutput](t)(client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(at),
		}}))
	}
	must[*s3.PutObjectOutput](t)(client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("here"), Key: aws.String("start.sh"), Body: strings.NewReader("#!/bin/sh\n")}))
}

const ownRole = "arn:aws:iam::" + cloud.Account + ":role/own"
const ownProfile = "arn:aws:iam::" + cloud.Account + ":instance-profile/own"

func (x things) wanted() inventory.Wanted {
	return inventory.Wanted{
		Region: region,
		Names: map[string][]string{
			"aws/subnet":          {x.subnet, x.private, "subnet-0123456789abcdef0"},
			"aws/security-group":  {x.group, "sg-0123456789abcdef0"},
			"aws/elastic-ip":      {x.address},
			"aws/placement-group": {"near", "far"},
			"aws/key-pair":        {"mine", "yours"},
			"aws/image":           {"ami-0123456789abcdef0"},
			"aws/instance-type":   {"c5.large", "p5.48xlarge"},
			"aws/reservation":     {"cr-0123456789abcdef0"},
			"aws/launch-template": {x.template, "lt-0123456789abcdef0"},
			"aws/file-system":     {x.volume, "fs-0123456789abcdef0"},
			"aws/snapshot":        {x.snapshot},
			"aws/kms-key":         {x.key, "0123abcd-0000-0000-0000-000000000000"},
			"aws/secret":          {x.secret, strings.Replace(x.secret, "munge", "gone", 1)},
			"aws/role":            {ownRole, ownProfile, ownRole + "2"},
			"aws/policy":          {"arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore", "arn:aws:iam::aws:policy/NoSuchPolicy"},
			"aws/bucket":          {"here", "abroad", "nowhere-at-all"},
			"aws/hosted-zone":     {x.zone, "Z0123456789ABCDEFGHI"},
			"aws/url":             {"s3://here/start.sh", "s3://here/gone.sh", "file:///x"},
		},
		Templates: []string{x.template + ":1", x.template + ":9", "lt-0123456789abcdef0:1"},

		Quotas:   []string{"P on-demand instances", "Standard spot instances"},
		Lustre:   []string{"PERSISTENT_2", "SCRATCH_2"},
		Official: inventory.Official{Level: "3.16", OS: "alinux2", Arches: []string{"amd64"}},
		Roles:    map[string][]string{ownRole: {"head"}, ownProfile: {"compute"}},
		Parts:    []string{"network", "fsx"},
	}
}

func names[T any](m map[string]T) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }

func TestSurvey(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region})
	x := fill(t, c)
	c.Account.SetQuota(double.Quota{Code: "L-417A185B", Value: 192})
	c.Account.DropQuota("L-34B43A08") // then AWS's own value is true
	c.Account.SetLustre("PERSISTENT_1", "PERSISTENT_2", "SCRATCH_2")
	i := must[inventory.Inventory](t)(open(t, c).Survey(t.Context(), x.wanted()))
	if len(i.Unasked) > 0 || len(i.Hidden) != 1 {
		t.Errorf("unasked: %v, hidden: %v", i.Unasked, i.Hidden)
	}
	if i.Account != cloud.Account || i.Region != region || i.Caller == "" {
		t.Errorf("asked as %s in %s of %s", i.Caller, i.Region, i.Account)
	}
	for what, got := range map[string][2]string{
		"subnets": {names(i.Subnets), names(map[string]int{x.subnet: 0, x.private: 0})}, "groups": {names(i.SecurityGroups), x.group},
		"key pairs": {names(i.KeyPairs), "mine"}, "images": {names(i.Images), ""}, "reservations": {names(i.Reservations), ""},
		"file systems": {names(i.FileSystems), x.volume}, "snapshots": {names(i.Snapshots), x.snapshot}, "buckets": {names(i.Buckets), "abroad here"},
		"zones": {names(i.HostedZones), x.zone}, "keys": {names(i.Others["aws/kms-key"]), x.key}, "secrets": {names(i.Others["aws/secret"]), x.secret},
		"roles": {names(i.Others["aws/role"]), ownProfile + " " + ownRole}, "policies": {names(i.Others["aws/policy"]), "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"},
		"scripts": {names(i.Others["aws/url"]), "s3://here/start.sh"}, "hidden": {names(i.Hidden["aws/url"]), "file:///x"},
		"templates": {names(i.Others["aws/launch-template"]), x.template}, "versions": {names(i.Templates), x.template + ":1"}, "lustre": {strings.Join(i.Lustre, " "), "PERSISTENT_1 PERSISTENT_2 SCRATCH_2"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %q, want %q", what, got[0], got[1])
		}
	}
	if s := i.Subnets[x.subnet]; !s.Routed || s.DNS || s.Zone != region+"a" || s.Free < 200 || i.Subnets[x.private].Routed {
		t.Errorf("subnets %+v", i.Subnets)
	}
	if g := i.SecurityGroups[x.group]; !g.SelfIn || g.SelfOut {
		t.Errorf("group %+v", g)
	}
	if i.PlacementGroups["near"].Strategy != "cluster" || i.KeyPairs["mine"].Type != "ed25519" || i.Buckets["abroad"].Region != "eu-west-1" || i.HostedZones[x.zone].Private {
		t.Errorf("%+v %+v %+v %+v", i.PlacementGroups, i.KeyPairs, i.Buckets, i.HostedZones)
	}
	if i.Quotas["P on-demand instances"] != 192 || i.Quotas["Standard spot instances"] != 5 || len(i.Offers["c5.large"]) == 0 {
		t.Errorf("quotas %v, offers %v", i.Quotas, i.Offers)
	}
	if !strings.Contains(i.Official["amd64"], "write Os: alinux2023") || len(i.Denied)+len(i.Narrow) > 0 {
		t.Errorf("official %v, denied %v, %v", i.Official, i.Denied, i.Narrow)
	}
	if i.Addresses[x.address].Allocation == "" || i.Addresses[i.Addresses[x.address].Allocation] != i.Addresses[x.address] {
		t.Errorf("addresses %+v", i.Addresses)
	}
	if got := i.ProfileRoles; len(got) != 1 || !slices.Equal(got[ownProfile], []string{ownRole}) {
		t.Errorf("roles of profiles %v", got)
	}
	if !slices.Contains(i.Lacks[ownRole], "ec2:RunInstances") || slices.Contains(i.Lacks[ownRole], "s3:GetObject") || len(i.Lacks[ownProfile]) > 0 {
		t.Errorf("lacks %v", i.Lacks)
	}
}

func TestSurvey_of_what_may_not_be_asked(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region})
	x := fill(t, c)
	for _, r := range []cloud.Rule{
		{Service: "ec2", Operation: "DescribeSubnets", Code: "UnauthorizedOperation"},
		{Service: "kms", Operation: "DescribeKey", Code: "AccessDeniedException"},
		{Service: "servicequotas", Operation: "GetServiceQuota", Code: "AccessDeniedException"},
		{Service: "iam", Operation: "SimulatePrincipalPolicy", Code: "AccessDenied"},
	} {
		r.Kind = cloud.Denied
		c.Fail(r)
	}
	c.Account.SetLustre()
	i := must[inventory.Inventory](t)(open(t, c).Survey(t.Context(), x.wanted()))
	for subject, want := range map[string]string{
		"aws/subnet": "UnauthorizedOperation on ec2:DescribeSubnets", "aws/quota": "AccessDeniedException on servicequotas:GetServiceQuota",
		"aws/rights": "AccessDenied on iam:SimulatePrincipalPolicy", "aws/lustre": "AWS's price list does not say it of PERSISTENT_2",
	} {
		if i.Unasked[subject] != want {
			t.Errorf("%s: %q, want %q", subject, i.Unasked[subject], want)
		}
	}
	if i.Hidden["aws/kms-key"][x.key] != "AccessDeniedException on kms:DescribeKey" || i.Hidden["aws/role-rights"][ownRole] == "" {
		t.Errorf("hidden %v", i.Hidden)
	}
}

func TestSurvey_of_rights(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region})
	c.Account.Deny("ec2:DescribeImages", "ec2:CreateSecurityGroup", "iam:CreateRole", "elasticfilesystem:CreateFileSystem")
	i := must[inventory.Inventory](t)(open(t, c).Survey(t.Context(), inventory.Wanted{}))
	if !slices.Equal(i.Denied, []string{"ec2:DescribeImages", "iam:CreateRole"}) || !slices.Equal(i.Narrow, []string{"ec2:CreateSecurityGroup"}) {
		t.Errorf("denied %v, narrow %v", i.Denied, i.Narrow)
	}
}

// TestSurvey_by_a_session asks with credentials of a role: what it may is the role's.
func TestSurvey_by_a_session(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region})
	roles(t, c)
	open(t, c)
	out := must[*sts.AssumeRoleOutput](t)(sts.NewFromConfig(c.Config()).AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(ownRole), RoleSessionName: aws.String("me")}))
	for name, value := range map[string]*string{
		"AWS_ACCESS_KEY_ID": out.Credentials.AccessKeyId, "AWS_SECRET_ACCESS_KEY": out.Credentials.SecretAccessKey, "AWS_SESSION_TOKEN": out.Credentials.SessionToken,
	} {
		t.Setenv(name, *value)
	}
	a := must[*api.Account](t)(api.Open(t.Context(), region))
	i := must[inventory.Inventory](t)(a.Survey(t.Context(), inventory.Wanted{}))
	if want := "arn:aws:sts::" + cloud.Account + ":assumed-role/own/me"; i.Caller != want {
		t.Fatalf("asked as %s, want %s", i.Caller, want)
	}
	if !slices.Contains(i.Denied, "ec2:DescribeInstances") || !slices.Contains(i.Denied, "iam:CreateRole") || !slices.Contains(i.Narrow, "ec2:CreateSecurityGroup") || slices.Contains(i.Narrow, "s3:PutObject") {
		t.Errorf("denied %v, narrow %v", i.Denied, i.Narrow)
	}
}

// TestSurvey_of_a_cluster_that_is_there holds that its own addresses are not held
// against it.
func TestSurvey_of_a_cluster_that_is_there(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region, Speed: 600})
	x, ctx, client := fill(t, c), t.Context(), ec2.NewFromConfig(c.Config())
	a := open(t, c)
	w := inventory.Wanted{Region: region, Names: map[string][]string{"aws/subnet": {x.private}}, Cluster: "mine"}
	before := must[inventory.Inventory](t)(a.Survey(ctx, w)).Subnets[x.private].Free
	images := must[*ec2.DescribeImagesOutput](t)(client.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}}))
	must[*ec2.RunInstancesOutput](t)(client.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: "c5.large", MinCount: aws.Int32(3), MaxCount: aws.Int32(3), SubnetId: &x.private,
		TagSpecifications: []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String(api.ClusterTag), Value: aws.String("mine")}}}},
	}))
	for cluster, want := range map[string]int{"mine": before, "other": before - 3} {
		w.Cluster = cluster
		i := must[inventory.Inventory](t)(a.Survey(ctx, w))
		if got := i.Subnets[x.private].Free; got != want {
			t.Errorf("%s: %d addresses, want %d", cluster, got, want)
		}
	}
}
