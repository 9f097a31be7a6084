package ec2_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/ec2"
)

// account is a double with a network to launch in.
type account struct {
	*cloud.Cloud
	*sdk.Client
	vpc, subnet, group, image string
}

const zone = "us-east-2a"

func start(t *testing.T, opts cloud.Options) *account {
	t.Helper()
	c := cloud.Start(t, opts)
	config := c.Config()
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	a := &account{Cloud: c, Client: sdk.NewFromConfig(config)}
	a.network(t, "10.7.0.0/16", "10.7.0.0/20")
	return a
}

func (a *account) network(t *testing.T, whole, part string) {
	t.Helper()
	vpc, err := a.CreateVpc(t.Context(), &sdk.CreateVpcInput{CidrBlock: &whole})
	if err != nil {
		t.Fatal(err)
	}
	a.vpc = *vpc.Vpc.VpcId
	subnet, err := a.CreateSubnet(t.Context(), &sdk.CreateSubnetInput{VpcId: &a.vpc, CidrBlock: &part, AvailabilityZone: aws.String(zone)})
	if err != nil {
		t.Fatal(err)
	}
	a.subnet = *subnet.Subnet.SubnetId
	group, err := a.CreateSecurityGroup(t.Context(), &sdk.CreateSecurityGroupInput{VpcId: &a.vpc, GroupName: aws.String("nodes"), Description: aws.String("nodes")})
	if err != nil {
		t.Fatal(err)
	}
	a.group = *group.GroupId
	images, err := a.DescribeImages(t.Context(), &sdk.DescribeImagesInput{
		Filters: []types.Filter{{Name: aws.String("name"), Values: []string{"aws-parallelcluster-3.16.1-amzn2023-hvm-x86_64*"}}},
	})
	if err != nil || len(images.Images) != 1 {
		t.Fatalf("images %v, %v", images, err)
	}
	a.image = *images.Images[0].ImageId
}

// template makes a launch template of p5e machines with 33 interfaces, as
// ParallelCluster makes them: a plain one, and one for EFA only on each card.
func (a *account) template(t *testing.T, name string) {
	t.Helper()
	cards := []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
		DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), SubnetId: &a.subnet, Groups: []string{a.group}, InterfaceType: aws.String("interface"),
	}}
	for n := range 32 {
		cards = append(cards, types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(int32(n)), SubnetId: &a.subnet, Groups: []string{a.group}, InterfaceType: aws.String("efa-only"),
		})
	}
	data := &types.RequestLaunchTemplateData{
		ImageId: &a.image, InstanceType: types.InstanceTypeP5e48xlarge, NetworkInterfaces: cards, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh"))),
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: types.LaunchTemplateHttpTokensStateRequired},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("muster:cluster"), Value: aws.String("c")}, {Key: aws.String("muster:queue"), Value: aws.String("q")}}},
			{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("muster:cluster"), Value: aws.String("c")}}},
		},
		BlockDeviceMappings:               []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(80), Encrypted: aws.Bool(true)}}},
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
	}
	if _, err := a.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data}); err != nil {
		t.Fatal(err)
	}
}

// small asks for some small machines.
func (a *account) small(least, most int32) *sdk.RunInstancesInput {
	return &sdk.RunInstancesInput{
		MinCount: &least, MaxCount: &most, ImageId: &a.image, InstanceType: types.InstanceTypeC5Large, SubnetId: &a.subnet, SecurityGroupIds: []string{a.group},
	}
}

func (a *account) run(t *testing.T, in *sdk.RunInstancesInput) []types.Instance {
	t.Helper()
	out, err := a.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Instances
}

func (a *account) describe(t *testing.T, in *sdk.DescribeInstancesInput) []types.Instance {
	t.Helper()
	out, err := a.DescribeInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return flat(out)
}

func flat(out *sdk.DescribeInstancesOutput) []types.Instance {
	var all []types.Instance
	for _, r := range out.Reservations {
		all = append(all, r.Instances...)
	}
	return all
}

func where(name string, values ...string) []types.Filter {
	return []types.Filter{{Name: &name, Values: values}}
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return fmt.Sprint(err)
}

