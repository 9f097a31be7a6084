package account

import "slices"

// ofCalls are the rights for what muster itself calls when it makes a cluster, looks at
// it and takes it down.
var ofCalls = []string{
	"cloudformation:ContinueUpdateRollback", "cloudformation:CreateChangeSet", "cloudformation:DeleteChangeSet", "cloudformation:DeleteStack",
	"cloudformation:DescribeChangeSet", "cloudformation:DescribeStackEvents", "cloudformation:DescribeStacks", "cloudformation:ExecuteChangeSet",
	"cloudformation:GetTemplate", "cloudformation:ListStackResources",
	"ec2:DescribeAvailabilityZones", "ec2:DescribeImages", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstances",
	"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DescribeVolumes", "ec2:DescribeAddresses", "ec2:DescribeNatGateways",
	"ec2:GetConsoleOutput", "ec2:TerminateInstances", "ec2:DeleteKeyPair",
	"logs:DescribeLogGroups", "logs:ListTagsForResource", "tag:GetResources",
	"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:ListBucket", "s3:ListBucketMultipartUploads",
	"s3:ListBucketVersions", "s3:PutObject", "s3:DeleteBucket",
	"route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets",
	"fsx:DescribeFileSystems", "elasticfilesystem:DescribeFileSystems",
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

// ofType are the rights that CloudFormation needs of its caller to make and delete a
// resource: the handlers' permissions in the resource types' schemas,
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
// The first use of a service in an account makes the role that the service works under:
// https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-service-linked-roles.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-api-permissions.html
var ofType = map[string][]string{
	"AWS::AutoScaling::AutoScalingGroup": {"autoscaling:CreateAutoScalingGroup", "autoscaling:DeleteAutoScalingGroup", "autoscaling:DescribeAutoScalingGroups", "autoscaling:PutLifecycleHook",
		"autoscaling:UpdateAutoScalingGroup", "ec2:RunInstances", "iam:CreateServiceLinkedRole", "iam:PassRole"},
	"AWS::CloudFormation::Stack":                {"cloudformation:CreateStack"},
	"AWS::CloudWatch::Alarm":                    {"cloudwatch:DeleteAlarms", "cloudwatch:DescribeAlarms", "cloudwatch:PutMetricAlarm"},
	"AWS::CloudWatch::CompositeAlarm":           {"cloudwatch:PutCompositeAlarm"},
	"AWS::CloudWatch::Dashboard":                {"cloudwatch:DeleteDashboards", "cloudwatch:PutDashboard"},
	"AWS::EC2::EIP":                             {"ec2:AllocateAddress", "ec2:ReleaseAddress"},
	"AWS::EC2::EIPAssociation":                  {"ec2:AssociateAddress", "ec2:DisassociateAddress"},
	"AWS::EC2::Instance":                        {"ec2:CreateTags", "ec2:RunInstances", "iam:PassRole"},
	"AWS::EC2::InternetGateway":                 {"ec2:CreateInternetGateway", "ec2:DeleteInternetGateway", "ec2:DescribeInternetGateways"},
	"AWS::EC2::LaunchTemplate":                  {"ec2:CreateLaunchTemplate", "ec2:CreateLaunchTemplateVersion", "ec2:DeleteLaunchTemplate", "ec2:DescribeLaunchTemplates"},
	"AWS::EC2::NatGateway":                      {"ec2:CreateNatGateway", "ec2:DeleteNatGateway"},
	"AWS::EC2::NetworkInterface":                {"ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:ModifyNetworkInterfaceAttribute"},
	"AWS::EC2::PlacementGroup":                  {"ec2:CreatePlacementGroup", "ec2:DeletePlacementGroup", "ec2:DescribePlacementGroups"},
	"AWS::EC2::Route":                           {"ec2:CreateRoute", "ec2:DeleteRoute", "ec2:DescribeRouteTables"},
	"AWS::EC2::RouteTable":                      {"ec2:CreateRouteTable", "ec2:DeleteRouteTable"},
	"AWS::EC2::SecurityGroup":                   {"ec2:CreateSecurityGroup", "ec2:DeleteSecurityGroup", "ec2:DescribeSecurityGroups"},
	"AWS::EC2::SecurityGroupEgress":             {"ec2:AuthorizeSecurityGroupEgress", "ec2:RevokeSecurityGroupEgress"},
	"AWS::EC2::SecurityGroupIngress":            {"ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"},
	"AWS::EC2::Subnet":                          {"ec2:CreateSubnet", "ec2:DeleteSubnet", "ec2:ModifySubnetAttribute"},
	"AWS::EC2::SubnetRouteTableAssociation":     {"ec2:AssociateRouteTable", "ec2:DisassociateRouteTable"},
	"AWS::EC2::VPC":                             {"ec2:CreateVpc", "ec2:DeleteVpc", "ec2:DescribeVpcs", "ec2:ModifyVpcAttribute"},
	"AWS::EC2::VPCEndpoint":                     {"ec2:CreateVpcEndpoint", "ec2:DeleteVpcEndpoints", "ec2:DescribeVpcEndpoints"},
	"AWS::EC2::VPCGatewayAttachment":            {"ec2:AttachInternetGateway", "ec2:DetachInternetGateway"},
	"AWS::EC2::Volume":                          {"ec2:CreateVolume", "ec2:DeleteVolume"},
	"AWS::EC2::VolumeAttachment":                {"ec2:AttachVolume", "ec2:DetachVolume"},
	"AWS::EFS::FileSystem":                      {"elasticfilesystem:CreateFileSystem", "elasticfilesystem:DeleteFileSystem", "elasticfilesystem:TagResource", "iam:CreateServiceLinkedRole"},
	"AWS::EFS::MountTarget":                     {"elasticfilesystem:CreateMountTarget", "elasticfilesystem:DeleteMountTarget", "elasticfilesystem:DescribeMountTargets"},
	"AWS::ElasticLoadBalancingV2::Listener":     {"elasticloadbalancing:CreateListener", "elasticloadbalancing:DeleteListener"},
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:DescribeLoadBalancers", "iam:CreateServiceLinkedRole"},
	"AWS::ElasticLoadBalancingV2::TargetGroup":  {"elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:DeleteTargetGroup"},
	"AWS::FSx::DataRepositoryAssociation": {"fsx:CreateDataRepositoryAssociation", "fsx:DeleteDataRepositoryAssociation", "fsx:TagResource", "iam:AttachRolePolicy",
		"iam:CreateServiceLinkedRole", "iam:PutRolePolicy"},
	"AWS::FSx::FileSystem":      {"fsx:CreateFileSystem", "fsx:DeleteFileSystem", "fsx:TagResource", "iam:CreateServiceLinkedRole"},
	"AWS::IAM::InstanceProfile": {"iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"},
	"AWS::IAM::Role":            {"iam:AttachRolePolicy", "iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePolicy", "iam:DetachRolePolicy", "iam:GetRole", "iam:PutRolePolicy", "iam:TagRole"},
	"AWS::Logs::LogGroup":       {"logs:CreateLogGroup", "logs:DeleteLogGroup", "logs:PutRetentionPolicy", "logs:TagResource"},
	"AWS::Route53::HostedZone":  {"route53:CreateHostedZone", "route53:DeleteHostedZone", "route53:GetChange"},
	"AWS::S3::Bucket": {"s3:CreateBucket", "s3:PutBucketOwnershipControls", "s3:PutBucketPublicAccessBlock", "s3:PutBucketTagging", "s3:PutBucketVersioning",
		"s3:PutEncryptionConfiguration", "s3:PutLifecycleConfiguration"},
	"AWS::S3::BucketPolicy": {"s3:DeleteBucketPolicy", "s3:PutBucketPolicy"},
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

// onMachines are the actions that each kind of machine needs, where a file brings its
// own role: those of muster's own roles.
var onMachines = map[string][]string{
	"compute": {"s3:GetObject", "s3:ListBucket", "logs:CreateLogStream", "logs:PutLogEvents"},
	"login": {"s3:GetObject", "s3:ListBucket", "logs:CreateLogStream", "logs:PutLogEvents",
		"ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel",
		"ssmmessages:OpenDataChannel"},
	"head": {"s3:GetObject", "s3:ListBucket", "s3:PutObject", "s3:AbortMultipartUpload", "cloudwatch:PutMetricData",
		"logs:CreateLogStream", "logs:PutLogEvents", "ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel",
		"ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
		"ec2:CreateFleet", "ec2:CreateTags", "ec2:DescribeCapacityReservations", "ec2:DescribeFleets", "ec2:DescribeInstanceStatus",
		"ec2:DescribeInstances", "ec2:GetConsoleOutput", "ec2:RunInstances", "ec2:TerminateInstances", "iam:PassRole",
		"route53:ChangeResourceRecordSets"},
}
