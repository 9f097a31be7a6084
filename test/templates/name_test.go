package templates

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// inside marks types that are told as parts of other things: rights, traffic, the
// head node.
const inside = "inside"

// kinds are the names of types.
var kinds = map[string]string{
	"AWS::AutoScaling::AutoScalingGroup":        "auto scaling group",
	"AWS::CloudFormation::CustomResource":       "custom resource",
	"AWS::CloudFormation::Stack":                "nested stack",
	"AWS::CloudFormation::WaitCondition":        "wait condition",
	"AWS::CloudFormation::WaitConditionHandle":  "wait condition's handle",
	"AWS::CloudWatch::Alarm":                    "alarm",
	"AWS::CloudWatch::CompositeAlarm":           "alarm over alarms",
	"AWS::CloudWatch::Dashboard":                "dashboard",
	"AWS::DynamoDB::Table":                      "table",
	"AWS::EC2::EIP":                             "public address",
	"AWS::EC2::EIPAssociation":                  "public address in use",
	"AWS::EC2::InternetGateway":                 "internet gateway",
	"AWS::EC2::LaunchTemplate":                  "launch template",
	"AWS::EC2::NatGateway":                      "NAT gateway",
	"AWS::EC2::NetworkInterface":                inside,
	"AWS::EC2::PlacementGroup":                  "placement group",
	"AWS::EC2::Route":                           "route",
	"AWS::EC2::RouteTable":                      "route table",
	"AWS::EC2::SecurityGroup":                   inside,
	"AWS::EC2::SecurityGroupEgress":             inside,
	"AWS::EC2::SecurityGroupIngress":            inside,
	"AWS::EC2::Subnet":                          "subnet",
	"AWS::EC2::SubnetRouteTableAssociation":     "route table in use",
	"AWS::EC2::VPC":                             "VPC",
	"AWS::EC2::VPCEndpoint":                     "endpoint",
	"AWS::EC2::VPCGatewayAttachment":            "internet gateway in use",
	"AWS::EC2::Volume":                          "volume",
	"AWS::EC2::VolumeAttachment":                "volume in use",
	"AWS::EFS::FileSystem":                      "file system",
	"AWS::EFS::MountTarget":                     "mount target",
	"AWS::ElasticLoadBalancingV2::Listener":     "load balancer's port",
	"AWS::ElasticLoadBalancingV2::LoadBalancer": "load balancer",
	"AWS::ElasticLoadBalancingV2::TargetGroup":  "load balancer's target",
	"AWS::FSx::DataRepositoryAssociation":       "data repository association",
	"AWS::FSx::FileSystem":                      "file system",
	"AWS::IAM::InstanceProfile":                 inside,
	"AWS::IAM::Policy":                          inside,
	"AWS::IAM::Role":                            "role",
	"AWS::Lambda::Function":                     "function",
	"AWS::Logs::LogGroup":                       "log group",
	"AWS::Logs::MetricFilter":                   "metric of logs",
	"AWS::Route53::HostedZone":                  "DNS zone",
	"AWS::S3::Bucket":                           "bucket",
	"AWS::S3::BucketPolicy":                     "bucket's policy",
}

// called is what a resource is called in both worlds: its kind, and what it is for.
func (w world) called(id string) string {
	r, ok := w.resources[id]
	if !ok {
		return id
	}
	return strings.TrimSpace(kinds[r.Type] + " " + w.purpose(id, r))
}

