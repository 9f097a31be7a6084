package ec2_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud"
	cloudaccount "github.com/muster-hpc/muster/test/cloud/account"
	"github.com/muster-hpc/muster/test/cloud/ec2"
)

func TestCapacity(t *testing.T) {
	a := start(t, cloud.Options{})
	a.EC2.SetCapacity("c5.large", zone, 5)
	_, err := a.RunInstances(t.Context(), a.small(6, 6))
	if code(err) != "InsufficientInstanceCapacity" {
		t.Errorf("more than there are: %v", err)
	}
	if e, ok := errors.AsType[*awshttp.ResponseError](err); !ok || e.HTTPStatusCode() != http.StatusInternalServerError {
		t.Errorf("its status is that of a server's error: %v", err)
	}
	first := a.run(t, a.small(1, 8))
	if len(first) != 5 {
		t.Errorf("%d of at most 8, with capacity for 5", len(first))
	}
	if _, err := a.RunInstances(t.Context(), a.small(1, 1)); code(err) != "InsufficientInstanceCapacity" {
		t.Errorf("none is left: %v", err)
	}
	if _, err := a.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{*first[0].InstanceId, *first[1].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if got := a.run(t, a.small(1, 8)); len(got) != 2 {
		t.Errorf("%d after two were ended", len(got))
	}
	a.EC2.SetCapacity("c5.large", zone, -1)
	if got := a.run(t, a.small(3, 3)); len(got) != 3 {
		t.Errorf("%d without a limit", len(got))
	}
}

// TestTide asks each minute, in a zone that has a machine in every third.
func TestTide(t *testing.T) {
	a := start(t, cloud.Options{Speed: 0.001})
	began := a.Clock.Now()
	a.EC2.SetTide("c5.large", zone, func(now time.Time) int {
		if minute := int(now.Sub(began) / time.Minute); minute%3 == 2 {
			return 1 + minute/3
		}
		return 0
	})
	for minute := range 9 {
		_, err := a.RunInstances(t.Context(), a.small(1, 1))
		if have := err == nil; have != (minute%3 == 2) {
			t.Errorf("in minute %d: %v", minute, err)
		}
		a.Clock.Advance(time.Minute)
	}
}

func TestQuota(t *testing.T) {
	a := start(t, cloud.Options{})
	a.Account.SetQuota(cloudaccount.Quota{Code: ec2.QuotaCode("c5.large", false), Value: 7})
	if got := a.run(t, a.small(1, 9)); len(got) != 3 {
		t.Errorf("%d instances of 2 vCPUs with a quota of 7", len(got))
	}
	if _, err := a.RunInstances(t.Context(), a.small(1, 1)); code(err) != "VcpuLimitExceeded" {
		t.Errorf("over the quota: %v", err)
	}
}

func TestRefuse(t *testing.T) {
	a := start(t, cloud.Options{})
	for _, c := range []string{"MaxSpotInstanceCountExceeded", "Unsupported", "InsufficientHostCapacity", "SpotMaxPriceTooLow"} {
		lift := a.EC2.Refuse(ec2.Refusal{Type: "c5.large", Code: c})
		if _, err := a.RunInstances(t.Context(), a.small(1, 1)); code(err) != c {
			t.Errorf("got %v, want %s", err, c)
		}
		lift()
	}
	a.EC2.Refuse(ec2.Refusal{Zone: "us-east-2c", Code: "Unsupported"})
	a.EC2.Refuse(ec2.Refusal{Market: "spot", Code: "Unsupported"})
	if got := a.run(t, a.small(1, 1)); len(got) != 1 {
		t.Errorf("%d instances", len(got))
	}
}

func TestAddresses(t *testing.T) {
	a := start(t, cloud.Options{})
	a.network(t, "10.8.0.0/16", "10.8.0.0/28") // 16 addresses, of which AWS keeps 5
	if _, err := a.RunInstances(t.Context(), a.small(12, 12)); code(err) != "InsufficientFreeAddressesInSubnet" {
		t.Errorf("12 in a network of 11: %v", err)
	}
	made := a.run(t, a.small(9, 9))
	seen := map[string]bool{}
	for _, i := range made {
		seen[*i.PrivateIpAddress] = true
	}
	if len(seen) != 9 || !seen["10.8.0.4"] || seen["10.8.0.15"] {
		t.Errorf("addresses %v", seen)
	}
	subnets, err := a.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{SubnetIds: []string{a.subnet}})
	if err != nil || *subnets.Subnets[0].AvailableIpAddressCount != 2 {
		t.Errorf("subnets %v, %v", subnets, err)
	}
	if _, err := a.DeleteSubnet(t.Context(), &sdk.DeleteSubnetInput{SubnetId: &a.subnet}); code(err) != "DependencyViolation" {
		t.Errorf("a subnet in use is deleted: %v", err)
	}
	if _, err := a.DeleteSecurityGroup(t.Context(), &sdk.DeleteSecurityGroupInput{GroupId: &a.group}); code(err) != "DependencyViolation" {
		t.Errorf("a group in use is deleted: %v", err)
	}
	for _, i := range made {
		a.EC2.Kill(*i.InstanceId)
	}
	a.Clock.Advance(time.Minute)
	if got := a.run(t, a.small(11, 11)); len(got) != 11 {
		t.Errorf("%d after the end of all", len(got))
	}
	for _, i := range a.EC2.Instances() {
		a.EC2.Kill(i.ID)
	}
	a.Clock.Advance(time.Minute)
	if _, err := a.DeleteSubnet(t.Context(), &sdk.DeleteSubnetInput{SubnetId: &a.subnet}); err != nil {
		t.Errorf("delete an empty subnet: %v", err)
	}
}

