package ec2_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/ec2"
)

func TestPagesAndFilters(t *testing.T) {
	a := start(t, cloud.Options{})
	var ids []string
	for range 2 {
		for _, i := range a.run(t, a.small(6, 6)) {
			ids = append(ids, *i.InstanceId)
		}
	}
	tag := []types.Tag{{Key: aws.String("muster:cluster"), Value: aws.String("c")}}
	if _, err := a.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: ids[3:9], Tags: tag}); err != nil {
		t.Fatal(err)
	}
	var got []string
	pages := 0
	for p := sdk.NewDescribeInstancesPaginator(a, &sdk.DescribeInstancesInput{MaxResults: aws.Int32(5)}); p.HasMorePages(); pages++ {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range flat(out) {
			got = append(got, *i.InstanceId)
		}
		if pages == 0 {
			a.EC2.Kill(got[0]) // what goes in between moves nothing
		}
	}
	if pages != 3 || !slices.Equal(got, ids) {
		t.Errorf("%d pages of %v, want %v", pages, got, ids)
	}
	tests := []struct {
		filters []types.Filter
		want    int
	}{
		{where("tag:muster:cluster", "c"), 6},
		{where("tag:muster:cluster", "d", "?"), 6},
		{where("tag:muster:cluster", "d"), 0},
		{where("tag-key", "muster:*"), 6},
		{where("instance-state-name", "pending", "running"), 11},
		{where("instance-type", "c5.*"), 12},
		{where("subnet-id", a.subnet), 12},
		{where("vpc-id", "vpc-1"), 0},
		{where("launch-index", "0"), 2},
		{append(where("tag:muster:cluster", "c"), where("launch-index", "0")...), 1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(*tt.filters[0].Name, tt.filters[0].Values), func(t *testing.T) {
			if got := a.describe(t, &sdk.DescribeInstancesInput{Filters: tt.filters}); len(got) != tt.want {
				t.Errorf("%d instances, want %d", len(got), tt.want)
			}
		})
	}
	for name, in := range map[string]*sdk.DescribeInstancesInput{
		"InvalidInstanceID.NotFound":  {InstanceIds: []string{ids[0], "i-00000000000000001"}},
		"InvalidInstanceID.Malformed": {InstanceIds: []string{"me"}},
		"InvalidParameterCombination": {InstanceIds: ids[:1], MaxResults: aws.Int32(5)},
		"InvalidParameterValue":       {MaxResults: aws.Int32(4)},
		"InvalidNextToken":            {MaxResults: aws.Int32(5), NextToken: aws.String("?")},
	} {
		if _, err := a.DescribeInstances(t.Context(), in); code(err) != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestAFilterThatNobodyKnowsFails(t *testing.T) {
	missing := ""
	a := start(t, cloud.Options{Missing: func(_, operation, why string) { missing = operation + ": " + why }})
	_, err := a.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{Filters: where("hypervisor", "xen")})
	if code(err) != "NotImplemented" || missing != "DescribeInstances: the double knows no filter hypervisor" {
		t.Errorf("missing %q, %v", missing, err)
	}
}