func tagsOf(i types.Instance) map[string]string {
	tags := map[string]string{}
	for _, t := range i.Tags {
		tags[*t.Key] = *t.Value
	}
	return tags
}

func TestLaunchFromATemplate(t *testing.T) {
	var born []ec2.Instance
	a := start(t, cloud.Options{EC2: ec2.Options{OnLaunch: func(i ec2.Instance) { born = append(born, i) }}})
	a.template(t, "c-q-r")
	made := a.run(t, &sdk.RunInstancesInput{
		MinCount: aws.Int32(2), MaxCount: aws.Int32(2), ClientToken: aws.String("token"),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("c-q-r"), Version: aws.String("$Latest")},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{
			{Key: aws.String("muster:launch"), Value: aws.String("token")}, {Key: aws.String("muster:queue"), Value: aws.String("other")},
		}}},
	})
	if len(made) != 2 || len(born) != 2 {
		t.Fatalf("%d instances, %d of them were told of", len(made), len(born))
	}
	i := made[1]
	if got := *i.AmiLaunchIndex; got != 1 {
		t.Errorf("launch index %d", got)
	}
	if i.State.Name != types.InstanceStateNamePending || *i.InstanceId != born[1].ID || string(born[1].UserData) != "#!/bin/sh" || !born[1].TokensRequired {
		t.Errorf("%+v was told as %+v", i, born[1])
	}
	// Tags of a call take the place of the template's.
	if got := tagsOf(i); len(got) != 2 || got["muster:queue"] != "other" || got["muster:launch"] != "token" {
		t.Errorf("tags %v", got)
	}
	kinds, addresses, last := map[string]int{}, 0, int32(0)
	for _, n := range i.NetworkInterfaces {
		kinds[*n.InterfaceType]++
		last = *n.Attachment.NetworkCardIndex
		if n.PrivateIpAddress != nil {
			addresses++
		}
	}
	if kinds["interface"] != 1 || kinds["efa-only"] != 32 || addresses != 1 || last != 31 {
		t.Errorf("interfaces %v, %d with an address, last on card %d", kinds, addresses, last)
	}
	if *i.PrivateIpAddress == *made[0].PrivateIpAddress || *i.SubnetId != a.subnet || *i.VpcId != a.vpc || i.MetadataOptions.HttpTokens != types.HttpTokensStateRequired {
		t.Errorf("instance %+v", i)
	}
	volumes, err := a.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{})
	if err != nil || len(volumes.Volumes) != 2 || len(volumes.Volumes[0].Tags) > 0 || *volumes.Volumes[0].Size != 80 || !*volumes.Volumes[0].Encrypted {
		t.Errorf("volumes %v, %v", volumes, err)
	}
}

func TestLife(t *testing.T) {
	var gone []string
	a := start(t, cloud.Options{Speed: 1, EC2: ec2.Options{OnTerminate: func(i ec2.Instance) { gone = append(gone, i.ID) }}})
	id := *a.run(t, a.small(1, 1))[0].InstanceId
	state := func() types.InstanceStateName {
		found := a.describe(t, &sdk.DescribeInstancesInput{Filters: where("instance-id", id)})
		if len(found) == 0 {
			return ""
		}
		return found[0].State.Name
	}
	steps := []struct {
		after time.Duration
		act   func()
		want  types.InstanceStateName
	}{
		{0, nil, "pending"},
		{6 * time.Second, nil, "running"},
		{0, func() {
			out, err := a.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}})
			if err != nil || out.TerminatingInstances[0].PreviousState.Name != "running" || out.TerminatingInstances[0].CurrentState.Name != "shutting-down" {
				t.Errorf("terminate: %v, %v", out, err)
			}
		}, "shutting-down"},
		{0, func() {
			if _, err := a.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
				t.Errorf("twice: %v", err)
			}
		}, "shutting-down"},
		{21 * time.Second, nil, "terminated"},
		{2 * time.Hour, nil, ""},
	}
	for n, s := range steps {
		a.Clock.Advance(s.after)
		if s.act != nil {
			s.act()
		}
		if got := state(); got != s.want {
			t.Fatalf("step %d: %q, want %q", n, got, s.want)
		}
	}
	if len(gone) != 1 || gone[0] != id {
		t.Errorf("told of the end of %v", gone)
	}
	if _, err := a.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("terminate what is forgotten: %v", err)
	}
}

