// Package inventory has what an AWS account and a region have of what a cluster file
// names, as plain values: what was asked for, what was answered, and what could not
// be asked. The account fills it in; rules read it.
package inventory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// Wanted are the questions: the names in a file by their subject, which is
// the code of the rule that is blind without an answer, such as "aws/subnet".
type Wanted struct {
	Region string
	Names  map[string][]string
	// Quotas are the names of the quotas that count, such as "P on-demand instances".
	Quotas []string
	// EFS are the file systems that the file says to be EFS's. IDs of FSx have the same form.
	EFS []string
	// Lustre are the deployment types of new file systems for Lustre.
	Lustre []string
	// Templates are the versions of the launch templates that the file names: ID:VERSION.
	Templates []string
	// Official are ParallelCluster's own images that machines start from, Arches empty
	// if there are none such.
	Official Official
	// Roles are the file's own roles and instance profiles, and the kinds of machines
	// (head, compute, login) that have each.
	Roles map[string][]string
	// RolePath is the path that the file chooses for the roles that are made, empty for
	// muster's own.
	RolePath string
	// Parts are what the cluster is made of, as far as rights differ: network, fsx and so on.
	Parts []string
	// Reservations are capacity reservations that were asked for already, by ID.
	Reservations map[string]Reservation
	// Cluster is the name of the cluster if there may be one of the file already. What it
	// has is no obstacle to it.
	Cluster string
}

// Official asks for ParallelCluster's own images.
type Official struct {
	// Level is the schema level, such as "3.16", OS the file's Image.Os.
	Level, OS string
	// Owner, Prefix and Tags are those of DevSettings.AmiSearchFilters.
	Owner, Prefix string
	Tags          map[string]string
	// Arches are amd64 and arm64.
	Arches []string
}

// Inventory is what was answered. A name that was asked for and is not in the map
// of its subject does not exist.
type Inventory struct {
	At              time.Time
	Account, Region string
	// Partition is aws, aws-cn or aws-us-gov.
	Partition string
	// Caller is the ARN of the identity that asked.
	Caller string
	// Unasked says of subjects why they could not be asked.
	Unasked map[string]string
	// Hidden says the same of single names of a subject.
	Hidden map[string]map[string]string

	Subnets         map[string]Subnet
	SecurityGroups  map[string]SecurityGroup
	Addresses       map[string]Address
	PlacementGroups map[string]PlacementGroup
	KeyPairs        map[string]KeyPair
	Images          map[string]Image
	FileSystems     map[string]FileSystem
	Snapshots       map[string]Snapshot
	Reservations    map[string]Reservation
	Buckets         map[string]Bucket
	HostedZones     map[string]HostedZone
	// Templates are the LaunchTemplateData of Wanted.Templates.
	Templates map[string]json.RawMessage
	// Offers are the availability zones that offer an instance type.
	Offers map[string][]string
	// Others are names of the other subjects that exist; the value is the fault of
	// one, empty if it has none.
	Others map[string]map[string]string
	// Quotas are how many vCPUs, or things, the account may have of each.
	Quotas map[string]int
	// Lustre are the deployment types that the region sells.
	Lustre []string
	// Official says of architectures why there is no official image; empty if there is one.
	Official map[string]string
	// OfficialImages are those that there are, by architecture.
	OfficialImages map[string]Image
	// ProfileRoles are the ARNs of the roles in instance profiles, by the profile's ARN.
	ProfileRoles map[string][]string
	// Denied are actions that the caller has no right to, of those that `up` needs.
	// Narrow are those that its policies do not allow on all resources: they may allow
	// them on the cluster's. Unsure depend on conditions that only the call itself decides.
	Denied, Narrow, Unsure []string
	// Lacks are actions that a file's own role is not allowed, and its machines need.
	Lacks map[string][]string
}

// Subnet is a subnet.
type Subnet struct {
	VPC, Zone string
	// CIDR is its network.
	CIDR string
	// Free is how many addresses are left.
	Free int
	// Public says that new interfaces get a public address.
	Public bool
	// Routed says that there is a way to the internet, or that it is not known;
	// DNS that the VPC has both DNS support and DNS host names.
	Routed, DNS bool
}

// SecurityGroup is a security group.
type SecurityGroup struct {
	VPC string
	// SelfIn and SelfOut say that it lets in, and out, everything from and to itself.
	SelfIn, SelfOut bool
}

// Address is an elastic IP address.
type Address struct {
	// Allocation is its ID.
	Allocation string
	// UsedBy is the instance or interface that has it.
	UsedBy string
}

// PlacementGroup is a placement group.
type PlacementGroup struct{ Strategy, State string }

// KeyPair is a key pair.
type KeyPair struct {
	// Type is rsa or ed25519.
	Type string
}

// Image is a machine image.
type Image struct {
	ID, State string
	// Arch is amd64 or arm64.
	Arch string
	// Version is ParallelCluster's, from the image's tag; empty if it has none.
	Version string
	// Release is ParallelCluster's in the name of an official image, such as 3.16.1.
	Release string
	// RootDevice is such as /dev/sda1, RootGiB the size of its snapshot.
	RootDevice string
	RootGiB    int
}

// FileSystem is a file system or a volume of one.
type FileSystem struct {
	VPC, State string
	// Zone is set for what can be reached from one availability zone alone.
	Zone string
	// Host and Export are what it is mounted by: the DNS name, and Lustre's mount name
	// or the path of a volume.
	Host, Export string
}

// Snapshot is a snapshot or backup.
type Snapshot struct {
	State   string
	SizeGiB int
}

// Reservation is a capacity reservation or block.
type Reservation struct {
	InstanceType, Zone, State string
	Total, Free               int
	// Block says that it is a capacity block.
	Block      bool
	Start, End time.Time
	// PlacementGroup is the ARN of the group that it was made in.
	PlacementGroup string
}

// Bucket is a bucket.
type Bucket struct{ Region string }

// HostedZone is a zone of Route 53.
type HostedZone struct {
	Name    string
	Private bool
	VPCs    []string
}

// Has reports whether a thing of a subject exists, and its fault.
func (i Inventory) Has(subject, name string) (ok bool, wrong string) {
	has := map[string]func(name string) bool{
		"aws/subnet": in(i.Subnets), "aws/security-group": in(i.SecurityGroups), "aws/elastic-ip": in(i.Addresses),
		"aws/placement-group": in(i.PlacementGroups), "aws/key-pair": in(i.KeyPairs), "aws/image": in(i.Images),
		"aws/file-system": in(i.FileSystems), "aws/reservation": in(i.Reservations), "aws/snapshot": in(i.Snapshots),
		"aws/bucket": in(i.Buckets), "aws/hosted-zone": in(i.HostedZones),
	}[subject]
	if has != nil {
		return has(name), ""
	}
	wrong, ok = i.Others[subject][name]
	return ok, wrong
}

func in[T any](all map[string]T) func(name string) bool {
	return func(name string) bool {
		_, ok := all[name]
		return ok
	}
}

// Why is the reason why it is not known whether a thing exists.
func (i Inventory) Why(subject, name string) string {
	return cmp.Or(i.Unasked[subject], i.Hidden[subject][name], fmt.Sprintf("it does not exist, or account %s may not see it", i.Account))
}
