package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// makeNetwork makes a VPC as users have one, with a public and a private subnet in one
// zone and a security group, and prints their IDs.
func makeNetwork(ctx context.Context, dir string) error {
	cfg, err := outside(dir)
	if err != nil {
		return err
	}
	n := &userNetwork{client: ec2.NewFromConfig(cfg)}
	if err := n.make(ctx); err != nil {
		return err
	}
	fmt.Printf("vpc=%s\npublic=%s\nprivate=%s\ngroup=%s\n", n.vpc, n.public, n.private, n.group)
	return nil
}

type userNetwork struct {
	client                      *ec2.Client
	vpc, public, private, group string
}

func (n *userNetwork) make(ctx context.Context) error {
	vpc, err := n.client.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String(network.String())})
	if err != nil {
		return err
	}
	n.vpc = *vpc.Vpc.VpcId
	_, err = n.client.ModifyVpcAttribute(ctx, &ec2.ModifyVpcAttributeInput{VpcId: &n.vpc, EnableDnsHostnames: &types.AttributeBooleanValue{Value: aws.Bool(true)}})
	if err != nil {
		return err
	}
	gateway, err := n.client.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{})
	if err != nil {
		return err
	}
	id := gateway.InternetGateway.InternetGatewayId
	if _, err := n.client.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: &n.vpc}); err != nil {
		return err
	}
	if n.public, err = n.subnet(ctx, "10.0.240.0/24", &ec2.CreateRouteInput{GatewayId: id}); err != nil {
		return err
	}
	_, err = n.client.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{SubnetId: &n.public, MapPublicIpOnLaunch: &types.AttributeBooleanValue{Value: aws.Bool(true)}})
	if err != nil {
		return err
	}
	address, err := n.client.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	if err != nil {
		return err
	}
	nat, err := n.client.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: &n.public, AllocationId: address.AllocationId})
	if err != nil {
		return err
	}
	if n.private, err = n.subnet(ctx, "10.0.241.0/24", &ec2.CreateRouteInput{NatGatewayId: nat.NatGateway.NatGatewayId}); err != nil {
		return err
	}
	group, err := n.client.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: &n.vpc, GroupName: aws.String("users-own"), Description: aws.String("the user's own")})
	if err != nil {
		return err
	}
	n.group = *group.GroupId
	return nil
}

// subnet makes one with a way out.
func (n *userNetwork) subnet(ctx context.Context, cidr string, out *ec2.CreateRouteInput) (string, error) {
	subnet, err := n.client.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: &n.vpc, CidrBlock: &cidr, AvailabilityZone: aws.String("us-east-2a")})
	if err != nil {
		return "", err
	}
	id := subnet.Subnet.SubnetId
	table, err := n.client.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &n.vpc})
	if err != nil {
		return "", err
	}
	out.RouteTableId, out.DestinationCidrBlock = table.RouteTable.RouteTableId, aws.String("0.0.0.0/0")
	if _, err := n.client.CreateRoute(ctx, out); err != nil {
		return "", err
	}
	_, err = n.client.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: out.RouteTableId, SubnetId: id})
	return aws.ToString(id), err
}
