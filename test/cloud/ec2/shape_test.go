package ec2_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/test/cloud"
)

// TestShapes asks moto and the double the same, and compares which members their
// answers have: "=" both, "+" only the double's, "-" only moto's.
func TestShapes(t *testing.T) {
	a := start(t, cloud.Options{Speed: 1})
	direct, err := a.Direct()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	theirs, ours := asked(t, a, sdk.NewFromConfig(direct)), asked(t, a, a.Client)
	for _, call := range slices.Sorted(maps.Keys(ours)) {
		fmt.Fprintf(&text, "%s\n", call)
		all := maps.Clone(theirs[call])
		maps.Copy(all, ours[call])
		for _, path := range slices.Sorted(maps.Keys(all)) {
			mark := "="
			switch {
			case !theirs[call][path]:
				mark = "+"
			case !ours[call][path]:
				mark = "-"
			}
			fmt.Fprintf(&text, "  %s %s\n", mark, path)
		}
	}
	golden.Check(t, "shapes.txt", text.String())
}

// asked are the members of the answers to a series of calls.
func asked(t *testing.T, a *account, client *sdk.Client) map[string]map[string]bool {
	t.Helper()
	ctx, shapes := t.Context(), map[string]map[string]bool{}
	keep := func(call string, out any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		shapes[call] = map[string]bool{}
		members(shapes[call], "", reflect.ValueOf(out).Elem())
	}
	in := a.small(1, 1)
	in.TagSpecifications = []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}}
	in.UserData, in.ClientToken = aws.String("IyEvYmluL3NoCg=="), aws.String("shape")
	run, err := client.RunInstances(ctx, in)
	keep("RunInstances", run, err)
	id := run.Instances[0].InstanceId
	a.Clock.Advance(10 * time.Minute)
	describe, err := client.DescribeInstances(ctx, &sdk.DescribeInstancesInput{InstanceIds: []string{*id}})
	keep("DescribeInstances", describe, err)
	status, err := client.DescribeInstanceStatus(ctx, &sdk.DescribeInstanceStatusInput{InstanceIds: []string{*id}})
	keep("DescribeInstanceStatus", status, err)
	tags, err := client.DescribeTags(ctx, &sdk.DescribeTagsInput{Filters: where("resource-id", *id)})
	keep("DescribeTags", tags, err)
	attribute, err := client.DescribeInstanceAttribute(ctx, &sdk.DescribeInstanceAttributeInput{InstanceId: id, Attribute: types.InstanceAttributeNameUserData})
	keep("DescribeInstanceAttribute", attribute, err)
	console, err := client.GetConsoleOutput(ctx, &sdk.GetConsoleOutputInput{InstanceId: id})
	keep("GetConsoleOutput", console, err)
	cards, err := client.DescribeNetworkInterfaces(ctx, &sdk.DescribeNetworkInterfacesInput{Filters: where("attachment.instance-id", *id)})
	keep("DescribeNetworkInterfaces", cards, err)
	volumes, err := client.DescribeVolumes(ctx, &sdk.DescribeVolumesInput{Filters: where("attachment.instance-id", *id)})
	keep("DescribeVolumes", volumes, err)
	template := &sdk.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("shape" + *id), LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: &a.image, InstanceType: "c5.large"}}
	if _, err := a.CreateLaunchTemplate(ctx, template); err != nil {
		t.Fatal(err)
	}
	fleet, err := client.CreateFleet(ctx, &sdk.CreateFleetInput{
		Type: types.FleetTypeInstant, TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: "on-demand"},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: template.LaunchTemplateName, Version: aws.String("$Latest")},
			Overrides:                   []types.FleetLaunchTemplateOverridesRequest{{InstanceType: "c5.large", SubnetId: &a.subnet}},
		}},
	})
	keep("CreateFleet", fleet, err)
	end, err := client.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: []string{*id}})
	keep("TerminateInstances", end, err)
	return shapes
}

// members are the paths of all members that are there.
func members(into map[string]bool, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			members(into, path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			members(into, path+"[]", v.Index(i))
		}
	case reflect.Struct:
		switch v.Interface().(type) {
		case time.Time:
			into[path] = true
			return
		case middleware.Metadata:
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				members(into, strings.TrimPrefix(path+"."+f.Name, "."), v.Field(i))
			}
		}
	case reflect.String:
		if v.Len() > 0 {
			into[path] = true
		}
	default:
		into[path] = true
	}
}
