// Package ec2 is EC2's instances, fleets, placement groups and capacity reservations
// in the double of AWS. Networks, images, keys, launch templates and types stay in
// moto, and are looked up there. Where there is no moto, launch templates and subnets
// are kept here, and types come from muster's catalog.
//
// Codes and statuses of errors are EC2's, where nothing else is said from
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
package ec2

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Options say how the double's EC2 is.
type Options struct {
	Clock           *wire.Clock
	Region, Account string
	// Moto passes a call on. It is nil where there is no moto.
	Moto func(context.Context, *wire.Call) (*wire.Answer, error)
	// Quota is the account's quota of vCPUs by its code. It may be nil, and is false
	// for a code that has no quota.
	Quota func(code string) (float64, bool)
	// Pending is how long an instance is pending, Stopping how long it is shutting
	// down, of the Clock's time: 5 and 20 seconds if zero.
	Pending, Stopping time.Duration
	// Latency is how long calls take.
	Latency Latency
	// Paced lets EC2 throttle as it does, by its token buckets.
	Paced bool
	// Lag is how much older what Describe calls show is than the truth, of the
	// Clock's time.
	Lag time.Duration
	// OneNetwork gives no two instances one address, whatever their VPCs: whoever boots
	// them has one network for all.
	OneNetwork bool
	// OnLaunch is called for every new instance before its caller knows of it, and
	// OnTerminate when an instance begins to end. They do not block, and call nothing
	// of the EC2.
	OnLaunch, OnTerminate func(Instance)
	// OnAttach is called, in the same way, for a volume that an instance gets after its
	// launch, and OnDetach for one that is taken away from it.
	OnAttach, OnDetach func(Attachment)
}

// Attachment is a volume at an instance.
type Attachment struct {
	Instance, Volume string
	// Device is the name that the caller gave it; the machine sees NVMe.
	Device string
	GiB    int
}

// EC2 is the service.
type EC2 struct {
	opts  Options
	pace  pace
	facts facts

	mu           sync.Mutex // guards what follows
	order        []*instance
	instances    map[string]*instance
	launches     map[string]launched // by client token
	last         int                 // number of the last id
	taken        map[string]*addressPool
	subnets      map[string]subnet // kept where there is no moto
	templates    []template
	groups       []*group
	fleets       []pastFleet
	blocks       []*instance // in capacity blocks that have not ended
	reservations []*Reservation
	capacity     map[pool]func(time.Time) int
	refusals     []*Refusal
	lag          time.Duration
	tags         map[string]map[string]string // of all that is no instance
	left         []leftVolume
	associations map[string]*instance // of Elastic IP addresses
}

// New returns an EC2 without instances.
func New(opts Options) *EC2 {
	if opts.Pending == 0 {
		opts.Pending = 5 * time.Second
	}
	if opts.Stopping == 0 {
		opts.Stopping = 20 * time.Second
	}
	return &EC2{
		opts: opts, lag: opts.Lag, pace: pace{clock: opts.Clock}, instances: map[string]*instance{}, launches: map[string]launched{},
		taken: map[string]*addressPool{}, subnets: map[string]subnet{}, capacity: map[pool]func(time.Time) int{},
		tags: map[string]map[string]string{}, associations: map[string]*instance{},
	}
}

// Hook sets OnLaunch and OnTerminate, for somebody who comes later.
func (e *EC2) Hook(launch, terminate func(Instance)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.OnLaunch, e.opts.OnTerminate = launch, terminate
}

// HookVolumes sets OnAttach and OnDetach.
func (e *EC2) HookVolumes(attach, detach func(Attachment)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.OnAttach, e.opts.OnDetach = attach, detach
}

