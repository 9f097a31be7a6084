package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// network asks about subnets, and about the networks that they are in.
func (s *survey) network(ctx context.Context) {
	var mu sync.Mutex // guards found
	found := map[string]inventory.Subnet{}
	s.batched(ofSubnets, "ec2:DescribeSubnets", s.names(ofSubnets), func(ids ...string) error {
		some, err := s.subnets(ctx, ids)
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(found, some)
		return err
	})
	if len(found) == 0 {
		return
	}
	own, err := s.own()
	if err != nil {
		s.unasked(ofVPCs, "ec2:DescribeInstances", err)
	}
	dns, routed := s.vpcs(ctx, found)
	for id, n := range found {
		n.Free, n.DNS, n.Routed = n.Free+own.addresses[id], dns[n.VPC], routed(id, n.VPC)
		found[id] = n
	}
	s.answer(func(i *inventory.Inventory) { i.Subnets = found })
}

// own is what the cluster has already: how many addresses in each subnet, and which
// instances.
type own struct {
	addresses map[string]int
	instances map[string]bool
}

func (s *survey) whatIsOwn(ctx context.Context) (own, error) {
	found := own{map[string]int{}, map[string]bool{}}
	if s.wanted.Cluster == "" {
		return found, nil
	}
	for page, err := range pagesOf(ctx, ec2.NewDescribeInstancesPaginator(s.ec2(), instancesOf(ClusterTag, s.wanted.Cluster))) {
		if err != nil {
			return found, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				found.instances[aws.ToString(i.InstanceId)] = true
				for _, n := range i.NetworkInterfaces {
					found.addresses[aws.ToString(n.SubnetId)] += len(n.PrivateIpAddresses)
				}
			}
		}
	}
	return found, nil
}

// vpcs says which networks have DNS, and which of their subnets a way out. Where
// that may not be asked, they count as good, and the answer says so.
func (s *survey) vpcs(ctx context.Context, subnets map[string]inventory.Subnet) (dns map[string]bool, routed func(subnet, vpc string) bool) {
	dns = map[string]bool{}
	for _, n := range subnets {
		dns[n.VPC] = true
	}
	ids := slices.Sorted(maps.Keys(dns))
	for _, id := range ids {
		for _, name := range []types.VpcAttributeName{types.VpcAttributeNameEnableDnsSupport, types.VpcAttributeNameEnableDnsHostnames} {
			out, err := s.ec2().DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &id, Attribute: name})
			if err != nil {
				s.unasked(ofVPCs, "ec2:DescribeVpcAttribute", err)
				continue
			}
			for _, v := range []*types.AttributeBooleanValue{out.EnableDnsSupport, out.EnableDnsHostnames} {
				dns[id] = dns[id] && (v == nil || aws.ToBool(v.Value))
			}
		}
	}
	ways, err := s.ways(ctx, ids)
	if err != nil {
		s.unasked(ofVPCs, "ec2:DescribeRouteTables", err)
		return dns, func(string, string) bool { return true }
	}
	return dns, func(subnet, vpc string) bool {
		if way, explicit := ways[subnet]; explicit {
			return way
		}
		return ways[vpc]
	}
}

// ways says of subnets with a route table of their own, and of networks by their main
// one, whether there is a way out.
func (s *survey) ways(ctx context.Context, vpcs []string) (map[string]bool, error) {
	all := map[string]bool{}
	for page, err := range pagesOf(ctx, ec2.NewDescribeRouteTablesPaginator(s.ec2(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("vpc-id", vpcs...)}})) {
		if err != nil {
			return nil, err
		}
		for _, t := range page.RouteTables {
			way := slices.ContainsFunc(t.Routes, outward)
			for _, x := range t.Associations {
				if aws.ToBool(x.Main) {
					all[aws.ToString(t.VpcId)] = way
				} else if x.SubnetId != nil {
					all[*x.SubnetId] = way
				}
			}
		}
	}
	return all, nil
}

// outward is a route to everywhere that leads somewhere.
func outward(r types.Route) bool {
	everywhere := aws.ToString(r.DestinationCidrBlock) == "0.0.0.0/0" || aws.ToString(r.DestinationIpv6CidrBlock) == "::/0"
	return everywhere && r.State != types.RouteStateBlackhole
}

// groups asks about security groups.
func (s *survey) groups(ctx context.Context) {
	s.batched(ofGroups, "ec2:DescribeSecurityGroups", s.names(ofGroups), func(ids ...string) error {
		out, err := s.ec2().DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids})
		if err != nil {
			return err
		}
		s.answer(func(i *inventory.Inventory) {
			for _, g := range out.SecurityGroups {
				id := aws.ToString(g.GroupId)
				i.SecurityGroups = with(i.SecurityGroups, id, inventory.SecurityGroup{
					VPC: aws.ToString(g.VpcId), SelfIn: itself(g.IpPermissions, id), SelfOut: itself(g.IpPermissionsEgress, id),
				})
			}
		})
		return nil
	})
}

// itself says that rules allow everything from and to a group itself.
func itself(rules []types.IpPermission, id string) bool {
	return slices.ContainsFunc(rules, func(r types.IpPermission) bool {
		return aws.ToString(r.IpProtocol) == "-1" &&
			slices.ContainsFunc(r.UserIdGroupPairs, func(p types.UserIdGroupPair) bool { return aws.ToString(p.GroupId) == id })
	})
}

// with adds to a map that may not be there yet.
func with[T any](all map[string]T, name string, value T) map[string]T {
	if all == nil {
		all = map[string]T{}
	}
	all[name] = value
	return all
}

// addresses asks about elastic IP addresses.
func (s *survey) addresses(ctx context.Context) {
	s.batched(ofAddresses, "ec2:DescribeAddresses", s.names(ofAddresses), func(names ...string) error {
		in := &ec2.DescribeAddressesInput{}
		for _, n := range names {
			if strings.HasPrefix(n, "eipalloc-") {
				in.AllocationIds = append(in.AllocationIds, n)
			} else {
				in.PublicIps = append(in.PublicIps, n)
			}
		}
		out, err := s.ec2().DescribeAddresses(ctx, in)
		if err != nil {
			return err
		}
		own, err := s.own()
		if err != nil {
			return err
		}
		s.answer(func(i *inventory.Inventory) {
			for _, x := range out.Addresses {
				used := aws.ToString(x.InstanceId)
				if used == "" {
					used = aws.ToString(x.NetworkInterfaceId)
				}
				if own.instances[used] {
					used = ""
				}
				for _, name := range []string{aws.ToString(x.PublicIp), aws.ToString(x.AllocationId)} {
					i.Addresses = with(i.Addresses, name, inventory.Address{Allocation: aws.ToString(x.AllocationId), UsedBy: used})
				}
			}
		})
		return nil
	})
}
