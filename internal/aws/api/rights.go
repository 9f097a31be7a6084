package api

import (
	"slices"
	"strings"
)

// ofCalls are the rights for what muster itself calls when it makes a cluster, looks at
// it and takes it down.
var ofCalls = []string{
	"cloudformation:ContinueUpdateRollback", "cloudformation:CreateChangeSet", "cloudformation:DeleteChangeSet", "cloudformation:DeleteStack",
	"cloudformation:DescribeChangeSet", "cloudformation:DescribeStackEvents", "cloudformation:DescribeStacks", "cloudformation:ExecuteChangeSet",
	"cloudformation:GetTemplate", "cloudformation:ListStackResources",
	"cloudformation:UpdateTerminationProtection",
	"ec2:DescribeAvailabilityZones", "ec2:DescribeImages", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstances",
	"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DescribeVolumes", "ec2:DescribeAddresses", "ec2:DescribeNatGateways",
	"ec2:GetConsoleOutput", "ec2:TerminateInstances", "ec2:DeleteKeyPair",
	"logs:DescribeLogGroups", "logs:ListTagsForResource", "tag:GetResources",
	"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:ListBucket", "s3:ListBucketMultipartUploads",
	"s3:ListBucketVersions", "s3:PutObject", "s3:DeleteBucket",
	"route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets",
	"fsx:DeleteFileSystem", "fsx:DescribeFileSystems", "elasticfilesystem:DescribeFileSystems",
}

// ofMore are the rights for calls that only some files lead to, by the part of the
// cluster that the call is about.
var ofMore = map[string][]string{
	"key":          {"ec2:ImportKeyPair"},
	"own-key":      {"ec2:DescribeKeyPairs"},
	"reservations": {"ec2:DescribeCapacityReservations"},
	"templates":    {"ec2:DescribeLaunchTemplateVersions"},
	"profiles":     {"iam:GetInstanceProfile"},
	"own-zone":     {"route53:GetHostedZone"},
	"own-fsx":      {"fsx:DescribeFileCaches", "fsx:DescribeStorageVirtualMachines", "fsx:DescribeVolumes"},
	"own-efs":      {"elasticfilesystem:DescribeMountTargets"},
	"links":        {"fsx:CreateDataRepositoryTask", "fsx:DescribeDataRepositoryAssociations", "fsx:DescribeDataRepositoryTasks"},
}

// typesOf are the types of resources that a part of a cluster is made of.
var typesOf = map[string][]string{
	"always": {
		"AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress", "AWS::EC2::SecurityGroupIngress", "AWS::EC2::LaunchTemplate", "AWS::EC2::Instance",
		"AWS::EC2::NetworkInterface", "AWS::IAM::InstanceProfile", "AWS::IAM::Role", "AWS::S3::BucketPolicy",
	},
	"bucket": {"AWS::S3::Bucket"},
	"network": {
		"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment", "AWS::EC2::NatGateway", "AWS::EC2::EIP",
		"AWS::EC2::RouteTable", "AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCEndpoint",
	},
	"address":   {"AWS::EC2::EIP", "AWS::EC2::EIPAssociation"},
	"placement": {"AWS::EC2::PlacementGroup"},
	"fsx":       {"AWS::FSx::FileSystem"},
	"links":     {"AWS::FSx::DataRepositoryAssociation"},
	"efs":       {"AWS::EFS::FileSystem", "AWS::EFS::MountTarget"},
	"ebs":       {"AWS::EC2::Volume", "AWS::EC2::VolumeAttachment"},
	"zone":      {"AWS::Route53::HostedZone"},
	"logs":      {"AWS::Logs::LogGroup"},
	"dashboard": {"AWS::CloudWatch::Dashboard"},
	"alarms":    {"AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"},
	"login": {
		"AWS::AutoScaling::AutoScalingGroup", "AWS::ElasticLoadBalancingV2::LoadBalancer", "AWS::ElasticLoadBalancingV2::Listener",
		"AWS::ElasticLoadBalancingV2::TargetGroup",
	},
	"nested": {"AWS::CloudFormation::Stack"},
}

// actionsOf are the actions that making a cluster of some parts needs, each once.
func actionsOf(parts []string) []string {
	all := slices.Clone(ofCalls)
	for _, part := range append([]string{"always"}, parts...) {
		all = append(all, ofMore[part]...)
		for _, t := range typesOf[part] {
			all = append(all, ofType[t]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// whole are actions without patterns: what can be asked about.
func whole(actions []string) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return strings.Contains(a, "*") })
}

// onMachines are the actions that each kind of machine needs, where a file brings its
// own role: those of muster's own roles.
var onMachines = map[string][]string{
	"compute": {"s3:GetObject", "s3:ListBucket", "logs:CreateLogStream", "logs:PutLogEvents"},
	"login":   {"s3:GetObject", "s3:ListBucket", "logs:CreateLogStream", "logs:PutLogEvents"},
	"head": {"s3:GetObject", "s3:ListBucket", "s3:PutObject", "s3:AbortMultipartUpload", "cloudwatch:PutMetricData",
		"logs:CreateLogStream", "logs:PutLogEvents", "ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel",
		"ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
		"ec2:CreateFleet", "ec2:CreateTags", "ec2:DescribeCapacityReservations", "ec2:DescribeFleets", "ec2:DescribeInstanceStatus",
		"ec2:DescribeInstances", "ec2:GetConsoleOutput", "ec2:RunInstances", "ec2:TerminateInstances", "iam:PassRole",
		"route53:ChangeResourceRecordSets"},
}
