package formation

import (
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// kinds are the types of resources that the double can make. A type that is not here
// is refused as CloudFormation refuses one that it does not know. Times are of the
// size that users see; no document gives them.
var kinds = merge(networks, machines, identities, storage, names, balancers)

func merge(all ...map[string]*kind) map[string]*kind {
	out := map[string]*kind{}
	for _, some := range all {
		maps.Copy(out, some)
	}
	return out
}

var networks = map[string]*kind{
	"AWS::EC2::VPC": {takes: 12 * time.Second,
		create: all(makes(onEC2, (*ec2.Client).CreateVpc, recipe{tags: "vpc", apart: []string{"EnableDnsHostnames", "EnableDnsSupport"},
			in: "Vpc", id: "VpcId", att: "VpcId CidrBlock"}), setDNS, findDefaultGroup),
		update: all(setDNS, retag), remove: all(emptyVPC, removes(onEC2, (*ec2.Client).DeleteVpc, "VpcId"))},
	"AWS::EC2::Subnet": {takes: 5 * time.Second,
		create: all(makes(onEC2, (*ec2.Client).CreateSubnet, recipe{tags: "subnet", apart: []string{"MapPublicIpOnLaunch"},
			in: "Subnet", id: "SubnetId", att: "SubnetId VpcId AvailabilityZone CidrBlock"}), setPublic),
		update: all(setPublic, retag),
		remove: all(unused("subnet-id", "DeleteSubnet", "The subnet '%s' has dependencies and cannot be deleted."),
			removes(onEC2, (*ec2.Client).DeleteSubnet, "SubnetId"))},
	"AWS::EC2::InternetGateway": {takes: 15 * time.Second, update: retag, remove: removes(onEC2, (*ec2.Client).DeleteInternetGateway, "InternetGatewayId"),
		create: makes(onEC2, (*ec2.Client).CreateInternetGateway, recipe{tags: "internet-gateway",
			in: "InternetGateway", id: "InternetGatewayId", att: "InternetGatewayId"})},
	"AWS::EC2::VPCGatewayAttachment": {takes: 2 * time.Second, create: all(sends(onEC2, (*ec2.Client).AttachInternetGateway, nil), gatewayAttached),
		remove: sends(onEC2, (*ec2.Client).DetachInternetGateway, nil, "Gateway.NotAttached")},
	"AWS::EC2::EIP": {takes: 15 * time.Second, update: updateAddress, remove: removeAddress,
		create: all(makes(onEC2, (*ec2.Client).AllocateAddress, recipe{tags: "elastic-ip", apart: []string{"InstanceId"},
			id: "PublicIp", att: "AllocationId PublicIp"}), useAddress)},
	"AWS::EC2::EIPAssociation": {takes: 5 * time.Second, remove: removes(onEC2, (*ec2.Client).DisassociateAddress, "AssociationId"),
		create: makes(onEC2, (*ec2.Client).AssociateAddress, recipe{renames: map[string]string{"EIP": "PublicIp"}, id: "AssociationId", att: "Id=AssociationId"})},
	"AWS::EC2::NatGateway": {takes: 110 * time.Second, goes: 60 * time.Second, ready: readyNAT, update: retag, gone: goneNAT,
		create: all(makes(onEC2, (*ec2.Client).CreateNatGateway, recipe{tags: "natgateway", in: "NatGateway", id: "NatGatewayId", att: "NatGatewayId"}), findNIC),
		remove: removes(onEC2, (*ec2.Client).DeleteNatGateway, "NatGatewayId")},
	"AWS::EC2::RouteTable": {takes: 10 * time.Second, update: retag, remove: removes(onEC2, (*ec2.Client).DeleteRouteTable, "RouteTableId"),
		create: makes(onEC2, (*ec2.Client).CreateRouteTable, recipe{tags: "route-table", in: "RouteTable", id: "RouteTableId", att: "RouteTableId"})},
	"AWS::EC2::Route": {takes: 5 * time.Second, create: all(sends(onEC2, (*ec2.Client).CreateRoute, nil), routed),
		update: sends(onEC2, (*ec2.Client).ReplaceRoute, nil),
		remove: sends(onEC2, (*ec2.Client).DeleteRoute, []string{"RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId"})},
	"AWS::EC2::SubnetRouteTableAssociation": {takes: 3 * time.Second, remove: removes(onEC2, (*ec2.Client).DisassociateRouteTable, "AssociationId"),
		create: makes(onEC2, (*ec2.Client).AssociateRouteTable, recipe{id: "AssociationId", att: "Id=AssociationId"})},
	"AWS::EC2::VPCEndpoint": {takes: 20 * time.Second, goes: 30 * time.Second, update: updateEndpoint,
		create: makes(onEC2, (*ec2.Client).CreateVpcEndpoint, recipe{tags: "vpc-endpoint", in: "VpcEndpoint", id: "VpcEndpointId", att: "Id=VpcEndpointId"}),
		remove: removes(onEC2, (*ec2.Client).DeleteVpcEndpoints, "VpcEndpointIds")},
	"AWS::EC2::SecurityGroup": {takes: 6 * time.Second, update: all(setRules, retag),
		create: all(makes(onEC2, (*ec2.Client).CreateSecurityGroup, recipe{tags: "security-group", apart: []string{"SecurityGroupIngress", "SecurityGroupEgress"},
			renames: map[string]string{"GroupDescription": "Description"}, name: "GroupName", most: 255, id: "GroupId", att: "GroupId Id=GroupId"}), groupInVPC, setRules),
		remove: all(unused("group-id", "DeleteSecurityGroup", "resource %s has a dependent object"), removes(onEC2, (*ec2.Client).DeleteSecurityGroup, "GroupId"))},
	"AWS::EC2::SecurityGroupIngress": {takes: 2 * time.Second, create: createRule, remove: removeRule},
	"AWS::EC2::SecurityGroupEgress":  {takes: 2 * time.Second, create: createRule, remove: removeRule},
	"AWS::EC2::NetworkInterface": {takes: 5 * time.Second, update: updateInterface, remove: removes(onEC2, (*ec2.Client).DeleteNetworkInterface, "NetworkInterfaceId"),
		create: makes(onEC2, (*ec2.Client).CreateNetworkInterface, recipe{tags: "network-interface", apart: []string{"SourceDestCheck"},
			renames: map[string]string{"GroupSet": "Groups"}, in: "NetworkInterface", id: "NetworkInterfaceId", att: "Id=NetworkInterfaceId PrimaryPrivateIpAddress=PrivateIpAddress VpcId"})},
}

var machines = map[string]*kind{
	"AWS::EC2::PlacementGroup": {takes: 5 * time.Second, remove: removePlacementGroup,
		create: makes(onEC2, (*ec2.Client).CreatePlacementGroup, recipe{tags: "placement-group", name: "GroupName", most: 255,
			in: "PlacementGroup", id: "GroupName", att: "GroupName GroupId"})},
	"AWS::EC2::LaunchTemplate": {takes: 6 * time.Second, name: "LaunchTemplateName", create: createTemplate, update: updateTemplate,
		remove: removes(onEC2, (*ec2.Client).DeleteLaunchTemplate, "LaunchTemplateId")},
	"AWS::EC2::Instance": {takes: 20 * time.Second, goes: 20 * time.Second, create: createInstance, ready: readyInstance, update: updateInstance,
		remove: removes(onEC2, (*ec2.Client).TerminateInstances, "InstanceIds"), gone: goneInstance},
	"AWS::EC2::Volume": {takes: 10 * time.Second, create: makes(onEC2, (*ec2.Client).CreateVolume, recipe{tags: "volume", id: "VolumeId", att: "VolumeId"}),
		ready: is(looks(onEC2, (*ec2.Client).DescribeVolumes, "VolumeIds", "Volumes", "State"), "available", "in-use"), update: updateVolume, remove: removeVolume},
	"AWS::EC2::VolumeAttachment": {takes: 10 * time.Second, create: all(sends(onEC2, (*ec2.Client).AttachVolume, nil), volumeAttached), remove: detachVolume},
}

var identities = map[string]*kind{
	"AWS::IAM::Role": {takes: 18 * time.Second, name: "RoleName", update: updateRole,
		create: all(makes(onIAM, (*iam.Client).CreateRole, recipe{tags: "Tags", apart: []string{"Policies", "ManagedPolicyArns"},
			name: "RoleName", most: 64, in: "Role", id: "RoleName", att: "Arn RoleId"}), grant),
		remove: all(undone(grant), removes(onIAM, (*iam.Client).DeleteRole, "RoleName"))},
	"AWS::IAM::InstanceProfile": {takes: 120 * time.Second, name: "InstanceProfileName", update: setProfileRoles,
		create: all(makes(onIAM, (*iam.Client).CreateInstanceProfile, recipe{apart: []string{"Roles"}, name: "InstanceProfileName", most: 128,
			in: "InstanceProfile", id: "InstanceProfileName", att: "Arn"}), setProfileRoles),
		remove: all(undone(setProfileRoles), removes(onIAM, (*iam.Client).DeleteInstanceProfile, "InstanceProfileName"))},
}

var storage = map[string]*kind{
	"AWS::S3::Bucket":       {takes: 20 * time.Second, create: createBucket, update: updateBucket, remove: removeBucket, name: "BucketName"},
	"AWS::S3::BucketPolicy": {takes: 2 * time.Second, create: putBucketPolicy, update: putBucketPolicy, remove: removeBucketPolicy},
	"AWS::FSx::FileSystem":  {create: createFSx, ready: readyFSx, update: updateFSx, remove: removeFSx, gone: goneFSx},
	"AWS::FSx::DataRepositoryAssociation": {ready: readyDRA, update: updateDRA, remove: removeDRA, gone: goneDRA,
		create: makes(onFSx, (*fsx.Client).CreateDataRepositoryAssociation, recipe{tags: "Tags", token: "ClientRequestToken",
			in: "Association", id: "AssociationId", att: "AssociationId ResourceARN"})},
	"AWS::EFS::FileSystem": {takes: 10 * time.Second, ready: is(stateEFS, "available"), update: updateEFS, gone: is(stateEFS, ""),
		create: all(makes(onEFS, (*efs.Client).CreateFileSystem, recipe{tags: "Tags", token: "CreationToken", apart: []string{"LifecyclePolicies", "BackupPolicy"},
			id: "FileSystemId", att: "FileSystemId Arn=FileSystemArn"}), setPolicies),
		remove: removes(onEFS, (*efs.Client).DeleteFileSystem, "FileSystemId")},
	"AWS::EFS::MountTarget": {takes: 90 * time.Second, update: updateMountTarget, gone: goneMountTarget,
		create: makes(onEFS, (*efs.Client).CreateMountTarget, recipe{id: "MountTargetId", att: "Id=MountTargetId IpAddress"}),
		ready:  is(looks(onEFS, (*efs.Client).DescribeMountTargets, "MountTargetId", "MountTargets", "LifeCycleState"), "available"),
		remove: removes(onEFS, (*efs.Client).DeleteMountTarget, "MountTargetId")},
}

var names = map[string]*kind{
	"AWS::Route53::HostedZone": {takes: 45 * time.Second, create: createZone, update: updateZone,
		remove: removes(onRoute53, (*route53.Client).DeleteHostedZone, "Id")}, // fails while there are records but its own two
	"AWS::Logs::LogGroup": {takes: 3 * time.Second, name: "LogGroupName", create: createLogGroup, update: all(setRetention, retagLogGroup),
		remove: removes(onLogs, (*cloudwatchlogs.Client).DeleteLogGroup, "LogGroupName")},
	"AWS::CloudWatch::Dashboard": {takes: 2 * time.Second, name: "DashboardName", create: putDashboard, update: putDashboard,
		remove: removes(onWatch, (*cloudwatch.Client).DeleteDashboards, "DashboardNames")},
	"AWS::CloudWatch::Alarm": {takes: 3 * time.Second, name: "AlarmName", create: putsAlarm((*cloudwatch.Client).PutMetricAlarm),
		update: putsAlarm((*cloudwatch.Client).PutMetricAlarm), remove: removes(onWatch, (*cloudwatch.Client).DeleteAlarms, "AlarmNames")},
	"AWS::CloudWatch::CompositeAlarm": {takes: 3 * time.Second, name: "AlarmName", create: putsAlarm((*cloudwatch.Client).PutCompositeAlarm),
		update: putsAlarm((*cloudwatch.Client).PutCompositeAlarm), remove: removes(onWatch, (*cloudwatch.Client).DeleteAlarms, "AlarmNames")},
	stackType: {create: createNested, ready: readyNested, update: updateNested, gone: goneNested,
		remove: removes(onFormation, (*cloudformation.Client).DeleteStack, "StackName")},
}

var balancers = map[string]*kind{
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {takes: 120 * time.Second, name: "Name", create: createBalancer, update: updateBalancer,
		remove: plainly(balancing, "DeleteLoadBalancer", "LoadBalancerArn")},
	"AWS::ElasticLoadBalancingV2::TargetGroup": {takes: 5 * time.Second, name: "Name", create: createTargets, update: updateTargets,
		remove: plainly(balancing, "DeleteTargetGroup", "TargetGroupArn")},
	"AWS::ElasticLoadBalancingV2::Listener": {takes: 5 * time.Second, create: createListener, update: updateListener,
		remove: plainly(balancing, "DeleteListener", "ListenerArn")},
	"AWS::AutoScaling::AutoScalingGroup": {takes: 30 * time.Second, goes: 30 * time.Second, name: "AutoScalingGroupName",
		create: createScaling, update: updateScaling, remove: removeScaling},
}

// alsoAttributes are attributes for GetAtt that the schemas do not list as read-only,
// as they are properties, too; the template reference has them as return values.
var alsoAttributes = map[string][]string{
	"AWS::EC2::VPC":           {"CidrBlock"},
	"AWS::EC2::Subnet":        {"AvailabilityZone", "CidrBlock", "VpcId"},
	"AWS::EC2::SecurityGroup": {"VpcId"},
	"AWS::EC2::Instance":      {"AvailabilityZone"},
}
