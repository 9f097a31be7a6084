package cfn

// Tag is a key with a value that most things can carry.
type Tag struct {
	Key   string
	Value Text
}

// VPC is a network.
type VPC struct {
	CidrBlock                            string
	EnableDnsHostnames, EnableDnsSupport bool
	Tags                                 []Tag
}

// Subnet is a part of a VPC in one zone.
type Subnet struct {
	VpcId               Text
	AvailabilityZone    string
	CidrBlock           string
	MapPublicIpOnLaunch bool `json:",omitempty"`
	Tags                []Tag
}

// InternetGateway joins a VPC with the internet.
type InternetGateway struct{ Tags []Tag }

// GatewayAttachment puts an internet gateway to a VPC.
type GatewayAttachment struct{ VpcId, InternetGatewayId Text }

// RouteTable holds routes.
type RouteTable struct {
	VpcId Text
	Tags  []Tag
}

// Route says where packets go.
type Route struct {
	RouteTableId         Text
	DestinationCidrBlock string
	GatewayId            Text `json:",omitzero"`
	NatGatewayId         Text `json:",omitzero"`
}

// SubnetRouteTable gives a subnet its route table.
type SubnetRouteTable struct{ SubnetId, RouteTableId Text }

// VPCEndpoint is a way to a service that stays inside AWS.
type VPCEndpoint struct {
	VpcId           Text
	ServiceName     Text
	VpcEndpointType string
	RouteTableIds   []Text
	Tags            []Tag
}

// EIP is a public address.
type EIP struct {
	Domain string
	Tags   []Tag
}

// EIPAssociation gives a network interface a public address.
type EIPAssociation struct {
	AllocationId       Text `json:",omitzero"`
	EIP                Text `json:",omitzero"`
	NetworkInterfaceId Text
}

// NatGateway lets private subnets reach the internet.
type NatGateway struct {
	AllocationId, SubnetId Text
	Tags                   []Tag
}

// NetworkInterface is one that lives longer than an instance.
type NetworkInterface struct {
	Description string
	SubnetId    Text
	GroupSet    []Text
	Tags        []Tag
}

// SecurityGroup is a firewall around network interfaces.
type SecurityGroup struct {
	GroupDescription     string
	VpcId                Text
	SecurityGroupIngress []Rule `json:",omitempty"`
	SecurityGroupEgress  []Rule `json:",omitempty"`
	Tags                 []Tag
}

// Rule opens ports to and from a network or a group. Without ports it is for all.
type Rule struct {
	Description                string `json:",omitempty"`
	IpProtocol                 string
	FromPort                   int    `json:",omitempty"`
	ToPort                     int    `json:",omitempty"`
	CidrIp                     string `json:",omitempty"`
	CidrIpv6                   string `json:",omitempty"`
	SourcePrefixListId         string `json:",omitempty"`
	SourceSecurityGroupId      Text   `json:",omitzero"`
	DestinationSecurityGroupId Text   `json:",omitzero"`
}

// Ingress is a rule of a security group, apart from it: groups that let each other
// in cannot be written otherwise.
type Ingress struct {
	GroupId Text
	Rule
}

// Egress is Ingress for the other direction.
type Egress struct {
	GroupId Text
	Rule
}

// HostedZone is a private zone of Route 53.
type HostedZone struct {
	Name             string
	HostedZoneConfig Comment
	VPCs             []ZoneVPC
	HostedZoneTags   []Tag
}

// Comment says what a zone is for.
type Comment struct{ Comment string }

// ZoneVPC is a VPC in which a zone is seen.
type ZoneVPC struct {
	VPCId     Text
	VPCRegion string
}

// LoadBalancer is a network load balancer.
type LoadBalancer struct {
	Kind           string `json:"Type"`
	Scheme         string
	Subnets        []Text
	SecurityGroups []Text `json:",omitempty"`
	Tags           []Tag
}

// TargetGroup are the machines behind a load balancer.
type TargetGroup struct {
	Protocol, TargetType, HealthCheckProtocol, HealthCheckPort string
	Port                                                       int
	VpcId                                                      Text
	Tags                                                       []Tag
}

// Listener is a port of a load balancer.
type Listener struct {
	LoadBalancerArn Text
	Protocol        string
	Port            int
	DefaultActions  []Action
}

// Action is what a listener does.
type Action struct {
	Type           string
	TargetGroupArn Text
}

// Type implements Properties.
func (VPC) Type() string               { return "AWS::EC2::VPC" }
func (Subnet) Type() string            { return "AWS::EC2::Subnet" }
func (InternetGateway) Type() string   { return "AWS::EC2::InternetGateway" }
func (GatewayAttachment) Type() string { return "AWS::EC2::VPCGatewayAttachment" }
func (RouteTable) Type() string        { return "AWS::EC2::RouteTable" }
func (Route) Type() string             { return "AWS::EC2::Route" }
func (SubnetRouteTable) Type() string  { return "AWS::EC2::SubnetRouteTableAssociation" }
func (VPCEndpoint) Type() string       { return "AWS::EC2::VPCEndpoint" }
func (EIP) Type() string               { return "AWS::EC2::EIP" }
func (EIPAssociation) Type() string    { return "AWS::EC2::EIPAssociation" }
func (NatGateway) Type() string        { return "AWS::EC2::NatGateway" }
func (NetworkInterface) Type() string  { return "AWS::EC2::NetworkInterface" }
func (SecurityGroup) Type() string     { return "AWS::EC2::SecurityGroup" }
func (Ingress) Type() string           { return "AWS::EC2::SecurityGroupIngress" }
func (Egress) Type() string            { return "AWS::EC2::SecurityGroupEgress" }
func (HostedZone) Type() string        { return "AWS::Route53::HostedZone" }
func (LoadBalancer) Type() string      { return "AWS::ElasticLoadBalancingV2::LoadBalancer" }
func (TargetGroup) Type() string       { return "AWS::ElasticLoadBalancingV2::TargetGroup" }
func (Listener) Type() string          { return "AWS::ElasticLoadBalancingV2::Listener" }
