package lint

import (
	"slices"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// machines judges where instance types are offered.
func (o online) machines() {
	if why, no := o.Unasked["aws/instance-type"]; no {
		offered(o.root, "could not be asked: "+why)
		return
	}
	for _, v := range typesNamed(o.root) {
		if len(o.Offers[v.Text()]) == 0 {
			v.Errorf("instance/region", "%s is not offered in %s", v.Text(), o.Region).
				WithHint("aws ec2 describe-instance-type-offerings --location-type availability-zone --filters Name=instance-type,Values=%s", v.Text())
		}
	}
	for _, x := range o.all {
		zones := o.zones(subnetViews(x.queue))
		for _, k := range x.kinds {
			offers := o.Offers[k.Type]
			if len(zones) == 0 || len(offers) == 0 || slices.ContainsFunc(zones, func(z string) bool { return slices.Contains(offers, z) }) {
				continue
			}
			k.at.Errorf("instance/zone", "%s is offered in %s, and the subnets of queue %s are in %s", k.Type, in(offers), x.queue.Key("Name").Text(), in(zones)).
				WithHint("use a subnet in one of those zones")
		}
	}
}

// capacity judges reservations and blocks.
func (o online) capacity() {
	wanted := reservations(o.all)
	if why, no := o.Unasked["aws/reservation"]; no {
		reserved(o.all, "could not be asked: "+why)
		return
	}
	for _, id := range wanted.order {
		if why := o.Hidden["aws/reservation"][id.Text()]; why != "" {
			id.Blindf("aws/reservation", "reservation %s is not looked up: %s", id.Text(), why)
			continue
		}
		if id.Name() != "CapacityReservationId" {
			continue
		}
		r, ok := o.Reservations[id.Text()]
		if !ok {
			id.Errorf("aws/missing", "capacity reservation %s does not exist in %s, or account %s may not see it", id.Text(), o.Region, o.Account).
				WithHint("aws ec2 describe-capacity-reservations --capacity-reservation-ids %s", id.Text())
			continue
		}
		o.state(id, r)
		if n := wanted.nodes[id.Text()]; n > r.Total {
			id.Errorf("reservation/size", "reservation %s has %s, and the file takes up to %d from it", id.Text(), count.Of(r.Total, "instance"), n)
		}
	}
	for _, x := range o.all {
		o.fits(x)
	}
}

// state judges whether a reservation can be used now.
func (o online) state(id spec.View, r inventory.Reservation) {
	switch r.State {
	case "active":
		if r.Block && !r.End.IsZero() && r.End.Sub(o.At).Hours() < 24 {
			id.Warnf("reservation/ends", "block %s ends at %s; its machines are taken away 30 minutes before", id.Text(), r.End.UTC().Format("2006-01-02 15:04 MST"))
		}
	case "scheduled", "pending", "payment-pending", "assessing", "delayed":
		id.Warnf("reservation/later", "reservation %s is %s: its nodes wait until it begins at %s", id.Text(), r.State, r.Start.UTC().Format("2006-01-02 15:04 MST"))
	default:
		id.Errorf("reservation/state", "reservation %s is %s", id.Text(), r.State)
	}
}

// fits holds a compute resource against its reservation (CapacityReservationValidator,
// and what ParallelCluster does not see: a block that is bought as ONDEMAND).
func (o online) fits(x resource) {
	id := x.target().Key("CapacityReservationId")
	r, ok := o.Reservations[id.Text()]
	if !ok || !id.Given() {
		return
	}
	for _, k := range x.kinds {
		if k.Type != r.InstanceType {
			k.at.Errorf("reservation/type", "reservation %s is of %s, and the compute resource is of %s", id.Text(), r.InstanceType, k.Type)
		}
	}
	zones := o.zones(subnetViews(x.queue))
	if len(zones) > 0 && !slices.Contains(zones, r.Zone) {
		id.Errorf("reservation/zone", "reservation %s is in %s, and the subnets of queue %s are in %s", id.Text(), r.Zone, x.queue.Key("Name").Text(), in(zones))
	}
	switch bought := x.capacityType(); {
	case r.Block && bought != block:
		x.queue.Key("CapacityType").Errorf("reservation/block", "%s is a Capacity Block: with CapacityType %s every launch fails", id.Text(), bought).
			WithHint("write CapacityType: CAPACITY_BLOCK, and MinCount equal to MaxCount")
	case !r.Block && bought == block:
		x.queue.Key("CapacityType").Errorf("reservation/block", "%s is no Capacity Block", id.Text()).
			WithHint("write CapacityType: ONDEMAND")
	}
}
