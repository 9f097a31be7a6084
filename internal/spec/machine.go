package spec

import (
	"cmp"

	"github.com/muster-hpc/muster/internal/catalog"
)

// Networking says where machines are, and in which security groups.
type Networking struct {
	// Subnets are the file's, one of the head node; none where muster makes the network.
	Subnets []string
	// SecurityGroups are instead of those that are made for the cluster,
	// AdditionalSecurityGroups beside them.
	SecurityGroups, AdditionalSecurityGroups []string
}

// IAM says what rights machines have beside those that they need.
type IAM struct {
	// InstanceProfile and InstanceRole are ARNs of what is instead of one that is made.
	InstanceProfile, InstanceRole string
	// Policies are the ARNs of AdditionalIamPolicies.
	Policies []string
	S3Access []S3Access
}

// S3Access is a bucket that machines may reach, or a key of it.
type S3Access struct {
	Bucket, Key string
	Write       bool
}

// SSH says how people come to machines.
type SSH struct {
	// KeyName is the key pair, AllowedIPs the network that may connect. Each is empty
	// where the file does not say.
	KeyName, AllowedIPs string
}

// DCV is the remote desktop of machines.
type DCV struct {
	Enabled    bool
	Port       int
	AllowedIPs string
}

// RootVolume is the root volume of machines.
type RootVolume struct {
	VolumeType string
	// SizeGiB is 0 for the image's, Iops and Throughput where the type has none to choose.
	SizeGiB, Iops, Throughput int
	Encrypted                 bool
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
type Reservation struct{ ID, Group string }

// Name is the reservation's ID or the group's ARN.
func (r Reservation) Name() string { return cmp.Or(r.ID, r.Group) }

// LaunchTemplate is a version of a launch template of the user's, whose values go before
// muster's.
type LaunchTemplate struct{ ID, Version string }

// String is ID:VERSION.
func (t LaunchTemplate) String() string { return t.ID + ":" + t.Version }

func buildNetworking(v View, subnets []string) Networking {
	return Networking{
		Subnets: subnets, SecurityGroups: v.Key("SecurityGroups").Texts(),
		AdditionalSecurityGroups: v.Key("AdditionalSecurityGroups").Texts(),
	}
}

func buildIAM(v View) IAM {
	i := IAM{InstanceProfile: v.Key("InstanceProfile").Text(), InstanceRole: v.Key("InstanceRole").Text()}
	for _, item := range v.Key("AdditionalIamPolicies").Items() {
		i.Policies = append(i.Policies, item.Key("Policy").Text())
	}
	if v.field.child("S3Access") == nil {
		return i // login nodes have none
	}
	for _, item := range v.Key("S3Access").Items() {
		i.S3Access = append(i.S3Access, S3Access{
			Bucket: item.Key("BucketName").Text(), Key: item.Key("KeyName").Text(), Write: item.Key("EnableWriteAccess").Bool(),
		})
	}
	return i
}

func buildSSH(v View) SSH {
	s := SSH{KeyName: v.Key("KeyName").Text()}
	if allowed := v.Key("AllowedIps"); allowed.Present() {
		s.AllowedIPs = allowed.Text() // ParallelCluster's default is everybody
	}
	return s
}

func buildDCV(v View) DCV {
	return DCV{Enabled: v.Key("Enabled").Bool(), Port: v.Key("Port").Int(), AllowedIPs: v.Key("AllowedIps").Text()}
}

func buildRoot(v View) RootVolume {
	kind := v.Key("VolumeType").Text()
	iops, throughput := volumeSpeed(kind, v.Key("Iops").Int(), v.Key("Throughput").Int())
	return RootVolume{VolumeType: kind, SizeGiB: v.Key("Size").Int(), Iops: iops, Throughput: throughput, Encrypted: v.Key("Encrypted").Bool()}
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
	if !target.Present() {
		return around
	}
	return Reservation{ID: target.Key("CapacityReservationId").Text(), Group: target.Key("CapacityReservationResourceGroupArn").Text()}
}

func buildLaunchTemplate(v View) LaunchTemplate {
	return LaunchTemplate{ID: v.Key("LaunchTemplateId").Text(), Version: v.Key("Version").Text()}
}
