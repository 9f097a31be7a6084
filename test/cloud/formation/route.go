package formation

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func createNAT(ctx context.Context, j *job) error {
	in := &ec2.CreateNatGatewayInput{TagSpecifications: tagged(types.ResourceTypeNatgateway, j.labels())}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateNatGateway(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.NatGateway.NatGatewayId
	j.att["NatGatewayId"] = j.id
	for _, a := range out.NatGateway.NatGatewayAddresses {
		j.att["EniId"] = aws.ToString(a.NetworkInterfaceId)
	}
	return nil
}

// nat is the state of a NAT gateway, deleted if there is none.
func (j *job) nat(ctx context.Context) (types.NatGatewayState, string, error) {
	out, err := j.aws.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{j.id}})
	if err != nil || len(out.NatGateways) == 0 {
		return types.NatGatewayStateDeleted, "", ignoreMissing(err)
	}
	n, why := out.NatGateways[0], ""
	if n.FailureMessage != nil {
		why = *n.FailureMessage
	}
	return n.State, why, nil
}

func readyNAT(ctx context.Context, j *job) (bool, error) {
	state, why, err := j.nat(ctx)
	if err == nil && state == types.NatGatewayStateFailed {
		return false, reason("NatGateway %s is in state %s and hence failed to stabilize. Detailed failure message: %s", j.id, state, why)
	}
	return state == types.NatGatewayStateAvailable, err
}

func removeNAT(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &j.id})
	return err
}

func goneNAT(ctx context.Context, j *job) (bool, error) {
	state, _, err := j.nat(ctx)
	if err != nil || state != types.NatGatewayStateDeleted {
		return false, err
	}
	// EC2 takes a gateway's interface away with it; moto leaves it.
	if nic := text(j.att["EniId"]); nic != "" {
		_, err = j.aws.ec2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &nic})
	}
	return true, ignoreMissing(err)
}

func createRouteTable(ctx context.Context, j *job) error {
	vpc := text(j.props["VpcId"])
	out, err := j.aws.ec2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &vpc, TagSpecifications: tagged(types.ResourceTypeRouteTable, j.labels())})
	if err != nil {
		return err
	}
	j.id = *out.RouteTable.RouteTableId
	j.att["RouteTableId"] = j.id
	return nil
}

func removeRouteTable(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &j.id})
	return err
}

func createRoute(ctx context.Context, j *job) error {
	in := &ec2.CreateRouteInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	if _, err := j.aws.ec2.CreateRoute(ctx, in); err != nil {
		return err
	}
	j.id = text(j.props["RouteTableId"]) + "|" + destination(j.props)
	j.att["CidrBlock"] = destination(j.props)
	return nil
}

func destination(props map[string]any) string {
	return cmp.Or(text(props["DestinationCidrBlock"]), text(props["DestinationIpv6CidrBlock"]), text(props["DestinationPrefixListId"]))
}

func updateRoute(ctx context.Context, j *job) error {
	in := &ec2.ReplaceRouteInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	_, err := j.aws.ec2.ReplaceRoute(ctx, in)
	return err
}

func removeRoute(ctx context.Context, j *job) error {
	in := &ec2.DeleteRouteInput{}
	keep := map[string]any{}
	for _, name := range []string{"RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId"} {
		if v := j.props[name]; v != nil {
			keep[name] = v
		}
	}
	if err := fill(in, keep, nil); err != nil {
		return err
	}
	_, err := j.aws.ec2.DeleteRoute(ctx, in)
	return err
}

func associateRouteTable(ctx context.Context, j *job) error {
	in := &ec2.AssociateRouteTableInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.AssociateRouteTable(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.AssociationId
	j.att["Id"] = j.id
	return nil
}

func disassociateRouteTable(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: &j.id})
	return err
}

func createEndpoint(ctx context.Context, j *job) error {
	in := &ec2.CreateVpcEndpointInput{TagSpecifications: tagged(types.ResourceTypeVpcEndpoint, j.labels())}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateVpcEndpoint(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.VpcEndpoint.VpcEndpointId
	j.att["Id"] = j.id
	return nil
}

func updateEndpoint(ctx context.Context, j *job) error {
	in := &ec2.ModifyVpcEndpointInput{VpcEndpointId: &j.id}
	in.AddRouteTableIds, in.RemoveRouteTableIds = moved(j, "RouteTableIds")
	in.AddSubnetIds, in.RemoveSubnetIds = moved(j, "SubnetIds")
	in.AddSecurityGroupIds, in.RemoveSecurityGroupIds = moved(j, "SecurityGroupIds")
	if j.changed("PolicyDocument") {
		d := document(j.props["PolicyDocument"])
		in.PolicyDocument = &d
	}
	if j.changed("RouteTableIds") || j.changed("SubnetIds") || j.changed("SecurityGroupIds") || in.PolicyDocument != nil {
		if _, err := j.aws.ec2.ModifyVpcEndpoint(ctx, in); err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

// moved are the elements of a list that an update adds and takes away.
func moved(j *job, name string) (added, removed []string) {
	texts := func(props map[string]any) map[string]bool {
		out := map[string]bool{}
		if props[name] != nil {
			for _, s := range textsOf(props[name]) {
				out[s] = true
			}
		}
		return out
	}
	before, after := texts(j.old), texts(j.props)
	for s := range after {
		if !before[s] {
			added = append(added, s)
		}
	}
	for s := range before {
		if !after[s] {
			removed = append(removed, s)
		}
	}
	return added, removed
}

func removeEndpoint(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{j.id}})
	return err
}
