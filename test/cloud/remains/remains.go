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
	stacktypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	watchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	fsxtypes "github.com/aws/aws-sdk-go-v2/service/fsx/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	zonetypes "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Of names all that there is and was not there in the beginning, in order. What has
// ended, as instances do, is not there.
func Of(ctx context.Context, cfg aws.Config) ([]string, error) {
	kinds := append(ofEC2(ec2.NewFromConfig(cfg)), others(cfg)...)
	var all []string
	var errs []error
	for _, look := range kinds {
		found, err := look(ctx)
		all, errs = append(all, found...), append(errs, err)
	}
	slices.Sort(all)
	return all, errors.Join(errs...)
}

// look names the things of one kind.
type look func(context.Context) ([]string, error)

// looks is the call that lists things of a kind, and the names of those that count.
func looks[I, O, R, T any](list func(context.Context, *I, ...func(*O)) (*R, error), things func(*R) []T, name func(T) string) look {
	return func(ctx context.Context) ([]string, error) {
		out, err := list(ctx, new(I))
		if err != nil {
			return nil, err
		}
		var all []string
		for _, x := range things(out) {
			if n := name(x); n != "" {
				all = append(all, n)
			}
		}
		return all, nil
	}
}

// with is a call whose request says more.
func with[I, O, R any](list func(context.Context, *I, ...func(*O)) (*R, error), say func(*I)) func(context.Context, *I, ...func(*O)) (*R, error) {
	return func(ctx context.Context, in *I, o ...func(*O)) (*R, error) {
		say(in)
		return list(ctx, in, o...)
	}
}

// unless names a thing that counts.
func unless(no bool, kind string, id *string) string {
	if no {
		return ""
	}
	return kind + " " + aws.ToString(id)
}

func ofEC2(client *ec2.Client) []look {
	return []look{
		looks(client.DescribeInstances, func(o *ec2.DescribeInstancesOutput) []types.Instance {
			var all []types.Instance
			for _, r := range o.Reservations {
				all = append(all, r.Instances...)
			}
			return all
		}, func(i types.Instance) string {
			n := i.State.Name
			return unless(n == types.InstanceStateNameTerminated || n == types.InstanceStateNameShuttingDown, "instance", i.InstanceId)
		}),
		looks(client.DescribeVolumes, func(o *ec2.DescribeVolumesOutput) []types.Volume { return o.Volumes },
			func(v types.Volume) string { return "volume " + *v.VolumeId }),
		looks(client.DescribeLaunchTemplates, func(o *ec2.DescribeLaunchTemplatesOutput) []types.LaunchTemplate { return o.LaunchTemplates },
			func(t types.LaunchTemplate) string { return "launch template " + *t.LaunchTemplateName }),
		looks(client.DescribePlacementGroups, func(o *ec2.DescribePlacementGroupsOutput) []types.PlacementGroup { return o.PlacementGroups },
			func(g types.PlacementGroup) string { return "placement group " + *g.GroupName }),
		looks(client.DescribeKeyPairs, func(o *ec2.DescribeKeyPairsOutput) []types.KeyPairInfo { return o.KeyPairs },
			func(k types.KeyPairInfo) string { return "key pair " + *k.KeyName }),
		looks(client.DescribeVpcs, func(o *ec2.DescribeVpcsOutput) []types.Vpc { return o.Vpcs }, func(v types.Vpc) string {
			return unless(aws.ToBool(v.IsDefault), "VPC", v.VpcId)
		}),
		looks(client.DescribeAddresses, func(o *ec2.DescribeAddressesOutput) []types.Address { return o.Addresses },
			func(a types.Address) string { return "address " + *a.PublicIp }),
		looks(client.DescribeNatGateways, func(o *ec2.DescribeNatGatewaysOutput) []types.NatGateway { return o.NatGateways }, func(g types.NatGateway) string {
			return unless(g.State == types.NatGatewayStateDeleted, "NAT gateway ("+string(g.State)+")", g.NatGatewayId)
		}),
		looks(client.DescribeSubnets, func(o *ec2.DescribeSubnetsOutput) []types.Subnet { return o.Subnets }, func(s types.Subnet) string {
			return unless(aws.ToBool(s.DefaultForAz), "subnet", s.SubnetId)
		}),
		looks(client.DescribeSecurityGroups, func(o *ec2.DescribeSecurityGroupsOutput) []types.SecurityGroup { return o.SecurityGroups }, func(g types.SecurityGroup) string {
			return unless(aws.ToString(g.GroupName) == "default", "security group", g.GroupId)
		}),
		looks(client.DescribeRouteTables, func(o *ec2.DescribeRouteTablesOutput) []types.RouteTable { return o.RouteTables }, func(t types.RouteTable) string {
			first := slices.ContainsFunc(t.Associations, func(a types.RouteTableAssociation) bool { return aws.ToBool(a.Main) })
			return unless(first, "route table", t.RouteTableId)
		}),
		looks(client.DescribeInternetGateways, func(o *ec2.DescribeInternetGatewaysOutput) []types.InternetGateway { return o.InternetGateways },
			func(g types.InternetGateway) string { return "internet gateway " + *g.InternetGatewayId }),
		looks(client.DescribeVpcEndpoints, func(o *ec2.DescribeVpcEndpointsOutput) []types.VpcEndpoint { return o.VpcEndpoints }, func(e types.VpcEndpoint) string {
			return unless(strings.EqualFold(string(e.State), "deleted"), "endpoint", e.VpcEndpointId)
		}),
		looks(client.DescribeNetworkInterfaces, func(o *ec2.DescribeNetworkInterfacesOutput) []types.NetworkInterface { return o.NetworkInterfaces },
			func(n types.NetworkInterface) string { return "network interface " + *n.NetworkInterfaceId }),
	}
}

