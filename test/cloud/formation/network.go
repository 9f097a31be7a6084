package formation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// tagged are tags for a resource of EC2 that is about to be made.
func tagged(kind types.ResourceType, tags map[string]string) []types.TagSpecification {
	if len(tags) == 0 {
		return nil
	}
	return []types.TagSpecification{{ResourceType: kind, Tags: ec2Tags(tags)}}
}

func ec2Tags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// retag brings the tags of a resource of EC2 up to date.
func retag(ctx context.Context, j *job) error { return j.retag(ctx, j.id) }

func (j *job) retag(ctx context.Context, id string) error {
	set, unset := j.relabelled()
	if len(unset) > 0 {
		var tags []types.Tag
		for _, k := range unset {
			tags = append(tags, types.Tag{Key: aws.String(k)})
		}
		if _, err := j.aws.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: tags}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := j.aws.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(set)})
	return err
}

func filters(name, value string) []types.Filter {
	return []types.Filter{{Name: &name, Values: []string{value}}}
}

// dependent is EC2's refusal to delete what is in use:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (DependencyViolation)
func dependent(operation, format string, args ...any) error {
	return &smithy.OperationError{ServiceID: "EC2", OperationName: operation,
		Err: &smithy.GenericAPIError{Code: "DependencyViolation", Message: fmt.Sprintf(format, args...)}}
}

// interfaces counts the network interfaces that a filter finds. EC2 refuses to delete
// what they use; moto does not.
func (c *clients) interfaces(ctx context.Context, filter, value string) (int, error) {
	out, err := c.ec2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: filters(filter, value)})
	if err != nil {
		return 0, err
	}
	return len(out.NetworkInterfaces), nil
}

func createVPC(ctx context.Context, j *job) error {
	in := &ec2.CreateVpcInput{TagSpecifications: tagged(types.ResourceTypeVpc, j.labels())}
	if err := fill(in, without(j.props, "Tags", "EnableDnsHostnames", "EnableDnsSupport"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateVpc(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.Vpc.VpcId
	j.att["VpcId"], j.att["CidrBlock"] = j.id, *out.Vpc.CidrBlock
	if err := j.dns(ctx); err != nil {
		return err
	}
	groups, err := j.aws.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: filters("vpc-id", j.id)})
	if err != nil {
		return err
	}
	for _, g := range groups.SecurityGroups {
		if aws.ToString(g.GroupName) == "default" {
			j.att["DefaultSecurityGroup"] = *g.GroupId
		}
	}
	return nil
}

// dns sets the attributes of a network, one in a call as EC2 wants it.
func (j *job) dns(ctx context.Context) error {
	for _, name := range []string{"EnableDnsSupport", "EnableDnsHostnames"} {
		if j.props[name] == nil || !j.changed(name) {
			continue
		}
		in := &ec2.ModifyVpcAttributeInput{VpcId: &j.id}
		if err := fill(in, map[string]any{name: map[string]any{"Value": j.props[name]}}, nil); err != nil {
			return err
		}
		if _, err := j.aws.ec2.ModifyVpcAttribute(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func updateVPC(ctx context.Context, j *job) error {
	return steps(func() error { return j.dns(ctx) }, func() error { return retag(ctx, j) })
}

func removeVPC(ctx context.Context, j *job) error {
	subnets, err := j.aws.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: filters("vpc-id", j.id)})
	if err != nil {
		return err
	}
	groups, err := j.aws.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: filters("vpc-id", j.id)})
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(groups.SecurityGroups, func(g types.SecurityGroup) bool { return aws.ToString(g.GroupName) == "default" })
	if len(subnets.Subnets)+len(others) > 0 {
		return dependent("DeleteVpc", "The vpc '%s' has dependencies and cannot be deleted.", j.id)
	}
	_, err = j.aws.ec2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &j.id})
	return err
}