// purpose tells a resource from others of its type, as far as templates say it.
func (w world) purpose(id string, r resource) string {
	switch r.Type {
	case "AWS::FSx::FileSystem", "AWS::EC2::Volume":
		return strings.TrimPrefix(tag(r.Properties["Tags"], "Name"), w.cluster+"-")
	case "AWS::EFS::FileSystem":
		// Where the file wants homes on EFS, and names no file system for them.
		name := strings.Replace(tag(r.Properties["FileSystemTags"], "Name"), "internal_pcluster_shared", "home", 1)
		return strings.TrimPrefix(name, w.cluster+"-")
	case "AWS::EC2::VolumeAttachment":
		return w.purposeOf(r.Properties["VolumeId"])
	case "AWS::FSx::DataRepositoryAssociation":
		return w.purposeOf(r.Properties["FileSystemId"]) + ":" + fmt.Sprint(r.Properties["FileSystemPath"])
	case "AWS::EFS::MountTarget":
		return w.purposeOf(r.Properties["FileSystemId"]) + " in " + fmt.Sprint(r.Properties["SubnetId"])
	case "AWS::CloudWatch::Alarm":
		if r.Properties["TreatMissingData"] == "breaching" {
			return "on silence"
		}
		return fmt.Sprint(r.Properties["MetricName"])
	case "AWS::Logs::LogGroup":
		if strings.Contains(fmt.Sprint(r.Properties["LogGroupName"]), "/lambda/") {
			return "of a function"
		}
		return ""
	case "AWS::DynamoDB::Table":
		return fmt.Sprint(r.Properties["TableName"])
	case "AWS::EC2::PlacementGroup":
		return w.users(func(m machine) bool {
			return follow(at(w.resources[m.template].Properties, "LaunchTemplateData.Placement.GroupName")) == id
		})
	case "AWS::EC2::LaunchTemplate":
		return w.users(func(m machine) bool { return m.template == id })
	case "AWS::AutoScaling::AutoScalingGroup", "AWS::ElasticLoadBalancingV2::LoadBalancer", "AWS::ElasticLoadBalancingV2::TargetGroup":
		return strings.TrimPrefix(tag(r.Properties["Tags"], "parallelcluster:login-nodes-pool", "Name"), w.cluster+"-")
	case "AWS::ElasticLoadBalancingV2::Listener":
		return w.purposeOf(r.Properties["LoadBalancerArn"]) + " " + fmt.Sprint(r.Properties["Port"])
	case "AWS::CloudWatch::CompositeAlarm", "AWS::CloudWatch::Dashboard", "AWS::EC2::EIP", "AWS::EC2::EIPAssociation", "AWS::EC2::VPC",
		"AWS::Route53::HostedZone", "AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle":
		return ""
	}
	return id
}

func (w world) purposeOf(v any) string { return w.purpose(follow(v), w.resources[follow(v)]) }

// users are the machines that use something.
func (w world) users(uses func(machine) bool) string {
	var roles []string
	for _, m := range w.machines() {
		if uses(m) {
			roles = append(roles, m.role)
		}
	}
	return strings.Join(roles, ", ")
}

// madeSubnets are where the recordings are, for a file that names no subnet.
var madeSubnets = regexp.MustCompile(`\bsubnet-0123456789abcdef[01]\b`)

var (
	inText  = regexp.MustCompile(`\$\{([^:}]+?)(\.[^}]*)?\}`)
	imageID = regexp.MustCompile(`\bami-[0-9a-z]+\b`)
	vpcID   = regexp.MustCompile(`\bvpc-[0-9a-z]+\b`)
	address = regexp.MustCompile(`\beipalloc-[0-9a-z]+\b`)
	region  = regexp.MustCompile(`\b[a-z]{2}-[a-z]+-\d([a-f]?)\b`)
)

// words writes a value so that it is the same in both worlds if it means the same.
func (w world) words(text string) string {
	text = w.refer(text)
	text = imageID.ReplaceAllStringFunc(text, func(id string) string {
		if strings.Contains(w.file, id) {
			return id
		}
		return "[official image]"
	})
	// A name alone may be a queue's, or "spot".
	text = regexp.MustCompile(`(^|parallelcluster-)`+regexp.QuoteMeta(w.cluster)+`([-.]|$)`).ReplaceAllStringFunc(text, func(m string) string {
		if m == w.cluster && m != recorded {
			return m
		}
		return strings.Replace(m, w.cluster, "NAME", 1)
	})
	words := strings.Split(text, ", ")
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// refer writes references to resources, and what recordings and goldens made up, as
// what they are.
func (w world) refer(text string) string {
	text = inText.ReplaceAllStringFunc(text, func(m string) string {
		id := inText.FindStringSubmatch(m)[1]
		r, ok := w.resources[id]
		switch {
		case !ok:
			return m
		case r.Type == "AWS::EC2::SecurityGroup":
			return "[group]"
		case r.Type == "AWS::EC2::NetworkInterface", r.Type == "AWS::EC2::Instance":
			return "[head node]"
		case r.Type == "AWS::EC2::VPC":
			return "[network]"
		case r.Type == "AWS::EC2::Subnet":
			return "[subnet]"
		case r.Type == "AWS::S3::Bucket":
			return "[bucket]"
		case r.Type == "AWS::IAM::InstanceProfile", r.Type == "AWS::IAM::Role":
			return "[own]"
		}
		return "[" + w.called(id) + "]"
	})
	text = madeSubnets.ReplaceAllString(strings.ReplaceAll(text, "recorded-bucket", "[bucket]"), "[subnet]")
	text = strings.ReplaceAll(text, "/"+w.cluster+"/", "/NAME/")
	text = vpcID.ReplaceAllString(text, "[network]")
	text = address.ReplaceAllString(text, "[address]")
	return region.ReplaceAllStringFunc(text, func(name string) string {
		if name[len(name)-1] > '9' {
			return "[zone]"
		}
		return "${AWS::Region}"
	})
}
