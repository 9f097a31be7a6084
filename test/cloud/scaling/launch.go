package scaling

import (
	"context"
	"encoding/xml"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// reconcile brings a group to as many instances as it wants.
func (s *Service) reconcile(ctx context.Context, g *group) error {
	if err := s.look(ctx, g); err != nil {
		return err
	}
	for len(g.members) < g.wants {
		if err := s.launch(ctx, g); err != nil {
			return err
		}
	}
	for len(g.members) > g.wants {
		last := g.members[len(g.members)-1]
		if _, err := s.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{last.id}}); err != nil {
			return err
		}
		g.members = g.members[:len(g.members)-1]
	}
	return nil
}

// look forgets instances that are gone.
func (s *Service) look(ctx context.Context, g *group) error {
	if len(g.members) == 0 {
		return nil
	}
	var ids []string
	for _, x := range g.members {
		ids = append(ids, x.id)
	}
	out, err := s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("instance-id"), Values: ids}}})
	if err != nil {
		return err
	}
	alive := map[string]bool{}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			alive[*i.InstanceId] = i.State.Name == types.InstanceStateNamePending || i.State.Name == types.InstanceStateNameRunning
		}
	}
	g.members = slices.DeleteFunc(g.members, func(x member) bool { return !alive[x.id] })
	return nil
}

// launch adds an instance in the next of the group's subnets. The interface is the
// template's, in the group's subnet.
func (s *Service) launch(ctx context.Context, g *group) error {
	in := &ec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1), LaunchTemplate: &g.template}
	versions, err := s.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: g.template.LaunchTemplateId,
		LaunchTemplateName: g.template.LaunchTemplateName, Versions: []string{aws.ToString(g.template.Version)}})
	if err != nil {
		return err
	}
	if len(versions.LaunchTemplateVersions) == 0 {
		return invalid("You must use a valid fully-formed launch template. The version %s does not exist.", aws.ToString(g.template.Version))
	}
	data := versions.LaunchTemplateVersions[0].LaunchTemplateData
	if len(g.subnets) > 0 {
		subnet := g.subnets[g.launched%len(g.subnets)]
		if len(data.NetworkInterfaces) == 0 {
			in.SubnetId = &subnet
		}
		for _, n := range data.NetworkInterfaces {
			in.NetworkInterfaces = append(in.NetworkInterfaces, types.InstanceNetworkInterfaceSpecification{DeviceIndex: n.DeviceIndex, NetworkCardIndex: n.NetworkCardIndex,
				SubnetId: &subnet, Groups: n.Groups, AssociatePublicIpAddress: n.AssociatePublicIpAddress, InterfaceType: n.InterfaceType, DeleteOnTermination: n.DeleteOnTermination})
		}
	}
	var own []types.Tag
	for _, t := range g.tags {
		if t.PropagateAtLaunch {
			own = append(own, types.Tag{Key: &t.Key, Value: &t.Value})
		}
	}
	if own != nil {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: own}}
	}
	out, err := s.ec2.RunInstances(ctx, in)
	if err != nil {
		return err
	}
	zone := ""
	if p := out.Instances[0].Placement; p != nil {
		zone = aws.ToString(p.AvailabilityZone)
	}
	g.members = append(g.members, member{*out.Instances[0].InstanceId, zone})
	g.launched++
	return nil
}

// instance is a member as it is described.
type instance struct {
	InstanceId           string
	AvailabilityZone     string
	LifecycleState       string
	HealthStatus         string
	AutoScalingGroupName string `xml:",omitempty"`
	ProtectedFromScaleIn bool
}

func (g *group) described(x member, withName string) instance {
	return instance{InstanceId: x.id, AvailabilityZone: x.zone, LifecycleState: "InService", HealthStatus: "Healthy", AutoScalingGroupName: withName}
}

type groupAnswer struct {
	AutoScalingGroupName string
	AutoScalingGroupARN  string
	MinSize              int
	MaxSize              int
	DesiredCapacity      int
	VPCZoneIdentifier    string
	HealthCheckType      string
	TargetGroupARNs      []string   `xml:"TargetGroupARNs>member"`
	Instances            []instance `xml:"Instances>member"`
	Tags                 []tag      `xml:"Tags>member"`
}

func (s *Service) describe(ctx context.Context, c *wire.Call) (any, error) {
	want := list(c, "AutoScalingGroupNames")
	var out struct {
		XMLName           xml.Name      `xml:"DescribeAutoScalingGroupsResult"`
		AutoScalingGroups []groupAnswer `xml:"AutoScalingGroups>member"`
	}
	for _, g := range s.groups {
		if len(want) > 0 && !slices.Contains(want, g.name) {
			continue
		}
		if err := s.reconcile(ctx, g); err != nil {
			return nil, err
		}
		a := groupAnswer{AutoScalingGroupName: g.name, AutoScalingGroupARN: g.arn, MinSize: g.least, MaxSize: g.most, DesiredCapacity: g.wants,
			HealthCheckType: "EC2", TargetGroupARNs: g.targets, Tags: g.tags}
		for _, x := range g.members {
			a.Instances = append(a.Instances, g.described(x, ""))
		}
		out.AutoScalingGroups = append(out.AutoScalingGroups, a)
	}
	return out, nil
}

func (s *Service) describeMembers(ctx context.Context, c *wire.Call) (any, error) {
	want := list(c, "InstanceIds")
	var out struct {
		XMLName   xml.Name   `xml:"DescribeAutoScalingInstancesResult"`
		Instances []instance `xml:"AutoScalingInstances>member"`
	}
	for _, g := range s.groups {
		if err := s.reconcile(ctx, g); err != nil {
			return nil, err
		}
		for _, x := range g.members {
			if len(want) == 0 || slices.Contains(want, x.id) {
				out.Instances = append(out.Instances, g.described(x, g.name))
			}
		}
	}
	return out, nil
}

func (s *Service) terminate(ctx context.Context, c *wire.Call) (any, error) {
	id := c.Form.Get("InstanceId")
	for _, g := range s.groups {
		if !slices.ContainsFunc(g.members, func(x member) bool { return x.id == id }) {
			continue
		}
		if c.Form.Get("ShouldDecrementDesiredCapacity") == "true" {
			g.wants--
		}
		if _, err := s.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
			return nil, err
		}
		return nil, s.reconcile(ctx, g)
	}
	return nil, invalid("Instance Id not found - No managed instance found for instance ID: %s", id)
}
