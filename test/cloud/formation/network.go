package formation

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// retag brings the tags of a resource of EC2 up to date.
func retag(ctx context.Context, j *job) error { return j.retag(ctx, j.id) }

func (j *job) retag(ctx context.Context, id string) error {
	set, unset := j.relabelled()
	if len(unset) > 0 {
		var tags []any
		for _, k := range unset {
			tags = append(tags, props{"Key": k})
		}
		if err := tell(ctx, j.aws.ec2.DeleteTags, props{"Resources": []any{id}, "Tags": tags}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	return tell(ctx, j.aws.ec2.CreateTags, props{"Resources": []any{id}, "Tags": tagsOf(set)})
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

// unused refuses to remove what network interfaces use, which the filter finds. EC2
// refuses it; moto does not.
func unused(filter, operation, format string) work {
	return func(ctx context.Context, j *job) error {
		out, err := j.aws.ec2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: filters(filter, j.id)})
		if err != nil || len(out.NetworkInterfaces) == 0 {
			return err
		}
		return dependent(operation, format, j.id)
	}
}

// The attributes of a network and of a subnet are set one in a call, as EC2 wants it.
var (
	setDNS    = sets(onEC2, (*ec2.Client).ModifyVpcAttribute, "VpcId", "EnableDnsSupport", "EnableDnsHostnames")
	setPublic = sets(onEC2, (*ec2.Client).ModifySubnetAttribute, "SubnetId", "MapPublicIpOnLaunch")
)

// findDefaultGroup finds the security group that a network has from the beginning.
func findDefaultGroup(ctx context.Context, j *job) error {
	groups, err := j.groups(ctx)
	for _, g := range groups {
		if isDefault(g) {
			j.att["DefaultSecurityGroup"] = *g.GroupId
		}
	}
	return err
}

func isDefault(g types.SecurityGroup) bool { return aws.ToString(g.GroupName) == "default" }

// groups are the security groups of a network.
func (j *job) groups(ctx context.Context) ([]types.SecurityGroup, error) {
	out, err := j.aws.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: filters("vpc-id", j.id)})
	if err != nil {
		return nil, err
	}
	return out.SecurityGroups, nil
}

// emptyVPC refuses to remove a network that has subnets, or security groups but its first.
func emptyVPC(ctx context.Context, j *job) error {
	subnets, err := j.aws.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: filters("vpc-id", j.id)})
	if err != nil {
		return err
	}
	groups, err := j.groups(ctx)
	if err != nil {
		return err
	}
	if others := slices.DeleteFunc(groups, isDefault); len(subnets.Subnets)+len(others) > 0 {
		return dependent("DeleteVpc", "The vpc '%s' has dependencies and cannot be deleted.", j.id)
	}
	return nil
}

func gatewayAttached(_ context.Context, j *job) error {
	j.id, j.att["AttachmentType"] = "IGW|"+text(j.props["VpcId"]), "IGW"
	return nil
}

func useAddress(ctx context.Context, j *job) error {
	if j.props["InstanceId"] == nil {
		return nil
	}
	return tell(ctx, j.aws.ec2.AssociateAddress, props{"AllocationId": j.att["AllocationId"], "InstanceId": j.props["InstanceId"]})
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
	return tell(ctx, j.aws.ec2.ReleaseAddress, props{"AllocationId": id})
}