func TestReservations(t *testing.T) {
	told := 0
	a := start(t, cloud.Options{Speed: 1, EC2: ec2.Options{OnTerminate: func(ec2.Instance) { told++ }}})
	a.template(t, "block")
	now := a.Clock.Now()
	id := a.EC2.AddReservation(ec2.Reservation{Type: "p5e.48xlarge", Zone: zone, Count: 3, Block: true, Start: now.Add(time.Hour), End: now.Add(25 * time.Hour)})
	in := &sdk.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(5), LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("block")},
		InstanceMarketOptions:            &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock},
		CapacityReservationSpecification: &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: &id}},
	}
	look := func() types.CapacityReservation {
		t.Helper()
		out, err := a.DescribeCapacityReservations(t.Context(), &sdk.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
		if err != nil || len(out.CapacityReservations) != 1 {
			t.Fatalf("reservations %v, %v", out, err)
		}
		return out.CapacityReservations[0]
	}
	if r := look(); r.State != "scheduled" || *r.AvailableInstanceCount != 0 || r.ReservationType != "capacity-block" {
		t.Errorf("before it begins: %+v", r)
	}
	if _, err := a.RunInstances(t.Context(), in); code(err) != "ReservationCapacityExceeded" {
		t.Errorf("launch before it begins: %v", err)
	}
	a.Clock.Advance(2 * time.Hour)
	made := a.run(t, in)
	if r := look(); len(made) != 3 || r.State != "active" || *r.AvailableInstanceCount != 0 || made[0].InstanceLifecycle != "capacity-block" || *made[0].CapacityReservationId != id {
		t.Errorf("%d instances in %+v", len(made), r)
	}
	a.Clock.Advance(22*time.Hour + 31*time.Minute)
	if got := a.describe(t, &sdk.DescribeInstancesInput{InstanceIds: []string{*made[0].InstanceId}}); got[0].State.Name != "terminated" {
		t.Errorf("29 minutes before the end of the block it is %s", got[0].State.Name)
	}
	if told != 3 {
		t.Errorf("told of the end of %d instances", told)
	}
	a.Clock.Advance(time.Hour)
	if r := look(); r.State != "expired" {
		t.Errorf("after its end: %s", r.State)
	}
}

// fleet asks for a fleet of three types.
func (a *account) fleet(target, least int32) *sdk.CreateFleetInput {
	override := func(kind types.InstanceType) types.FleetLaunchTemplateOverridesRequest {
		return types.FleetLaunchTemplateOverridesRequest{InstanceType: kind, SubnetId: &a.subnet}
	}
	return &sdk.CreateFleetInput{
		Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("fleet"), Version: aws.String("$Latest")},
			Overrides:                   []types.FleetLaunchTemplateOverridesRequest{override("p5e.48xlarge"), override("p5en.48xlarge"), override("p5.48xlarge")},
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: &target, DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand},
		OnDemandOptions:             &types.OnDemandOptionsRequest{MinTargetCapacity: &least},
		TagSpecifications:           []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String("muster:launch"), Value: aws.String("f")}}}},
	}
}

