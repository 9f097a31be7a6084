package formation_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-hpc/muster/test/cloud/formation"
)

// inventory is everything that a stack of ours can make.
func (d *double) inventory() []string {
	d.Helper()
	var out []string
	add := func(kind string, ids ...*string) {
		for _, id := range ids {
			out = append(out, kind+" "+aws.ToString(id))
		}
	}
	d.network(add)
	d.machines(add)
	d.others(add)
	balanced, err := formation.Balanced(d.Context(), d.cloud.Config())
	d.must(err)
	for _, name := range balanced {
		add("balanced", &name)
	}
	slices.Sort(out)
	return out
}

type adder func(kind string, ids ...*string)

func (d *double) network(add adder) {
	d.Helper()
	c := ec2.NewFromConfig(d.cloud.Config())
	ctx := d.Context()
	vpcs, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	d.must(err)
	for _, x := range vpcs.Vpcs {
		add("vpc", x.VpcId)
	}
	subnets, err := c.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	d.must(err)
	for _, x := range subnets.Subnets {
		add("subnet", x.SubnetId)
	}
	groups, err := c.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	d.must(err)
	for _, x := range groups.SecurityGroups {
		add("security group", x.GroupId)
	}
	gateways, err := c.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{})
	d.must(err)
	for _, x := range gateways.InternetGateways {
		add("internet gateway", x.InternetGatewayId)
	}
	nats, err := c.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{})
	d.must(err)
	for _, x := range nats.NatGateways {
		if x.State != ec2types.NatGatewayStateDeleted {
			add("nat gateway", x.NatGatewayId)
		}
	}
	addresses, err := c.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	d.must(err)
	for _, x := range addresses.Addresses {
		add("address", x.AllocationId)
	}
	tables, err := c.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{})
	d.must(err)
	for _, x := range tables.RouteTables {
		add("route table", x.RouteTableId)
	}
	endpoints, err := c.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	d.must(err)
	for _, x := range endpoints.VpcEndpoints {
		if !strings.EqualFold(string(x.State), "deleted") {
			add("endpoint", x.VpcEndpointId)
		}
	}
	interfaces, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{})
	d.must(err)
	for _, x := range interfaces.NetworkInterfaces {
		add("interface", x.NetworkInterfaceId)
	}
}

func (d *double) machines(add adder) {
	d.Helper()
	c := ec2.NewFromConfig(d.cloud.Config())
	ctx := d.Context()
	instances, err := c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	d.must(err)
	for _, r := range instances.Reservations {
		for _, x := range r.Instances {
			if x.State.Name != ec2types.InstanceStateNameTerminated {
				add("instance", x.InstanceId)
			}
		}
	}
	templates, err := c.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	d.must(err)
	for _, x := range templates.LaunchTemplates {
		add("launch template", x.LaunchTemplateName)
	}
	groups, err := c.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{})
	d.must(err)
	for _, x := range groups.PlacementGroups {
		add("placement group", x.GroupName)
	}
	volumes, err := c.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	d.must(err)
	for _, x := range volumes.Volumes {
		add("volume", x.VolumeId)
	}
}

func (d *double) others(add adder) {
	d.Helper()
	ctx, cfg := d.Context(), d.cloud.Config()
	id := iam.NewFromConfig(cfg)
	roles, err := id.ListRoles(ctx, &iam.ListRolesInput{})
	d.must(err)
	for _, x := range roles.Roles {
		add("role", x.RoleName)
	}
	profiles, err := id.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{})
	d.must(err)
	for _, x := range profiles.InstanceProfiles {
		add("profile", x.InstanceProfileName)
	}
	policies, err := id.ListPolicies(ctx, &iam.ListPoliciesInput{Scope: iamtypes.PolicyScopeTypeLocal})
	d.must(err)
	for _, x := range policies.Policies {
		add("policy", x.Arn)
	}
	buckets, err := s3.NewFromConfig(cfg).ListBuckets(ctx, &s3.ListBucketsInput{})
	d.must(err)
	for _, x := range buckets.Buckets {
		add("bucket", x.Name)
	}
	systems, err := fsx.NewFromConfig(cfg).DescribeFileSystems(ctx, &fsx.DescribeFileSystemsInput{})
	d.must(err)
	for _, x := range systems.FileSystems {
		add("fsx", x.FileSystemId)
	}
	shares, err := efs.NewFromConfig(cfg).DescribeFileSystems(ctx, &efs.DescribeFileSystemsInput{})
	d.must(err)
	for _, x := range shares.FileSystems {
		add("efs", x.FileSystemId)
	}
	zones, err := route53.NewFromConfig(cfg).ListHostedZones(ctx, &route53.ListHostedZonesInput{})
	d.must(err)
	for _, x := range zones.HostedZones {
		add("zone", x.Id)
	}
	logs, err := cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{})
	d.must(err)
	for _, x := range logs.LogGroups {
		add("log group", x.LogGroupName)
	}
	watch := cloudwatch.NewFromConfig(cfg)
	boards, err := watch.ListDashboards(ctx, &cloudwatch.ListDashboardsInput{})
	d.must(err)
	for _, x := range boards.DashboardEntries {
		add("dashboard", x.DashboardName)
	}
	alarms, err := watch.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm, types.AlarmTypeCompositeAlarm}})
	d.must(err)
	for _, x := range alarms.MetricAlarms {
		add("alarm", x.AlarmName)
	}
	for _, x := range alarms.CompositeAlarms {
		add("alarm", x.AlarmName)
	}
}

// leaks are what is there now and was not before, and what is missing.
func leaks(before, after []string) string {
	var out strings.Builder
	for _, x := range after {
		if !slices.Contains(before, x) {
			fmt.Fprintf(&out, "left: %s\n", x)
		}
	}
	for _, x := range before {
		if !slices.Contains(after, x) {
			fmt.Fprintf(&out, "lost: %s\n", x)
		}
	}
	return out.String()
}
