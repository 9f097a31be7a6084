package formation

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// findNIC learns the interface of a new NAT gateway.
func findNIC(ctx context.Context, j *job) error {
	_, _, err := j.nat(ctx)
	return err
}

// nat is the state of a NAT gateway, deleted if there is none.
func (j *job) nat(ctx context.Context) (types.NatGatewayState, string, error) {
	out, err := j.aws.ec2.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{j.id}})
	if err != nil || len(out.NatGateways) == 0 {
		return types.NatGatewayStateDeleted, "", ignoreMissing(err)
	}
	n := out.NatGateways[0]
	for _, a := range n.NatGatewayAddresses {
		j.att["EniId"] = aws.ToString(a.NetworkInterfaceId)
	}
	return n.State, aws.ToString(n.FailureMessage), nil
}

func readyNAT(ctx context.Context, j *job) (bool, error) {
	state, why, err := j.nat(ctx)
	if err == nil && state == types.NatGatewayStateFailed {
		return false, reason("NatGateway %s is in state %s and hence failed to stabilize. Detailed failure message: %s", j.id, state, why)
	}
	return state == types.NatGatewayStateAvailable, err
}

func goneNAT(ctx context.Context, j *job) (bool, error) {
	state, _, err := j.nat(ctx)
	if err != nil || state != types.NatGatewayStateDeleted {
		return false, err
	}
	// EC2 takes a gateway's interface away with it; moto leaves it.
	if nic := text(j.att["EniId"]); nic != "" {
		err = tell(ctx, j.aws.ec2.DeleteNetworkInterface, props{"NetworkInterfaceId": nic})
	}
	return true, ignoreMissing(err)
}

func routed(_ context.Context, j *job) error {
	j.id = text(j.props["RouteTableId"]) + "|" + destination(j.props)
	j.att["CidrBlock"] = destination(j.props)
	return nil
}

func destination(props map[string]any) string {
	return cmp.Or(text(props["DestinationCidrBlock"]), text(props["DestinationIpv6CidrBlock"]), text(props["DestinationPrefixListId"]))
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
