package spec

import (
	"cmp"
	"reflect"

	"github.com/muster-hpc/muster/internal/catalog"
)

// Networking says where machines are, and in which security groups.
type Networking struct {
	// Subnets are the file's, one of the head node; none where muster makes the network.
	Subnets []string
	// SecurityGroups are instead of those that are made for the cluster,
	// AdditionalSecurityGroups beside them.
	SecurityGroups           []string `key:"SecurityGroups"`
	AdditionalSecurityGroups []string `key:"AdditionalSecurityGroups"`
}

// IAM has the rights of machines beside those that they need.
type IAM struct {
	// InstanceProfile and InstanceRole are ARNs of the user's own; without them, muster makes its own.
	InstanceProfile string `key:"InstanceProfile"`
	InstanceRole    string `key:"InstanceRole"`
	// Policies are the ARNs of AdditionalIamPolicies.
	Policies []string
	S3Access []S3Access
}

// S3Access is a bucket that machines may reach, or a key of it.
type S3Access struct {
	Bucket string `key:"BucketName"`
	Key    string `key:"KeyName"`
	Write  bool   `key:"EnableWriteAccess"`
}

// SSH says how people come to machines.
type SSH struct {
	// KeyName is the key pair, AllowedIPs the network that may connect. Each is empty
	// where the file does not say.
	KeyName    string `key:"KeyName"`
	AllowedIPs string
}

// DCV is the remote desktop of machines.
type DCV struct {
	Enabled    bool   `key:"Enabled"`
	Port       int    `key:"Port"`
	AllowedIPs string `key:"AllowedIps"`
}

// RootVolume is the root volume of machines.
type RootVolume struct {
	VolumeType string `key:"VolumeType"`
	// SizeGiB is 0 for the image's, Iops and Throughput where the type has none to choose.
	SizeGiB    int  `key:"Size"`
	Iops       int  `key:"Iops"`
	Throughput int  `key:"Throughput"`
	Encrypted  bool `key:"Encrypted"`
}

// PlacementGroup says that nodes stand close together.
type PlacementGroup struct {
	// Name is that of a group which is there; empty for one that is made.
	Name    string
	Enabled bool
}

// Wanted reports whether nodes are in a placement group.
func (g PlacementGroup) Wanted() bool { return g.Name != "" || g.Enabled }

// Reservation is where nodes come from: a capacity reservation or block by its ID, or a
// group of them by its ARN. Neither is none.
type Reservation struct {
	ID    string `key:"CapacityReservationId"`
	Group string `key:"CapacityReservationResourceGroupArn"`
}

// Name is the reservation's ID or the group's ARN.
func (r Reservation) Name() string { return cmp.Or(r.ID, r.Group) }

// LaunchTemplate is a version of a launch template of the user's, whose values go before
// muster's.
type LaunchTemplate struct {
	ID      string `key:"LaunchTemplateId"`
	Version string `key:"Version"`
}

// String is ID:VERSION.
func (t LaunchTemplate) String() string { return t.ID + ":" + t.Version }

func (i *IAM) build(v View) {
	v.fill(i)
	for _, item := range v.Key("AdditionalIamPolicies").Items() {
		i.Policies = append(i.Policies, item.Key("Policy").Text())
	}
	if v.field.child("S3Access") != nil { // login nodes have none
		v.Key("S3Access").set(reflect.ValueOf(&i.S3Access).Elem())
	}
}

func (s *SSH) build(v View) {
	v.fill(s)
	if allowed := v.Key("AllowedIps"); allowed.Present() {
		s.AllowedIPs = allowed.Text() // ParallelCluster's default is everybody
	}
}

func (r *RootVolume) build(v View) {
	v.fill(r)
	r.Iops, r.Throughput = volumeSpeed(r.VolumeType, r.Iops, r.Throughput)
}

// usualRoot is the root volume of machines of which the file has none.
func usualRoot() RootVolume {
	iops, throughput := volumeSpeed("gp3", 0, 0)
	return RootVolume{VolumeType: "gp3", Iops: iops, Throughput: throughput, Encrypted: true}
}

// volumeSpeed is what a volume has where the file gives 0 for what it does not say.
func volumeSpeed(kind string, iops, throughput int) (int, int) {
	usual, _ := catalog.VolumeOf(kind)
	return cmp.Or(iops, usual.DefaultIops), cmp.Or(throughput, usual.DefaultThroughput)
}

// buildPlacement is the group of a Networking, or the one around it where it says nothing.
func buildPlacement(v View, around PlacementGroup) PlacementGroup {
	group := v.Key("PlacementGroup")
	if !group.Present() {
		return around
	}
	return PlacementGroup{Name: cmp.Or(group.Key("Name").Text(), group.Key("Id").Text()), Enabled: group.Key("Enabled").Bool()}
}

// buildReservation is the target of a queue or a compute resource, or the one around it
// where it says nothing.
func buildReservation(v View, around Reservation) Reservation {
	target := v.Key("CapacityReservationTarget")
	if target.Present() {
		around = Reservation{}
		target.fill(&around)
	}
	return around
}