func TestTags(t *testing.T) {
	a := start(t, cloud.Options{})
	id := *a.run(t, a.small(1, 1))[0].InstanceId
	tags := []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("")}}
	if _, err := a.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id, a.subnet}, Tags: tags}); err != nil {
		t.Fatal(err)
	}
	out, err := a.DescribeTags(t.Context(), &sdk.DescribeTagsInput{Filters: where("resource-id", id, a.subnet)})
	if err != nil || len(out.Tags) != 4 {
		t.Errorf("tags of an instance and of a subnet: %v, %v", out, err)
	}
	if _, err := a.DeleteTags(t.Context(), &sdk.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("2")}, {Key: aws.String("b")}}}); err != nil {
		t.Fatal(err)
	}
	if got := tagsOf(a.describe(t, &sdk.DescribeInstancesInput{InstanceIds: []string{id}})[0]); len(got) != 1 || got["a"] != "1" {
		t.Errorf("tags %v", got)
	}
	for value, tag := range map[string]types.Tag{
		"reserved": {Key: aws.String("aws:x"), Value: aws.String("")},
		"long":     {Key: aws.String("x"), Value: aws.String(fmt.Sprintf("%257d", 1))},
	} {
		if _, err := a.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{tag}}); code(err) != "InvalidParameterValue" {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestStatus(t *testing.T) {
	a := start(t, cloud.Options{Speed: 1})
	made := a.run(t, a.small(3, 3))
	a.Clock.Advance(10 * time.Minute)
	a.EC2.Impair(*made[0].InstanceId, false)
	when := a.Clock.Now().Add(48 * time.Hour).Truncate(time.Second).UTC()
	a.EC2.Schedule(*made[1].InstanceId, ec2.Event{Code: "instance-retirement", Description: "bad hardware", NotBefore: when})
	look := func(filters []types.Filter) []types.InstanceStatus {
		t.Helper()
		out, err := a.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{Filters: filters})
		if err != nil {
			t.Fatal(err)
		}
		return out.InstanceStatuses
	}
	if got := look(nil); len(got) != 3 || got[2].InstanceStatus.Status != "ok" || got[2].SystemStatus.Status != "ok" {
		t.Errorf("all: %+v", got)
	}
	if got := look(where("instance-status.status", "impaired")); len(got) != 1 || got[0].InstanceStatus.Details[0].ImpairedSince == nil || got[0].SystemStatus.Status != "ok" {
		t.Errorf("impaired: %+v", got)
	}
	got := look(where("event.code", "instance-retirement", "instance-stop"))
	if len(got) != 1 || len(got[0].Events) != 1 || !got[0].Events[0].NotBefore.Equal(when) || *got[0].InstanceId != *made[1].InstanceId {
		t.Errorf("events: %+v", got)
	}
	a.EC2.Restore(*made[0].InstanceId)
	if got := look(where("instance-status.status", "impaired")); len(got) != 0 {
		t.Errorf("restored: %+v", got)
	}
}

// TestConsoleOfOlderTypes has lines of the boot, and no others.
func TestConsoleOfOlderTypes(t *testing.T) {
	a := start(t, cloud.Options{})
	in := a.small(1, 1)
	in.InstanceType = "t2.small"
	id := a.run(t, in)[0].InstanceId
	if _, err := a.GetConsoleOutput(t.Context(), &sdk.GetConsoleOutputInput{InstanceId: id, Latest: aws.Bool(true)}); code(err) != "UnsupportedOperation" {
		t.Errorf("the latest lines: %v", err)
	}
	if _, err := a.GetConsoleOutput(t.Context(), &sdk.GetConsoleOutputInput{InstanceId: id}); err != nil {
		t.Error(err)
	}
}

func TestOneInstance(t *testing.T) {
	a := start(t, cloud.Options{})
	id := *a.run(t, a.small(1, 1))[0].InstanceId
	a.EC2.SetConsole(id, "boot\n")
	if out, err := a.GetConsoleOutput(t.Context(), &sdk.GetConsoleOutputInput{InstanceId: &id}); err != nil || *out.Output != "Ym9vdAo=" {
		t.Errorf("console %v, %v", out, err)
	}
	protect := func(on bool) {
		t.Helper()
		if _, err := a.ModifyInstanceAttribute(t.Context(), &sdk.ModifyInstanceAttributeInput{InstanceId: &id, DisableApiTermination: &types.AttributeBooleanValue{Value: &on}}); err != nil {
			t.Fatal(err)
		}
	}
	protect(true)
	if _, err := a.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); code(err) != "OperationNotPermitted" {
		t.Errorf("end a protected instance: %v", err)
	}
	protect(false)
	nics, err := a.DescribeNetworkInterfaces(t.Context(), &sdk.DescribeNetworkInterfacesInput{Filters: where("vpc-id", a.vpc)})
	if err != nil || len(nics.NetworkInterfaces) != 1 || *nics.NetworkInterfaces[0].Attachment.InstanceId != id {
		t.Errorf("interfaces %v, %v", nics, err)
	}
	volume, err := a.CreateVolume(t.Context(), &sdk.CreateVolumeInput{AvailabilityZone: aws.String(zone), Size: aws.Int32(10)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.AttachVolume(t.Context(), &sdk.AttachVolumeInput{VolumeId: volume.VolumeId, InstanceId: &id, Device: aws.String("/dev/sdf")}); err != nil {
		t.Fatal(err)
	}
	volumes, err := a.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{VolumeIds: []string{*volume.VolumeId}})
	if err != nil || volumes.Volumes[0].State != "in-use" || *volumes.Volumes[0].Attachments[0].InstanceId != id {
		t.Errorf("volumes %v, %v", volumes, err)
	}
	a.EC2.Shutdown(id) // its behaviour is to stop
	if got := a.describe(t, &sdk.DescribeInstancesInput{InstanceIds: []string{id}})[0]; got.State.Name != "stopped" {
		t.Errorf("switched off from within: %s", got.State.Name)
	}
}

