package scaling_test

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/scaling"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// answer is what the tests read of answers.
type answer struct {
	Code    string   `xml:"Error>Code"`
	Members []string `xml:"DescribeAutoScalingGroupsResult>AutoScalingGroups>member>Instances>member>InstanceId"`
	Zone    []string `xml:"DescribeAutoScalingInstancesResult>AutoScalingInstances>member>AutoScalingGroupName"`
}

func TestAGroupHasAsManyInstancesAsItWants(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Speed: 2000})
	machines := ec2.NewFromConfig(c.Config())
	s := scaling.New(c.Config())
	ask := func(action string, params ...string) answer {
		t.Helper()
		return call(t.Context(), t, s, action, params...)
	}
	subnets, image := furnish(t, machines)
	_, err := machines.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("login"), LaunchTemplateData: &types.RequestLaunchTemplateData{
		ImageId: &image, InstanceType: "c5.xlarge", NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}}}})
	if err != nil {
		t.Fatal(err)
	}
	ask("CreateAutoScalingGroup", "AutoScalingGroupName", "login", "MinSize", "0", "MaxSize", "4", "DesiredCapacity", "3",
		"LaunchTemplate.LaunchTemplateName", "login", "LaunchTemplate.Version", "1", "VPCZoneIdentifier", strings.Join(subnets, ","))
	first := ask("DescribeAutoScalingGroups").Members
	if got := places(t, machines, first); len(first) != 3 || got[subnets[0]] != 2 || got[subnets[1]] != 1 {
		t.Errorf("instances %v in %v", first, got)
	}
	if _, err := machines.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: first[:1]}); err != nil {
		t.Fatal(err)
	}
	if second := ask("DescribeAutoScalingGroups").Members; len(second) != 3 || second[2] == first[0] {
		t.Errorf("after one has gone there are %v, before %v", second, first)
	}
	ask("SetDesiredCapacity", "AutoScalingGroupName", "login", "DesiredCapacity", "1")
	if got := ask("DescribeAutoScalingInstances").Zone; len(got) != 1 || got[0] != "login" {
		t.Errorf("instances of groups %v, want one of login", got)
	}
	for code, params := range map[string][]string{
		"AlreadyExists":   {"CreateAutoScalingGroup", "AutoScalingGroupName", "login", "MinSize", "0", "MaxSize", "1", "LaunchTemplate.LaunchTemplateName", "login"},
		"ValidationError": {"SetDesiredCapacity", "AutoScalingGroupName", "login", "DesiredCapacity", "9"},
		"ResourceInUse":   {"DeleteAutoScalingGroup", "AutoScalingGroupName", "login"},
	} {
		if got := ask(params[0], params[1:]...).Code; got != code {
			t.Errorf("%v gives %q, want %s", params, got, code)
		}
	}
	ask("UpdateAutoScalingGroup", "AutoScalingGroupName", "login", "MinSize", "0", "MaxSize", "1", "DesiredCapacity", "1")
	ask("DeleteAutoScalingGroup", "AutoScalingGroupName", "login", "ForceDelete", "true")
	if got := ask("DescribeAutoScalingGroups").Members; len(got) != 0 {
		t.Errorf("after the deletion there are %v", got)
	}
}

// call makes a call of the query protocol.
func call(ctx context.Context, t *testing.T, s *scaling.Service, action string, params ...string) answer {
	t.Helper()
	form := url.Values{"Action": {action}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", io.NopCloser(strings.NewReader(form.Encode())))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := s.Answer(ctx, &wire.Call{Service: "autoscaling", Region: "us-east-2", Action: action, Form: form, Request: r, Protocol: wire.Query})
	if !ok {
		t.Fatalf("nobody answers %s", action)
	}
	var a answer
	if err := xml.Unmarshal(got.Body, &a); err != nil {
		t.Fatalf("%s: %v\n%s", action, err, got.Body)
	}
	return a
}

// furnish makes two subnets and finds an image.
func furnish(t *testing.T, c *ec2.Client) (subnets []string, image string) {
	t.Helper()
	vpc, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	for _, cidr := range []string{"10.0.0.0/24", "10.0.1.0/24"} {
		out, err := c.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: &cidr})
		if err != nil {
			t.Fatal(err)
		}
		subnets = append(subnets, *out.Subnet.SubnetId)
	}
	images, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{
		{Name: aws.String("architecture"), Values: []string{"x86_64"}}, {Name: aws.String("name"), Values: []string{"aws-parallelcluster-*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return subnets, *images.Images[0].ImageId
}

// places counts instances by subnet.
func places(t *testing.T, c *ec2.Client, ids []string) map[string]int {
	t.Helper()
	out, err := c.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			found[aws.ToString(i.SubnetId)]++
		}
	}
	return found
}
