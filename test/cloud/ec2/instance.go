package ec2

import (
	"maps"
	"net/netip"
	"strings"
	"time"
)

// State is a state of an instance.
//
//	pending -> running -> shutting-down -> terminated
//	              |  ^
//	              v  |
//	        stopping -> stopped
type State string

// States of an instance.
const (
	pending      State = "pending"
	running      State = "running"
	shuttingDown State = "shutting-down"
	terminated   State = "terminated"
	stopping     State = "stopping"
	stopped      State = "stopped"
)

// code is the low byte of the state's number:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html
func (s State) code() int {
	switch s {
	case running:
		return 16
	case shuttingDown:
		return 32
	case terminated:
		return 48
	case stopping:
		return 64
	case stopped:
		return 80
	}
	return 0
}

// Instance is a machine, as far as whoever boots it has to know.
type Instance struct {
	ID, Type, Arch, ImageID, RootDevice, KeyName string
	// UserData is as the machine gets it, decoded.
	UserData []byte
	// Index is the AmiLaunchIndex, Token the client token, ReservationID the launch's.
	Index                int
	Token, ReservationID string
	Region, Zone         string
	Subnet, VPC          string
	// SubnetCIDR is the subnet's network.
	SubnetCIDR             netip.Prefix
	PrivateIP, PublicIP    netip.Addr
	PrivateDNS             string
	Groups                 []string
	Interfaces             []Interface
	Volumes                []Volume
	Profile                string // ARN of the instance profile
	Tags                   map[string]string
	Launched               time.Time
	Market                 string // spot, capacity-block or nothing
	Reservation, Placement string
	// TokensRequired says that metadata is given only for tokens (IMDSv2), HopLimit
	// how far such a token goes.
	TokensRequired bool
	HopLimit       string
	// TagsInMetadata says that metadata has the tags.
	TagsInMetadata bool
	State          State
	// Why is the code of the reason for which the instance ended.
	Why string
}

// Interface is a network interface of an instance.
type Interface struct {
	ID, Type, Subnet, MAC, Description string
	Device, Card                       int
	// Address is invalid for interfaces of the type efa-only.
	Address netip.Addr
	Groups  []string
	// Stays is said of an interface that outlives its instance.
	Stays bool
}

// Volume is an EBS volume of an instance.
type Volume struct {
	ID, Device string
	SizeGiB    int
}

// instance is how the double keeps an instance.
type instance struct {
	Instance
	number    int // in the order of launches
	spec      *spec
	machine   machine
	owner     string
	region    string
	names     map[string]string // of security groups by their ids
	line      []moment          // of life, in order of time
	tagLine   []tagMoment
	volumes   []volume
	cards     []byte // the interfaces in XML
	impaired  time.Time
	badSystem bool
	events    []Event
	console   string
	protected bool
	shutdown  string
	fleet     string
	stays     map[string]bool // interfaces that are moto's
}

// moment is what begins at a time of an instance's life.
type moment struct {
	at           time.Time
	state        State
	code, reason string
}

type tagMoment struct {
	at   time.Time
	tags map[string]string
}

type volume struct {
	id, device, kind string
	size             int
	encrypted        bool
	stays            bool
	moto             bool // it was attached, and is moto's
	made             time.Time
}

// forgotten is how long EC2 still shows an instance that has ended.
const forgotten = time.Hour

// at is the instance's state at a time; false if it is not to be seen.
func (i *instance) at(t time.Time) (moment, bool) {
	if t.Before(i.line[0].at) {
		return moment{}, false
	}
	now := i.line[0]
	for _, m := range i.line {
		if !m.at.After(t) {
			now = m
		}
	}
	visible := now.state != terminated || t.Sub(now.at) < forgotten
	now.at = t
	return now, visible
}

// enter lets the instance take a way through its life from now on.
func (i *instance) enter(moments ...moment) {
	from := moments[0].at
	kept := i.line[:0]
	for _, m := range i.line {
		if !m.at.After(from) || len(kept) == 0 {
			kept = append(kept, m)
		}
	}
	i.line = append(kept, moments...)
}

// lives tells whether the instance holds what it has: capacity, addresses, quota.
func (i *instance) lives(t time.Time) bool {
	m, _ := i.at(t)
	return m.state != terminated && m.state != shuttingDown && !t.Before(i.line[0].at)
}

func (i *instance) tagsAt(t time.Time) map[string]string {
	now := i.tagLine[0].tags
	for _, m := range i.tagLine {
		if !m.at.After(t) {
			now = m.tags
		}
	}
	return now
}

// retag changes the tags from a time on.
func (i *instance) retag(at time.Time, change func(map[string]string)) {
	tags := maps.Clone(i.tagLine[len(i.tagLine)-1].tags)
	change(tags)
	i.tagLine = append(i.tagLine, tagMoment{at: at, tags: tags})
	if n := len(i.tagLine); n > 8 {
		i.tagLine = i.tagLine[n-8:]
	}
}

// public is the instance as others get it.
func (i *instance) public(t time.Time) Instance {
	m, _ := i.at(t)
	x := i.Instance
	x.State, x.Why, x.Tags = m.state, m.code, maps.Clone(i.tagLine[len(i.tagLine)-1].tags)
	for _, v := range i.volumes {
		x.Volumes = append(x.Volumes, Volume{ID: v.id, Device: v.device, SizeGiB: v.size})
	}
	return x
}

func privateDNS(a netip.Addr, region string) string {
	domain := region + ".compute.internal"
	if region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(a.String(), ".", "-") + "." + domain
}
