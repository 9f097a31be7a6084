// Package remains names all that is in an account, of the kinds that muster makes. It
// asks as anybody could, and knows nothing of clusters.
package remains

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Of names all that there is and was not there in the beginning, in order. What has
// ended, as instances do, is not there.
func Of(ctx context.Context, cfg aws.Config) ([]string, error) {
	var all []string
	var errs []error
	for _, look := range []func(context.Context, aws.Config) ([]string, error){machines, networks, stacks, systems, others} {
		found, err := look(ctx, cfg)
		all, errs = append(all, found...), append(errs, err)
	}
	slices.Sort(all)
	return all, errors.Join(errs...)
}

func machines(ctx context.Context, cfg aws.Config) ([]string, error) {
	client := ec2.NewFromConfig(cfg)
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			if n := i.State.Name; n != types.InstanceStateNameTerminated && n != types.InstanceStateNameShuttingDown {
				all = append(all, "instance "+aws.ToString(i.InstanceId))
			}
		}
	}
	volumes, err := client.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return nil, err
	}
	for _, v := range volumes.Volumes {
		all = append(all, "volume "+aws.ToString(v.VolumeId))
	}
	templates, err := client.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return nil, err
	}
	for _, t := range templates.LaunchTemplates {
		all = append(all, "launch template "+aws.ToString(t.LaunchTemplateName))
	}
	groups, err := client.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{})
	if err != nil {
		return nil, err
	}
	for _, g := range groups.PlacementGroups {
		all = append(all, "placement group "+aws.ToString(g.GroupName))
	}
	keys, err := client.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{})
	if err != nil {
		return nil, err
	}
	for _, k := range keys.KeyPairs {
		all = append(all, "key pair "+aws.ToString(k.KeyName))
	}
	return all, nil
}

func networks(ctx context.Context, cfg aws.Config) ([]string, error) {
	client := ec2.NewFromConfig(cfg)
	var all []string
	vpcs, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	if err != nil {
		return nil, err
	}
	for _, v := range vpcs.Vpcs {
		if !aws.ToBool(v.IsDefault) {
			all = append(all, "VPC "+aws.ToString(v.VpcId))
		}
	}
	addresses, err := client.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	if err != nil {
		return nil, err
	}
	for _, a := range addresses.Addresses {
		all = append(all, "address "+aws.ToString(a.PublicIp))
	}
	gateways, err := client.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{})
	if err != nil {
		return nil, err
	}
	for _, g := range gateways.NatGateways {
		if g.State != types.NatGatewayStateDeleted {
			all = append(all, fmt.Sprintf("NAT gateway %s (%s)", aws.ToString(g.NatGatewayId), g.State))
		}
	}
	cards, err := client.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{})
	if err != nil {
		return nil, err
	}
	for _, c := range cards.NetworkInterfaces {
		all = append(all, "network interface "+aws.ToString(c.NetworkInterfaceId))
	}
	return all, nil
}

func stacks(ctx context.Context, cfg aws.Config) ([]string, error) {
	out, err := cloudformation.NewFromConfig(cfg).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, s := range out.Stacks {
		all = append(all, fmt.Sprintf("stack %s (%s)", aws.ToString(s.StackName), s.StackStatus))
	}
	return all, nil
}

func systems(ctx context.Context, cfg aws.Config) ([]string, error) {
	out, err := fsx.NewFromConfig(cfg).DescribeFileSystems(ctx, &fsx.DescribeFileSystemsInput{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range out.FileSystems {
		all = append(all, "file system "+aws.ToString(f.FileSystemId))
	}
	buckets, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return nil, err
	}
	for _, b := range buckets.Buckets {
		all = append(all, "bucket "+aws.ToString(b.Name))
	}
	return all, nil
}

func others(ctx context.Context, cfg aws.Config) ([]string, error) {
	var all []string
	roles, err := iam.NewFromConfig(cfg).ListRoles(ctx, &iam.ListRolesInput{})
	if err != nil {
		return nil, err
	}
	for _, r := range roles.Roles {
		if !strings.HasPrefix(aws.ToString(r.Path), "/aws-service-role/") {
			all = append(all, "role "+aws.ToString(r.RoleName))
		}
	}
	zones, err := route53.NewFromConfig(cfg).ListHostedZones(ctx, &route53.ListHostedZonesInput{})
	if err != nil {
		return nil, err
	}
	for _, z := range zones.HostedZones {
		all = append(all, "zone "+aws.ToString(z.Name))
	}
	groups, err := cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{})
	if err != nil {
		return nil, err
	}
	for _, g := range groups.LogGroups {
		all = append(all, "log group "+aws.ToString(g.LogGroupName))
	}
	return all, nil
}
