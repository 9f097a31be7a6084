package formation

import (
	"time"
)

// kinds are the types of resources that the double can make. A type that is not here
// is refused as CloudFormation refuses one that it does not know. Times are of the
// size that users see; no document gives them.
var kinds = map[string]*kind{
	"AWS::EC2::VPC":                         {takes: 12 * time.Second, create: createVPC, update: updateVPC, remove: removeVPC},
	"AWS::EC2::Subnet":                      {takes: 5 * time.Second, create: createSubnet, update: updateSubnet, remove: removeSubnet},
	"AWS::EC2::InternetGateway":             {takes: 15 * time.Second, create: createGateway, update: retag, remove: removeGateway},
	"AWS::EC2::VPCGatewayAttachment":        {takes: 2 * time.Second, create: attachGateway, remove: detachGateway},
	"AWS::EC2::EIP":                         {takes: 15 * time.Second, create: createAddress, update: updateAddress, remove: removeAddress},
	"AWS::EC2::EIPAssociation":              {takes: 5 * time.Second, create: associateAddress, remove: disassociateAddress},
	"AWS::EC2::NatGateway":                  {takes: 110 * time.Second, goes: 60 * time.Second, create: createNAT, ready: readyNAT, update: retag, remove: removeNAT, gone: goneNAT},
	"AWS::EC2::RouteTable":                  {takes: 10 * time.Second, create: createRouteTable, update: retag, remove: removeRouteTable},
	"AWS::EC2::Route":                       {takes: 5 * time.Second, create: createRoute, update: updateRoute, remove: removeRoute},
	"AWS::EC2::SubnetRouteTableAssociation": {takes: 3 * time.Second, create: associateRouteTable, remove: disassociateRouteTable},
	"AWS::EC2::VPCEndpoint":                 {takes: 20 * time.Second, goes: 30 * time.Second, create: createEndpoint, update: updateEndpoint, remove: removeEndpoint},
	"AWS::EC2::SecurityGroup":               {takes: 6 * time.Second, create: createGroup, update: updateGroup, remove: removeGroup},
	"AWS::EC2::SecurityGroupIngress":        {takes: 2 * time.Second, create: createRule, remove: removeRule},
	"AWS::EC2::SecurityGroupEgress":         {takes: 2 * time.Second, create: createRule, remove: removeRule},
	"AWS::EC2::NetworkInterface":            {takes: 5 * time.Second, create: createInterface, update: updateInterface, remove: removeInterface},
	"AWS::EC2::PlacementGroup":              {takes: 5 * time.Second, create: createPlacementGroup, remove: removePlacementGroup},
	"AWS::EC2::LaunchTemplate":              {takes: 6 * time.Second, create: createTemplate, update: updateTemplate, remove: removeTemplate, name: "LaunchTemplateName"},
	"AWS::EC2::Instance":                    {takes: 20 * time.Second, goes: 20 * time.Second, create: createInstance, ready: readyInstance, update: updateInstance, remove: removeInstance, gone: goneInstance},
	"AWS::EC2::Volume":                      {takes: 10 * time.Second, create: createVolume, ready: readyVolume, update: updateVolume, remove: removeVolume},
	"AWS::EC2::VolumeAttachment":            {takes: 10 * time.Second, create: attachVolume, remove: detachVolume},

	"AWS::IAM::Role":            {takes: 18 * time.Second, create: createRole, update: updateRole, remove: removeRole, name: "RoleName"},
	"AWS::IAM::InstanceProfile": {takes: 120 * time.Second, create: createProfile, update: updateProfile, remove: removeProfile, name: "InstanceProfileName"},
	"AWS::IAM::ManagedPolicy":   {takes: 18 * time.Second, create: createPolicy, update: updatePolicy, remove: removePolicy, name: "ManagedPolicyName"},
	"AWS::IAM::Policy":          {takes: 16 * time.Second, create: createInline, update: updateInline, remove: removeInline},
	"AWS::IAM::RolePolicy":      {takes: 16 * time.Second, create: createInline, update: updateInline, remove: removeInline},

	"AWS::S3::Bucket":                     {takes: 20 * time.Second, create: createBucket, update: updateBucket, remove: removeBucket, name: "BucketName"},
	"AWS::S3::BucketPolicy":               {takes: 2 * time.Second, create: putBucketPolicy, update: putBucketPolicy, remove: removeBucketPolicy},
	"AWS::FSx::FileSystem":                {create: createFSx, ready: readyFSx, update: updateFSx, remove: removeFSx, gone: goneFSx},
	"AWS::FSx::DataRepositoryAssociation": {create: createDRA, ready: readyDRA, update: updateDRA, remove: removeDRA, gone: goneDRA},
	"AWS::EFS::FileSystem":                {takes: 10 * time.Second, create: createEFS, ready: readyEFS, update: updateEFS, remove: removeEFS, gone: goneEFS},
	"AWS::EFS::MountTarget":               {takes: 90 * time.Second, create: createMountTarget, ready: readyMountTarget, update: updateMountTarget, remove: removeMountTarget, gone: goneMountTarget},

	"AWS::Route53::HostedZone":        {takes: 45 * time.Second, create: createZone, update: updateZone, remove: removeZone},
	"AWS::Route53::RecordSet":         {takes: 45 * time.Second, create: putRecord, update: putRecord, remove: removeRecord},
	"AWS::Logs::LogGroup":             {takes: 3 * time.Second, create: createLogGroup, update: updateLogGroup, remove: removeLogGroup, name: "LogGroupName"},
	"AWS::CloudWatch::Dashboard":      {takes: 2 * time.Second, create: putDashboard, update: putDashboard, remove: removeDashboard, name: "DashboardName"},
	"AWS::CloudWatch::Alarm":          {takes: 3 * time.Second, create: putAlarm, update: putAlarm, remove: removeAlarm, name: "AlarmName"},
	"AWS::CloudWatch::CompositeAlarm": {takes: 3 * time.Second, create: putComposite, update: putComposite, remove: removeAlarm, name: "AlarmName"},

	stackType: {create: createNested, ready: readyNested, update: updateNested, remove: removeNested, gone: goneNested},

	"AWS::ElasticLoadBalancingV2::LoadBalancer": {takes: 120 * time.Second, create: createBalancer, update: updateBalancer, remove: removeBalancer, name: "Name"},
	"AWS::ElasticLoadBalancingV2::TargetGroup":  {takes: 5 * time.Second, create: createTargets, update: updateTargets, remove: removeTargets, name: "Name"},
	"AWS::ElasticLoadBalancingV2::Listener":     {takes: 5 * time.Second, create: createListener, update: updateListener, remove: removeListener},
	"AWS::AutoScaling::AutoScalingGroup":        {takes: 30 * time.Second, goes: 30 * time.Second, create: createScaling, update: updateScaling, remove: removeScaling, name: "AutoScalingGroupName"},
}

// alsoAttributes are attributes for GetAtt that the schemas do not list as read-only,
// as they are properties, too; the template reference has them as return values.
var alsoAttributes = map[string][]string{
	"AWS::EC2::VPC":           {"CidrBlock"},
	"AWS::EC2::Subnet":        {"AvailabilityZone", "CidrBlock", "VpcId"},
	"AWS::EC2::SecurityGroup": {"VpcId"},
	"AWS::EC2::Instance":      {"AvailabilityZone"},
}

// steps does several things one after the other, up to the first failure.
func steps(all ...func() error) error {
	for _, f := range all {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
