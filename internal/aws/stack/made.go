package stack

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/aws/cfn"
)

// Made is a resource of a cluster in words.
type Made struct {
	// Stack is the stack's name, ID the resource's in it.
	Stack string `json:"stack"`
	ID    string `json:"id"`
	// Type is CloudFormation's.
	Type string `json:"type"`
	// Name is what people know it by; What it is in words.
	Name string `json:"name,omitempty"`
	What string `json:"what"`
	// Billed says by what it costs as long as it is there; empty if it is free.
	Billed string `json:"billed,omitempty"`
	// Kept says that it outlives its stack.
	Kept bool `json:"kept,omitempty"`
}

// Resources are all that the stacks make, in the order of the templates.
func (s Set) Resources() []Made {
	var all []Made
	for _, one := range s.Stacks() {
		for _, r := range one.Template.Resources {
			made := Made{Stack: one.Name, ID: r.ID, Type: r.Properties.Type(), Kept: r.Policy == cfn.Retain}
			made.describe(r.Properties)
			all = append(all, made)
		}
	}
	return all
}

// describe says what a resource is, and what it costs by.
func (d *Made) describe(p cfn.Properties) {
	switch p := p.(type) {
	case cfn.VPC:
		d.What = "network " + p.CidrBlock
	case cfn.Subnet:
		d.What = "subnet " + p.CidrBlock + " in " + p.AvailabilityZone
	case cfn.NatGateway:
		d.What, d.Billed = "NAT gateway", "the hour and the GB"
	case cfn.EIP:
		d.What, d.Billed = "public address", "the hour"
	case cfn.Bucket:
		d.Name, d.What, d.Billed = p.BucketName, "bucket", "what it holds"
	case cfn.LogGroup:
		d.Name, d.What, d.Billed = p.LogGroupName, "logs", "what is written"
	case cfn.FileSystem:
		d.Name, d.What, d.Billed = name(p.Tags), fmt.Sprintf("%s, %d GiB", fileSystemWords(p.FileSystemType), p.StorageCapacity), "its size"
	case cfn.DataRepository:
		d.Name, d.What = name(p.Tags), p.FileSystemPath+" linked with "+p.DataRepositoryPath
	case cfn.ElasticFileSystem:
		d.Name, d.What, d.Billed = name(p.FileSystemTags), "EFS file system", "what it holds"
	case cfn.Volume:
		d.Name, d.What, d.Billed = name(p.Tags), fmt.Sprintf("%s volume of %d GiB", p.VolumeType, p.Size), "its size"
	case cfn.LaunchTemplate:
		d.Name, d.What = p.LaunchTemplateName, "launch template"
	case cfn.Instance:
		d.Name, d.What, d.Billed = name(p.Tags), "head node", "the hour"
	case cfn.AutoScalingGroup:
		d.What, d.Billed = p.DesiredCapacity+" login nodes", "the hour"
	case cfn.LoadBalancer:
		d.Name, d.What, d.Billed = name(p.Tags), "load balancer", "the hour"
	case cfn.Stack:
		d.Name, d.What, d.Billed = p.TemplateURL, "template of your own", "what it makes"
	case cfn.HostedZone:
		d.Name, d.What, d.Billed = p.Name, "private DNS zone", "the month"
	case cfn.Dashboard:
		d.Name, d.What, d.Billed = p.DashboardName, "dashboard", "the month"
	case cfn.Alarm:
		d.Name, d.What, d.Billed = p.AlarmName, "alarm", "the month"
	case cfn.CompositeAlarm:
		d.Name, d.What, d.Billed = p.AlarmName, "alarm over alarms", "the month"
	default:
		d.What = plainWords(p)
	}
}

// fileSystemWords are AWS's name of a kind of file system.
func fileSystemWords(kind string) string {
	switch kind {
	case "LUSTRE":
		return "FSx for Lustre"
	case "OPENZFS":
		return "FSx for OpenZFS"
	case "ONTAP":
		return "FSx for ONTAP"
	}
	return "FSx for " + kind
}

// plainWords are for resources that are free.
func plainWords(p cfn.Properties) string {
	switch p.(type) {
	case cfn.InternetGateway:
		return "internet gateway"
	case cfn.GatewayAttachment:
		return "internet gateway at the network"
	case cfn.RouteTable:
		return "route table"
	case cfn.Route:
		return "route"
	case cfn.SubnetRouteTable:
		return "route table of a subnet"
	case cfn.VPCEndpoint:
		return "way to S3 inside AWS"
	case cfn.SecurityGroup:
		return "security group"
	case cfn.Ingress, cfn.Egress:
		return "rule of a security group"
	case cfn.BucketPolicy:
		return "policy of a bucket"
	case cfn.MountTarget:
		return "address of an EFS file system in a zone"
	case cfn.Role:
		return "role"
	case cfn.InstanceProfile:
		return "instance profile"
	case cfn.PlacementGroup:
		return "placement group"
	case cfn.NetworkInterface:
		return "network interface"
	case cfn.EIPAssociation:
		return "public address at the head node"
	case cfn.VolumeAttachment:
		return "volume at the head node"
	case cfn.TargetGroup:
		return "machines behind a load balancer"
	case cfn.Listener:
		return "port of a load balancer"
	}
	return p.Type()
}

func name(tags []cfn.Tag) string {
	for _, t := range tags {
		if t.Key == "Name" {
			text, _ := t.Value.Literal()
			return text
		}
	}
	return ""
}
