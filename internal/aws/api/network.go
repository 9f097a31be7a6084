package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// subnets looks at subnets by ID. It fails if one is not there.
func (a *Account) subnets(ctx context.Context, ids []string) (map[string]inventory.Subnet, error) {
	all := map[string]inventory.Subnet{}
	if len(ids) == 0 {
		return all, nil
	}
	out, err := a.ec2().DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: ids})
	if err != nil {
		return nil, failed(err, "look at the subnets %s in %s", strings.Join(ids, ", "), a.Region)
	}
	for _, s := range out.Subnets {
		all[aws.ToString(s.SubnetId)] = inventory.Subnet{
			VPC: aws.ToString(s.VpcId), Zone: aws.ToString(s.AvailabilityZone), CIDR: aws.ToString(s.CidrBlock),
			Free: int(aws.ToInt32(s.AvailableIpAddressCount)), Public: aws.ToBool(s.MapPublicIpOnLaunch),
		}
	}
	return all, nil
}

// Zones are the region's availability zones that offer all of the instance types,
// in the order of their names; offered says which zones offer each. Where none does the
// error says which zones offer each type.
func (a *Account) Zones(ctx context.Context, instanceTypes []string, offered map[string][]string) ([]string, error) {
	zones, err := a.allZones(ctx)
	if err != nil {
		return nil, err
	}
	return together(a.Region, zones, instanceTypes, offered)
}

func (a *Account) allZones(ctx context.Context) ([]string, error) {
	out, err := a.ec2().DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{
		Filters: []types.Filter{filter("zone-type", "availability-zone"), filter("state", "available")},
	})
	if err != nil {
		return nil, failed(err, "list the zones of %s", a.Region)
	}
	var names []string
	for _, z := range out.AvailabilityZones {
		names = append(names, aws.ToString(z.ZoneName))
	}
	slices.Sort(names)
	return names, nil
}

// offered are the zones that offer each instance type, of all types where none is named.
func (a *Account) offered(ctx context.Context, instanceTypes []string) (map[string][]string, error) {
	all := map[string][]string{}
	in, which := &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone}, "each instance type"
	if len(instanceTypes) > 0 {
		in.Filters, which = []types.Filter{filter("instance-type", instanceTypes...)}, strings.Join(instanceTypes, ", ")
	}
	for page, err := range pagesOf(ctx, ec2.NewDescribeInstanceTypeOfferingsPaginator(a.ec2(), in)) {
		if err != nil {
			return nil, failed(err, "ask which zones of %s have %s", a.Region, which)
		}
		for _, o := range page.InstanceTypeOfferings {
			all[string(o.InstanceType)] = append(all[string(o.InstanceType)], aws.ToString(o.Location))
		}
	}
	return all, nil
}

// together are the zones that offer all instance types.
func together(region string, zones, instanceTypes []string, offered map[string][]string) ([]string, error) {
	var good []string
	for _, z := range zones {
		if !slices.ContainsFunc(instanceTypes, func(t string) bool { return !slices.Contains(offered[t], z) }) {
			good = append(good, z)
		}
	}
	if len(good) > 0 {
		return good, nil
	}
	var who []string
	for _, t := range slices.Sorted(maps.Keys(offered)) {
		who = append(who, fmt.Sprintf("%s is in %s", t, strings.Join(slices.Sorted(slices.Values(offered[t])), ", ")))
	}
	for _, t := range instanceTypes {
		if len(offered[t]) == 0 {
			who = append(who, t+" is in none")
		}
	}
	return nil, fmt.Errorf("no zone of %s has all of the cluster's instance types: %s; choose another region or type, or name subnets in the file", region, strings.Join(who, "; "))
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}