// Answer answers the calls that are ours.
func (e *EC2) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	act := actions[c.Action]
	if act == nil || e.opts.Moto != nil && strings.HasSuffix(c.Action, "LaunchTemplate") {
		return nil, false // templates are kept here where there is no moto
	}
	e.endBlocks()
	p := read(c.Form)
	if e.opts.Paced && !e.pace.request(c.Action, p) {
		return c.Fault(throttled()), true
	}
	answer, err := act(e, ctx, c, p)
	if err != nil && err.Status == http.StatusNotImplemented {
		return wire.Missing("%s", err.Message), true
	}
	if err != nil {
		answer = c.Fault(err)
	}
	if answer != nil {
		e.opts.Latency.wait(ctx, c.Action, launchedBy(answer))
	}
	return answer, answer != nil
}

// actions are who answers a call; moto does where there is none. Networks and volumes
// are moto's but for their use by instances.
var actions = map[string]func(*EC2, context.Context, *wire.Call, params) (*wire.Answer, *wire.Error){
	"RunInstances": (*EC2).run, "DescribeInstances": (*EC2).describe, "DescribeInstanceStatus": (*EC2).describeStatus,
	"TerminateInstances": (*EC2).change, "StopInstances": (*EC2).change, "StartInstances": (*EC2).change, "RebootInstances": (*EC2).change,
	"DescribeInstanceAttribute": (*EC2).ofOne, "ModifyInstanceAttribute": (*EC2).ofOne, "GetConsoleOutput": (*EC2).ofOne,
	"CreateFleet": (*EC2).createFleet, "DescribeFleets": (*EC2).describeFleets,
	"CreateTags": (*EC2).changeTags, "DeleteTags": (*EC2).changeTags, "DescribeTags": (*EC2).describeTags,
	"CreatePlacementGroup": (*EC2).createGroup, "DescribePlacementGroups": (*EC2).describeGroups, "DeletePlacementGroup": (*EC2).deleteGroup,
	"CreateCapacityReservation": (*EC2).createReservation, "DescribeCapacityReservations": (*EC2).describeReservations,
	"DescribeNetworkInterfaces": (*EC2).describeInterfaces, "DescribeSubnets": (*EC2).describeSubnets, "DescribeNatGateways": (*EC2).describeGateways,
	"DeleteSubnet": (*EC2).deleteUnused, "DeleteSecurityGroup": (*EC2).deleteUnused, "DescribeVolumes": (*EC2).describeVolumes,
	"AttachVolume": (*EC2).attachVolume, "DetachVolume": (*EC2).attachVolume,
	"AssociateAddress": (*EC2).associateAddress, "DisassociateAddress": (*EC2).associateAddress,
	"CreateLaunchTemplate": (*EC2).keepTemplate, "DeleteLaunchTemplate": (*EC2).keepTemplate,
}

// moto passes a call on, as it came.
func (e *EC2) moto(ctx context.Context, c *wire.Call) (*wire.Answer, *wire.Error) {
	if e.opts.Moto == nil {
		return wire.Missing("the double runs without moto"), nil
	}
	answer, err := e.opts.Moto(ctx, c)
	if err != nil {
		return nil, &wire.Error{Status: http.StatusInternalServerError, Code: "InternalError", Message: err.Error()}
	}
	return answer, nil
}

// id makes an identifier, the same in every run. mu is held.
func (e *EC2) id(kind string) string {
	e.last++
	return fmt.Sprintf("%s-0%016x", kind, uint64(e.last)*0x9e3779b97f4a7c15)
}

// now is the time, and seen the time of the world that Describe calls show. mu is held.
func (e *EC2) now() time.Time { return e.opts.Clock.Now() }

func (e *EC2) seen() time.Time { return e.now().Add(-e.lag) }

// ours tells whether a resource is one that is kept here. mu is held.
func (e *EC2) ours(id string) bool {
	kind, _, _ := strings.Cut(id, "-")
	switch kind {
	case "i", "cr", "pg":
		return true
	}
	_, ok := e.tags[id]
	return ok || kind == "lt" && e.opts.Moto == nil
}