func TestFleet(t *testing.T) {
	a := start(t, cloud.Options{})
	a.template(t, "fleet")
	in := a.fleet
	a.EC2.SetCapacity("p5e.48xlarge", zone, 2)
	a.EC2.SetCapacity("p5.48xlarge", zone, 3)

	out, err := a.CreateFleet(t.Context(), in(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for _, e := range out.Errors {
		codes[string(e.LaunchTemplateAndOverrides.Overrides.InstanceType)+" "+*e.ErrorCode]++
	}
	// p5en has 16 cards and the template wants 32.
	if codes["p5e.48xlarge InsufficientInstanceCapacity"] != 1 || codes["p5en.48xlarge InvalidParameterValue"]+codes["p5en.48xlarge AttachmentLimitExceeded"] != 1 {
		t.Errorf("errors %v", codes)
	}
	if len(out.Instances) != 2 || len(out.Instances[0].InstanceIds) != 2 || len(out.Instances[1].InstanceIds) != 2 || out.Instances[1].InstanceType != "p5.48xlarge" {
		t.Errorf("instances %+v", out.Instances)
	}
	for _, i := range a.EC2.Instances() {
		if i.Tags["muster:launch"] != "f" || i.Tags["muster:cluster"] != "c" || i.Tags["aws:ec2:fleet-id"] != *out.FleetId {
			t.Errorf("tags %v", i.Tags)
		}
	}

	first := *out.FleetId
	out, err = a.CreateFleet(t.Context(), in(4, 4)) // one p5 is left
	if err != nil || len(out.Instances) != 0 || len(out.Errors) == 0 {
		t.Errorf("less than the least: %+v, %v", out, err)
	}
	if got := len(a.EC2.Instances()); got != 4 {
		t.Errorf("%d instances, want 4: the second fleet left some", got)
	}
	if past, err := a.DescribeFleets(t.Context(), &sdk.DescribeFleetsInput{FleetIds: []string{first}}); err != nil || len(past.Fleets[0].Instances) != 2 {
		t.Errorf("the first fleet: %+v, %v", past, err)
	}
	again := in(1, 1)
	again.ClientToken = aws.String("token")
	one, err1 := a.CreateFleet(t.Context(), again)
	two, err2 := a.CreateFleet(t.Context(), again)
	if err := errors.Join(err1, err2); err != nil || *one.FleetId != *two.FleetId || one.Instances[0].InstanceIds[0] != two.Instances[0].InstanceIds[0] {
		t.Errorf("one token, two fleets: %v", err)
	}
}

// A fleet that has to be of one zone may be of several types, one of a single type may not.
func TestFleetOfOneKind(t *testing.T) {
	a := start(t, cloud.Options{})
	a.template(t, "fleet")
	in := a.fleet
	a.EC2.SetCapacity("p5e.48xlarge", zone, 1)
	a.EC2.SetCapacity("p5.48xlarge", zone, 3)
	zoned := in(4, 4)
	zoned.OnDemandOptions.SingleAvailabilityZone = aws.Bool(true)
	if out, err := a.CreateFleet(t.Context(), zoned); err != nil || len(out.Instances) != 2 {
		t.Errorf("two types in one zone: %+v, %v", out, err)
	}
	a.EC2.SetCapacity("p5e.48xlarge", zone, 2)
	a.EC2.SetCapacity("p5.48xlarge", zone, 5)
	alike := in(2, 1)
	alike.OnDemandOptions.SingleInstanceType = aws.Bool(true)
	if out, err := a.CreateFleet(t.Context(), alike); err != nil || len(out.Instances) != 1 || len(out.Instances[0].InstanceIds) != 1 {
		t.Errorf("one type: %+v, %v", out, err)
	}
}

func TestPlacementGroups(t *testing.T) {
	a := start(t, cloud.Options{})
	name := aws.String("c-q")
	if _, err := a.CreatePlacementGroup(t.Context(), &sdk.CreatePlacementGroupInput{GroupName: name, Strategy: types.PlacementStrategyCluster}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreatePlacementGroup(t.Context(), &sdk.CreatePlacementGroupInput{GroupName: name}); code(err) != "InvalidPlacementGroup.Duplicate" {
		t.Errorf("twice: %v", err)
	}
	in := a.small(1, 1)
	in.Placement = &types.Placement{GroupName: name}
	id := *a.run(t, in)[0].InstanceId
	if got := a.describe(t, &sdk.DescribeInstancesInput{Filters: where("placement-group-name", "c-q")}); len(got) != 1 || *got[0].Placement.GroupName != "c-q" {
		t.Errorf("instances of the group: %v", got)
	}
	if _, err := a.DeletePlacementGroup(t.Context(), &sdk.DeletePlacementGroupInput{GroupName: name}); code(err) != "InvalidPlacementGroup.InUse" {
		t.Errorf("delete a group in use: %v", err)
	}
	a.EC2.Kill(id)
	a.Clock.Advance(time.Minute)
	if _, err := a.DeletePlacementGroup(t.Context(), &sdk.DeletePlacementGroupInput{GroupName: name}); err != nil {
		t.Error(err)
	}
	if out, err := a.DescribePlacementGroups(t.Context(), nil); err != nil || len(out.PlacementGroups) != 0 {
		t.Errorf("groups %v, %v", out, err)
	}
}