func TestTokens(t *testing.T) {
	a := start(t, cloud.Options{})
	in := a.small(1, 3)
	in.ClientToken = aws.String("once")
	first := a.run(t, in)
	again := a.run(t, in)
	if len(first) != 3 || len(again) != 3 || *first[2].InstanceId != *again[2].InstanceId {
		t.Errorf("%d instances, then %d", len(first), len(again))
	}
	in.MaxCount = aws.Int32(4)
	if _, err := a.RunInstances(t.Context(), in); code(err) != "IdempotentParameterMismatch" {
		t.Errorf("other parameters: %v", err)
	}
	in.MaxCount = aws.Int32(3)
	a.EC2.Kill(*first[0].InstanceId)
	if again := a.run(t, in); again[0].State.Name == types.InstanceStateNamePending || len(again) != 3 {
		t.Errorf("after one has ended: %s", again[0].State.Name)
	}
	in.DryRun = aws.Bool(true)
	if _, err := a.RunInstances(t.Context(), in); code(err) != "DryRunOperation" {
		t.Errorf("dry run: %v", err)
	}
	if got := len(a.EC2.Instances()); got != 2 {
		t.Errorf("%d instances", got)
	}
}

func TestRefusals(t *testing.T) {
	a := start(t, cloud.Options{})
	cards := []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &a.subnet}}
	tests := []struct {
		name, code string
		change     func(*sdk.RunInstancesInput)
	}{
		{"no_such_image", "InvalidAMIID.NotFound", func(in *sdk.RunInstancesInput) { in.ImageId = aws.String("ami-00000000000000001") }},
		{"no_such_type", "InvalidParameterValue", func(in *sdk.RunInstancesInput) { in.InstanceType = "p99.huge" }},
		{"no_such_subnet", "InvalidSubnetID.NotFound", func(in *sdk.RunInstancesInput) { in.SubnetId = aws.String("subnet-00000000000000001") }},
		{"no_such_group", "InvalidGroup.NotFound", func(in *sdk.RunInstancesInput) { in.SecurityGroupIds = []string{"sg-00000000000000001"} }},
		{"no_such_key", "InvalidKeyPair.NotFound", func(in *sdk.RunInstancesInput) { in.KeyName = aws.String("nobody") }},
		{"other_architecture", "InvalidParameterValue", func(in *sdk.RunInstancesInput) { in.InstanceType = "c7g.large" }},
		{"no_such_placement_group", "InvalidPlacementGroup.Unknown", func(in *sdk.RunInstancesInput) { in.Placement = &types.Placement{GroupName: aws.String("nobody")} }},
		{"subnet_twice", "InvalidParameterCombination", func(in *sdk.RunInstancesInput) { in.NetworkInterfaces = cards }},
		{"efa_on_a_small_type", "InvalidParameterCombination", func(in *sdk.RunInstancesInput) {
			in.SubnetId, in.SecurityGroupIds = nil, nil
			in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &a.subnet, InterfaceType: aws.String("efa")}}
		}},
		{"long_tag", "InvalidParameterValue", func(in *sdk.RunInstancesInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String(fmt.Sprintf("%257d", 1))}}}}
		}},
		{"no_such_template", "InvalidLaunchTemplateName.NotFoundException", func(in *sdk.RunInstancesInput) {
			in.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nobody")}
		}},
		{"no_such_reservation", "InvalidCapacityReservationId.NotFound", func(in *sdk.RunInstancesInput) {
			in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-00000000000000001")}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := a.small(1, 1)
			tt.change(in)
			if _, err := a.RunInstances(t.Context(), in); code(err) != tt.code {
				t.Errorf("got %v, want %s", err, tt.code)
			}
		})
	}
	if got := a.EC2.Instances(); len(got) != 0 {
		t.Errorf("%d instances of refused launches", len(got))
	}
}
