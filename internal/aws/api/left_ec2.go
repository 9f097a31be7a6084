package api

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/catalog"
)

// What an hour of an address and of a NAT gateway costs in us-east-1:
// https://aws.amazon.com/vpc/pricing/ (2026).
const (
	addressHour = 0.005
	gatewayHour = 0.045
)

func (a *Account) leftVolumes(ctx context.Context, cluster string) ([]Left, error) {
	var all []Left
	for page, err := range pagesOf(ctx, ec2.NewDescribeVolumesPaginator(a.ec2(), &ec2.DescribeVolumesInput{Filters: []types.Filter{filter("tag:"+ClusterTag, cluster)}})) {
		if err != nil {
			return nil, failed(err, "list the volumes of cluster %s", cluster)
		}
		for _, v := range page.Volumes {
			if v.State == types.VolumeStateDeleting || v.State == types.VolumeStateDeleted {
				continue
			}
			l := Left{Kind: "volume", ID: aws.ToString(v.VolumeId), What: fmt.Sprintf("%d GiB %s", aws.ToInt32(v.Size), v.VolumeType)}
			if price, ok := catalog.VolumePrice(string(v.VolumeType)); ok {
				l.Known, l.USDPerMonth = true, price.GB.USD*float64(aws.ToInt32(v.Size))
				l.USDPerMonth += price.IOPS.USD * float64(max(0, int(aws.ToInt32(v.Iops))-price.FreeIOPS))
				l.USDPerMonth += price.MBps.USD * float64(max(0, int(aws.ToInt32(v.Throughput))-price.FreeMBps))
			}
			all = append(all, l)
		}
	}
	return all, nil
}

func (a *Account) leftAddresses(ctx context.Context, cluster string) ([]Left, error) {
	out, err := a.ec2().DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: []types.Filter{filter("tag:"+ClusterTag, cluster)}})
	if err != nil {
		return nil, failed(err, "list the public addresses of cluster %s", cluster)
	}
	var all []Left
	for _, x := range out.Addresses {
		all = append(all, Left{Kind: "public address", ID: aws.ToString(x.AllocationId), What: aws.ToString(x.PublicIp), USDPerMonth: hourly(addressHour), Known: true})
	}
	return all, nil
}

func (a *Account) leftGateways(ctx context.Context, cluster string) ([]Left, error) {
	var all []Left
	for page, err := range pagesOf(ctx, ec2.NewDescribeNatGatewaysPaginator(a.ec2(), &ec2.DescribeNatGatewaysInput{
		Filter: []types.Filter{filter("tag:"+ClusterTag, cluster), filter("state", "pending", "available")},
	})) {
		if err != nil {
			return nil, failed(err, "list the NAT gateways of cluster %s", cluster)
		}
		for _, g := range page.NatGateways {
			all = append(all, Left{Kind: "NAT gateway", ID: aws.ToString(g.NatGatewayId), USDPerMonth: hourly(gatewayHour), Known: true})
		}
	}
	return all, nil
}

func (a *Account) leftInterfaces(ctx context.Context, cluster string) ([]Left, error) {
	return a.interfaces(ctx, "cluster "+cluster, filter("tag:"+ClusterTag, cluster))
}

// Interfaces are the network interfaces in some subnets that are not instances'
// own: those that file systems and gateways leave behind for a while.
func (a *Account) Interfaces(ctx context.Context, vpc string) ([]Left, error) {
	return a.interfaces(ctx, vpc, filter("vpc-id", vpc))
}

func (a *Account) interfaces(ctx context.Context, of string, which types.Filter) ([]Left, error) {
	var all []Left
	for page, err := range pagesOf(ctx, ec2.NewDescribeNetworkInterfacesPaginator(a.ec2(), &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{which}})) {
		if err != nil {
			return nil, failed(err, "list the network interfaces of %s", of)
		}
		for _, i := range page.NetworkInterfaces {
			all = append(all, Left{Kind: "network interface", ID: aws.ToString(i.NetworkInterfaceId), What: aws.ToString(i.Description), Known: true, Free: true})
		}
	}
	return all, nil
}