func createSubnet(ctx context.Context, j *job) error {
	in := &ec2.CreateSubnetInput{TagSpecifications: tagged(types.ResourceTypeSubnet, j.labels())}
	if err := fill(in, without(j.props, "Tags", "MapPublicIpOnLaunch"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateSubnet(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.Subnet.SubnetId
	j.att["SubnetId"], j.att["VpcId"] = j.id, *out.Subnet.VpcId
	j.att["AvailabilityZone"], j.att["CidrBlock"] = *out.Subnet.AvailabilityZone, *out.Subnet.CidrBlock
	return j.public(ctx)
}

func (j *job) public(ctx context.Context) error {
	if j.props["MapPublicIpOnLaunch"] == nil || !j.changed("MapPublicIpOnLaunch") {
		return nil
	}
	in := &ec2.ModifySubnetAttributeInput{SubnetId: &j.id}
	if err := fill(in, map[string]any{"MapPublicIpOnLaunch": map[string]any{"Value": j.props["MapPublicIpOnLaunch"]}}, nil); err != nil {
		return err
	}
	_, err := j.aws.ec2.ModifySubnetAttribute(ctx, in)
	return err
}

func updateSubnet(ctx context.Context, j *job) error {
	return steps(func() error { return j.public(ctx) }, func() error { return retag(ctx, j) })
}

func removeSubnet(ctx context.Context, j *job) error {
	n, err := j.aws.interfaces(ctx, "subnet-id", j.id)
	if err != nil {
		return err
	}
	if n > 0 {
		return dependent("DeleteSubnet", "The subnet '%s' has dependencies and cannot be deleted.", j.id)
	}
	_, err = j.aws.ec2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &j.id})
	return err
}

func createGateway(ctx context.Context, j *job) error {
	out, err := j.aws.ec2.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{TagSpecifications: tagged(types.ResourceTypeInternetGateway, j.labels())})
	if err != nil {
		return err
	}
	j.id = *out.InternetGateway.InternetGatewayId
	j.att["InternetGatewayId"] = j.id
	return nil
}

func removeGateway(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &j.id})
	return err
}

func attachGateway(ctx context.Context, j *job) error {
	in := &ec2.AttachInternetGatewayInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	if _, err := j.aws.ec2.AttachInternetGateway(ctx, in); err != nil {
		return err
	}
	j.id, j.att["AttachmentType"] = "IGW|"+*in.VpcId, "IGW"
	return nil
}

func detachGateway(ctx context.Context, j *job) error {
	in := &ec2.DetachInternetGatewayInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	_, err := j.aws.ec2.DetachInternetGateway(ctx, in)
	if code(err) == "Gateway.NotAttached" {
		return nil
	}
	return err
}

func createAddress(ctx context.Context, j *job) error {
	in := &ec2.AllocateAddressInput{TagSpecifications: tagged(types.ResourceTypeElasticIp, j.labels())}
	if err := fill(in, without(j.props, "Tags", "InstanceId"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.AllocateAddress(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.PublicIp
	j.att["AllocationId"], j.att["PublicIp"] = *out.AllocationId, *out.PublicIp
	if i := text(j.props["InstanceId"]); i != "" {
		_, err = j.aws.ec2.AssociateAddress(ctx, &ec2.AssociateAddressInput{AllocationId: out.AllocationId, InstanceId: &i})
	}
	return err
}

func updateAddress(ctx context.Context, j *job) error {
	if j.changed("InstanceId") {
		return reason("The double cannot change the InstanceId of an address")
	}
	return j.retag(ctx, text(j.att["AllocationId"]))
}

func removeAddress(ctx context.Context, j *job) error {
	id := text(j.att["AllocationId"])
	out, err := j.aws.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
	if err != nil {
		return err
	}
	for _, a := range out.Addresses {
		if a.AssociationId != nil {
			if _, err := j.aws.ec2.DisassociateAddress(ctx, &ec2.DisassociateAddressInput{AssociationId: a.AssociationId}); err != nil {
				return err
			}
		}
	}
	_, err = j.aws.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: &id})
	return err
}

func associateAddress(ctx context.Context, j *job) error {
	in := &ec2.AssociateAddressInput{}
	if err := fill(in, j.props, map[string]string{"EIP": "PublicIp"}); err != nil {
		return err
	}
	out, err := j.aws.ec2.AssociateAddress(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.AssociationId
	j.att["Id"] = j.id
	return nil
}

func disassociateAddress(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DisassociateAddress(ctx, &ec2.DisassociateAddressInput{AssociationId: &j.id})
	return err
}
