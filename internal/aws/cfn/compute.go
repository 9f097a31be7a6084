package cfn

import (
	"encoding/json"
	"errors"
	"fmt"
)

// LaunchTemplate is how instances are started.
type LaunchTemplate struct {
	LaunchTemplateName string `json:",omitempty"`
	LaunchTemplateData LaunchTemplateData
	TagSpecifications  []TagSpecification
}

// TagSpecification are tags for what a call makes.
type TagSpecification struct {
	ResourceType string
	Tags         []Tag
}

// LaunchTemplateData is what instances get.
type LaunchTemplateData struct {
	ImageId                           string
	InstanceType                      string `json:",omitempty"`
	KeyName                           string `json:",omitempty"`
	EbsOptimized                      *bool  `json:",omitempty"`
	InstanceInitiatedShutdownBehavior string `json:",omitempty"`
	IamInstanceProfile                Profile
	Monitoring                        *Monitoring `json:",omitempty"`
	MetadataOptions                   Metadata
	CpuOptions                        *CPUs                     `json:",omitempty"`
	Placement                         *Placement                `json:",omitempty"`
	CapacityReservationSpecification  *ReservationSpecification `json:",omitempty"`
	InstanceMarketOptions             *Market                   `json:",omitempty"`
	NetworkInterfaces                 []Interface
	BlockDeviceMappings               []Device
	UserData                          Text
	TagSpecifications                 []TagSpecification
	// Overrides is a JSON object whose values replace those above.
	Overrides json.RawMessage `json:"-"`
}

// MarshalJSON writes the data with its overrides.
func (d LaunchTemplateData) MarshalJSON() ([]byte, error) {
	type bare LaunchTemplateData
	body, err := marshal(bare(d))
	if err != nil || len(d.Overrides) == 0 {
		return body, err
	}
	all, other := map[string]json.RawMessage{}, map[string]any{}
	if err := errors.Join(json.Unmarshal(body, &all), json.Unmarshal(d.Overrides, &other)); err != nil {
		return nil, fmt.Errorf("read the overrides of a launch template: %w", err)
	}
	for key, value := range other {
		if value = pruned(value); value == nil {
			continue
		}
		if all[key], err = marshal(value); err != nil {
			return nil, err
		}
	}
	return marshal(all)
}

// pruned is a value without the nulls in it: AWS's SDK writes them for absent
// fields.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if v[key] = pruned(inner); v[key] == nil {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}
	return v
}

// Profile names an instance profile.
type Profile struct {
	Arn  Text `json:",omitzero"`
	Name Text `json:",omitzero"`
}

// Monitoring is detailed if it is enabled.
type Monitoring struct{ Enabled bool }

// Metadata is how the instance metadata service answers.
type Metadata struct {
	HttpEndpoint, HttpTokens string
	HttpPutResponseHopLimit  int
	InstanceMetadataTags     string
}

// CPUs are the cores and threads of an instance.
type CPUs struct{ CoreCount, ThreadsPerCore int }

// Placement puts instances close together.
type Placement struct {
	GroupName Text `json:",omitzero"`
}

// ReservationSpecification says which reserved capacity is used.
type ReservationSpecification struct {
	CapacityReservationPreference string             `json:",omitempty"`
	CapacityReservationTarget     *ReservationTarget `json:",omitempty"`
}

// ReservationTarget is a reservation, or a group of them.
type ReservationTarget struct {
	CapacityReservationId               string `json:",omitempty"`
	CapacityReservationResourceGroupArn string `json:",omitempty"`
}

// Market is how instances are bought, if not on demand.
type Market struct {
	MarketType  string
	SpotOptions *Spot `json:",omitempty"`
}

// Spot are the terms of spot instances.
type Spot struct {
	SpotInstanceType             string
	InstanceInterruptionBehavior string
	MaxPrice                     string `json:",omitempty"`
}

// Interface is a network interface of an instance.
type Interface struct {
	DeviceIndex              *int
	NetworkCardIndex         *int   `json:",omitempty"`
	InterfaceType            string `json:",omitempty"`
	NetworkInterfaceId       Text   `json:",omitzero"`
	SubnetId                 Text   `json:",omitzero"`
	Groups                   []Text `json:",omitempty"`
	AssociatePublicIpAddress *bool  `json:",omitempty"`
	DeleteOnTermination      *bool  `json:",omitempty"`
}

// Device is a disk of an instance.
type Device struct {
	DeviceName  string
	VirtualName string `json:",omitempty"`
	Ebs         *Ebs   `json:",omitempty"`
}

// Ebs is a volume that is made with an instance.
type Ebs struct {
	DeleteOnTermination *bool
	Encrypted           *bool
	VolumeSize          int `json:",omitempty"`
	VolumeType          string
	Iops                int `json:",omitempty"`
	Throughput          int `json:",omitempty"`
}

// PlacementGroup keeps instances close together.
type PlacementGroup struct {
	Strategy string
	Tags     []Tag
}

// Instance is a machine.
type Instance struct {
	LaunchTemplate TemplateVersion
	Tags           []Tag
}

// TemplateVersion names a version of a launch template.
type TemplateVersion struct {
	LaunchTemplateId, Version Text
}

// AutoScalingGroup keeps a number of instances alive.
type AutoScalingGroup struct {
	LaunchTemplate                 TemplateVersion
	MinSize, MaxSize               string
	DesiredCapacity                string
	VPCZoneIdentifier              []Text
	TargetGroupARNs                []Text
	HealthCheckType                string
	HealthCheckGracePeriod         int
	LifecycleHookSpecificationList []LifecycleHook
	Tags                           []GroupTag
}

// LifecycleHook makes a group wait.
type LifecycleHook struct {
	LifecycleHookName, LifecycleTransition, DefaultResult string
	HeartbeatTimeout                                      int
}

// GroupTag is a tag of an auto scaling group.
type GroupTag struct {
	Tag
	PropagateAtLaunch bool
}

// Type implements Properties.
func (LaunchTemplate) Type() string   { return "AWS::EC2::LaunchTemplate" }
func (PlacementGroup) Type() string   { return "AWS::EC2::PlacementGroup" }
func (Instance) Type() string         { return "AWS::EC2::Instance" }
func (AutoScalingGroup) Type() string { return "AWS::AutoScaling::AutoScalingGroup" }
