// Package stack decides what a cluster on AWS is made of: from the cluster file,
// muster.yaml and what AWS was asked, to the CloudFormation stacks. It does no I/O
// and knows no clock; the same input gives the same bytes.
//
//	NAME-base     network, security groups, the cluster's bucket, log group: what
//	              holds no data and costs next to nothing
//	NAME-storage  file systems, volumes and their links to buckets: what holds data
//	NAME          gateways, roles, launch templates, placement groups, DNS zone,
//	              dashboard, alarms, head node: what costs and can be made again
//
// Values go from one stack to the next by name: an output of an earlier stack is
// the parameter of the same name of a later one.
package stack

import (
	"encoding/json"
	"net/netip"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// Facts are what only AWS or the user's machine knows.
type Facts struct {
	// Name is the cluster's.
	Name string
	// Region, Partition (aws, aws-cn, aws-us-gov) and Account are where it is made.
	Region, Partition, Account string
	// Caller is the network from which the user reaches the head node, where the file
	// does not name one. It may be invalid: then no network may by SSH.
	Caller netip.Prefix
	// Zones are the availability zones in which a network is made where the file
	// names no subnets; the first is the head node's and the fleet's. Those of a cluster
	// that is there are the ones that it was made with, in the same order.
	Zones []string
	// Subnets are those that the file names, by ID.
	Subnets map[string]inventory.Subnet
	// Images are the machine images: of the head node under "", of queues by name, of
	// pools of login nodes by "login/" and name.
	Images map[string]inventory.Image
	// Programs are muster's builds in the cluster's bucket, by architecture (amd64, arm64).
	Programs map[string]manifest.Program
	// HeadProgram is the build that a head node was made with that is there, and which
	// it takes a newer one up from by itself; another one here would make it anew. It is
	// empty for a new one.
	HeadProgram manifest.Program
	// KeyName is the key pair where the file names none, empty for none.
	KeyName string
	// FileSystems are those that the file names by ID and that AWS was asked about.
	FileSystems map[string]inventory.FileSystem
	// Exists are the buckets of muster.yaml, and the log group /aws/muster/NAME, that
	// are there and that no stack of this cluster has made: they are used as they are.
	Exists map[string]bool
	// ProfileRoles are the ARNs of the roles in the instance profiles that the file names,
	// by the profile's ARN.
	ProfileRoles map[string][]string
	// ElasticIPs are the allocation ids of the public addresses that the file names.
	ElasticIPs map[string]string
	// HostedZoneName is the name of the zone of the file's Dns/HostedZoneId.
	HostedZoneName string
	// LaunchTemplates are the versions that LaunchTemplateOverrides names: the
	// LaunchTemplateData that EC2 gave, by id, colon and version.
	LaunchTemplates map[string]json.RawMessage
	// Reservations are the capacity reservations that the file names, by ID.
	Reservations map[string]inventory.Reservation
}