func others(cfg aws.Config) []look {
	id, watch := iam.NewFromConfig(cfg), cloudwatch.NewFromConfig(cfg)
	alarms := with(watch.DescribeAlarms, func(in *cloudwatch.DescribeAlarmsInput) {
		in.AlarmTypes = []watchtypes.AlarmType{watchtypes.AlarmTypeMetricAlarm, watchtypes.AlarmTypeCompositeAlarm}
	})
	return []look{
		looks(cloudformation.NewFromConfig(cfg).DescribeStacks, func(o *cloudformation.DescribeStacksOutput) []stacktypes.Stack { return o.Stacks },
			func(s stacktypes.Stack) string { return fmt.Sprintf("stack %s (%s)", *s.StackName, s.StackStatus) }),
		looks(fsx.NewFromConfig(cfg).DescribeFileSystems, func(o *fsx.DescribeFileSystemsOutput) []fsxtypes.FileSystem { return o.FileSystems },
			func(f fsxtypes.FileSystem) string { return "file system " + *f.FileSystemId }),
		looks(s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).ListBuckets, func(o *s3.ListBucketsOutput) []s3types.Bucket { return o.Buckets },
			func(b s3types.Bucket) string { return "bucket " + *b.Name }),
		looks(id.ListRoles, func(o *iam.ListRolesOutput) []iamtypes.Role { return o.Roles }, func(r iamtypes.Role) string {
			return unless(strings.HasPrefix(aws.ToString(r.Path), "/aws-service-role/"), "role", r.RoleName)
		}),
		looks(id.ListInstanceProfiles, func(o *iam.ListInstanceProfilesOutput) []iamtypes.InstanceProfile { return o.InstanceProfiles },
			func(p iamtypes.InstanceProfile) string { return "instance profile " + *p.InstanceProfileName }),
		looks(with(id.ListPolicies, func(in *iam.ListPoliciesInput) { in.Scope = iamtypes.PolicyScopeTypeLocal }),
			func(o *iam.ListPoliciesOutput) []iamtypes.Policy { return o.Policies }, func(p iamtypes.Policy) string { return "policy " + *p.Arn }),
		looks(efs.NewFromConfig(cfg).DescribeFileSystems, func(o *efs.DescribeFileSystemsOutput) []efstypes.FileSystemDescription { return o.FileSystems },
			func(f efstypes.FileSystemDescription) string { return "file system " + *f.FileSystemId }),
		looks(watch.ListDashboards, func(o *cloudwatch.ListDashboardsOutput) []watchtypes.DashboardEntry { return o.DashboardEntries },
			func(d watchtypes.DashboardEntry) string { return "dashboard " + *d.DashboardName }),
		looks(alarms, func(o *cloudwatch.DescribeAlarmsOutput) []watchtypes.MetricAlarm { return o.MetricAlarms },
			func(a watchtypes.MetricAlarm) string { return "alarm " + *a.AlarmName }),
		looks(alarms, func(o *cloudwatch.DescribeAlarmsOutput) []watchtypes.CompositeAlarm { return o.CompositeAlarms },
			func(a watchtypes.CompositeAlarm) string { return "alarm " + *a.AlarmName }),
		looks(route53.NewFromConfig(cfg).ListHostedZones, func(o *route53.ListHostedZonesOutput) []zonetypes.HostedZone { return o.HostedZones },
			func(z zonetypes.HostedZone) string { return "zone " + *z.Name }),
		looks(cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups, func(o *cloudwatchlogs.DescribeLogGroupsOutput) []logtypes.LogGroup { return o.LogGroups },
			func(g logtypes.LogGroup) string { return "log group " + *g.LogGroupName }),
	}
}