func TestLag(t *testing.T) {
	a := start(t, cloud.Options{Speed: 1, EC2: ec2.Options{Lag: 10 * time.Second}})
	id := *a.run(t, a.small(1, 1))[0].InstanceId
	named := &sdk.DescribeInstancesInput{InstanceIds: []string{id}}
	if _, err := a.DescribeInstances(t.Context(), named); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("at once: %v", err)
	}
	a.Clock.Advance(11 * time.Second)
	if got := a.describe(t, named)[0]; got.State.Name != "pending" {
		t.Errorf("after the lag: %s", got.State.Name)
	}
	if _, err := a.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}); err != nil {
		t.Fatal(err)
	}
	if got := tagsOf(a.describe(t, named)[0]); len(got) != 0 {
		t.Errorf("a tag is there at once: %v", got)
	}
	a.EC2.Kill(id)
	a.Clock.Advance(11 * time.Second)
	if got := a.describe(t, named)[0]; got.State.Name != "shutting-down" || tagsOf(got)["k"] != "v" {
		t.Errorf("later: %s, %v", got.State.Name, tagsOf(got))
	}
}

func TestThrottling(t *testing.T) {
	a := start(t, cloud.Options{Speed: 1e-6, EC2: ec2.Options{Paced: true}})
	var codes []string
	for range 6 {
		_, err := a.RunInstances(t.Context(), a.small(1, 1))
		codes = append(codes, code(err))
	}
	if codes[4] == "RequestLimitExceeded" || codes[5] != "RequestLimitExceeded" {
		t.Errorf("six launches at once, with five tokens: %v", codes)
	}
	a.Clock.Advance(time.Minute)
	if _, err := a.RunInstances(t.Context(), a.small(500, 500)); err != nil {
		t.Errorf("500 of 1000 tokens for instances: %v", err)
	}
	if _, err := a.RunInstances(t.Context(), a.small(700, 700)); code(err) != "RequestLimitExceeded" {
		t.Errorf("700 of 500: %v", err)
	}
}

// TestWithoutMoto is how benchmarks run it: a thousand machines with 33 interfaces.
func TestWithoutMoto(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Alone: true})
	c.EC2.AddSubnet(ec2.Subnet{ID: "subnet-1", VPC: "vpc-1", Zone: zone, CIDR: netip.MustParsePrefix("10.0.0.0/16")})
	a := &account{Cloud: c, Client: sdk.NewFromConfig(c.Config()), subnet: "subnet-1", group: "sg-1", image: "ami-1"}
	a.template(t, "c-q-r")
	made := a.run(t, &sdk.RunInstancesInput{
		MinCount: aws.Int32(1000), MaxCount: aws.Int32(1000), LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("c-q-r"), Version: aws.String("$Latest")},
	})
	if len(made) != 1000 {
		t.Fatalf("%d instances", len(made))
	}
	out, err := a.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{Filters: where("tag:muster:cluster", "c"), MaxResults: aws.Int32(1000)})
	if err != nil {
		t.Fatal(err)
	}
	if got := flat(out); len(got) != 1000 || len(got[999].NetworkInterfaces) != 33 {
		t.Errorf("%d instances", len(got))
	}
}

// BenchmarkDescribe reads a page of 1,000 instances with 32 interfaces.
func BenchmarkDescribe(b *testing.B) {
	c := cloud.Start(b, cloud.Options{Alone: true})
	c.EC2.AddSubnet(ec2.Subnet{ID: "subnet-1", VPC: "vpc-1", Zone: zone, CIDR: netip.MustParsePrefix("10.0.0.0/16")})
	client := sdk.NewFromConfig(c.Config())
	var cards []types.InstanceNetworkInterfaceSpecification
	for n := range int32(32) {
		cards = append(cards, types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(min(n, 1)), NetworkCardIndex: aws.Int32(n), SubnetId: aws.String("subnet-1"), InterfaceType: aws.String("efa")})
	}
	in := &sdk.RunInstancesInput{MinCount: aws.Int32(1000), MaxCount: aws.Int32(1000), ImageId: aws.String("ami-1"), InstanceType: "p5e.48xlarge", NetworkInterfaces: cards}
	if _, err := client.RunInstances(b.Context(), in); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n := read(b, c); n < 20<<20 {
			b.Fatalf("%d bytes", n)
		}
	}
}
