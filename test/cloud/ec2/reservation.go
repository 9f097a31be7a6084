package ec2

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Reservation is a capacity reservation, or a capacity block.
type Reservation struct {
	ID, Type, Zone string
	Count          int
	// Block says that it is a capacity block. It begins at Start and ends at End; one
	// that is no block may have no End.
	Block      bool
	Start, End time.Time
	// Match is open or targeted.
	Match string
	Tags  map[string]string
}

// AddReservation adds a reservation, and returns its ID.
func (e *EC2) AddReservation(r Reservation) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.addReservation(r).ID
}

func (e *EC2) addReservation(r Reservation) *Reservation {
	r.ID = cmp.Or(r.ID, e.id("cr"))
	r.Match = cmp.Or(r.Match, "open")
	if r.Block {
		r.Match = "targeted"
	}
	if r.Start.IsZero() {
		r.Start = e.now()
	}
	e.reservations = append(e.reservations, &r)
	e.tags[r.ID] = r.Tags
	return &r
}

// state is the reservation's at a time.
func (r *Reservation) state(now time.Time) string {
	switch {
	case now.Before(r.Start):
		return "scheduled"
	case !r.End.IsZero() && !now.Before(r.End):
		return "expired"
	}
	return "active"
}

// available is how many instances still fit. mu is held.
func (e *EC2) available(r *Reservation) int {
	n, now := r.Count, e.now()
	if r.state(now) != "active" || r.Block && !now.Before(r.End.Add(-blockEnd)) {
		return 0
	}
	for _, i := range e.order {
		if i.Reservation == r.ID && i.lives(now) {
			n--
		}
	}
	return max(n, 0)
}

// blockEnd is how long before the end of a capacity block EC2 begins to terminate its
// instances: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
const blockEnd = 30 * time.Minute

// reserve finds room in the reservation that an order names. That a reservation
// which is not active is refused with this code is our reading. mu is held.
func (e *EC2) reserve(o *order, n int) (int, *wire.Error) {
	if strings.HasPrefix(o.spec.reservation, "arn:") {
		return 0, &wire.Error{Status: 501, Code: "NotImplemented", Message: "the double knows no groups of capacity reservations"}
	}
	i := slices.IndexFunc(e.reservations, func(r *Reservation) bool { return r.ID == o.spec.reservation })
	if i < 0 {
		return 0, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", o.spec.reservation)
	}
	r := e.reservations[i]
	switch {
	case r.Type != o.spec.kind || r.Zone != o.where.subnet.zone:
		return 0, wire.Errorf("InvalidParameterValue", "The capacity reservation %s is for %s in %s.", r.ID, r.Type, r.Zone)
	case r.Block != (o.spec.market == "capacity-block"):
		return 0, wire.Errorf("InvalidParameterCombination", "The market type %q does not fit the capacity reservation %s.", o.spec.market, r.ID)
	}
	n = min(n, e.available(r))
	if n < o.least {
		return 0, wire.Errorf("ReservationCapacityExceeded", "The requested reservation %s does not have sufficient compatible and available capacity for this request.", r.ID)
	}
	o.where.reservation, o.where.until = r.ID, time.Time{}
	if r.Block {
		o.where.until = r.End.Add(-blockEnd)
	}
	return n, nil
}

// endBlocks tells OnTerminate of instances whose capacity block ends.
func (e *EC2) endBlocks() {
	e.mu.Lock()
	hook := e.opts.OnTerminate
	var ended []Instance
	e.blocks = slices.DeleteFunc(e.blocks, func(i *instance) bool {
		now := e.now()
		m, _ := i.at(now)
		if m.code == blockEnded {
			ended = append(ended, i.public(now))
		}
		return !i.lives(now)
	})
	e.mu.Unlock()
	for _, i := range ended {
		if hook != nil {
			hook(i)
		}
	}
}

// blockEnded is the code of the reason for which such instances end; ours.
const blockEnded = "Server.CapacityBlockEnded"

func (e *EC2) createReservation(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	r := Reservation{
		Type: p.text("InstanceType"), Zone: p.text("AvailabilityZone"), Count: p.number("InstanceCount"), Match: p.text("InstanceMatchCriteria"),
		Tags: tagsFor(p, "capacity-reservation"),
	}
	if end := p.text("EndDate"); end != "" {
		at, err := time.Parse(time.RFC3339, end)
		if err != nil {
			return nil, wire.Errorf("InvalidParameterValue", "%q is no time", end)
		}
		r.End = at
	}
	if r.Type == "" || r.Zone == "" || r.Count < 1 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameters InstanceType, AvailabilityZone and InstanceCount")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if free, limited := e.free(r.Type, r.Zone); limited && free < r.Count {
		return nil, &wire.Error{Status: 500, Code: "InsufficientInstanceCapacity", Message: "Insufficient capacity."}
	}
	var w writer
	w.open("capacityReservation")
	e.writeOneReservation(&w, e.addReservation(r))
	return w.close("capacityReservation").answer(c), nil
}

func (e *EC2) describeReservations(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wanted := p.texts("CapacityReservationId")
	for _, id := range wanted {
		if !slices.ContainsFunc(e.reservations, func(r *Reservation) bool { return r.ID == id }) {
			return nil, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
		}
	}
	var w writer
	w.open("capacityReservationSet")
	for _, r := range e.reservations {
		if wanted != nil && !slices.Contains(wanted, r.ID) {
			continue
		}
		ok, err := resourceFits(p.filters(), e.tags[r.ID], map[string]string{
			"instance-type": r.Type, "availability-zone": r.Zone, "state": r.state(e.now()), "instance-match-criteria": r.Match, "owner-id": e.opts.Account,
		})
		if err != nil {
			return nil, err
		}
		if ok {
			w.open("item")
			e.writeOneReservation(&w, r)
			w.close("item")
		}
	}
	return w.close("capacityReservationSet").answer(c), nil
}

func (e *EC2) writeOneReservation(w *writer, r *Reservation) {
	arn := "arn:aws:ec2:" + e.opts.Region + ":" + e.opts.Account + ":capacity-reservation/" + r.ID
	kind, ends := "default", "unlimited"
	if r.Block {
		kind = "capacity-block"
	}
	if !r.End.IsZero() {
		ends = "limited"
	}
	w.text("capacityReservationId", r.ID).text("ownerId", e.opts.Account).text("capacityReservationArn", arn).text("instanceType", r.Type)
	w.text("instancePlatform", "Linux/UNIX").text("availabilityZone", r.Zone).text("tenancy", "default").number("totalInstanceCount", r.Count)
	w.number("availableInstanceCount", e.available(r)).yes("ebsOptimized", true).yes("ephemeralStorage", false).text("state", r.state(e.now()))
	w.time("startDate", r.Start).time("endDate", r.End).text("endDateType", ends).text("instanceMatchCriteria", r.Match).time("createDate", r.Start)
	w.tags(e.tags[r.ID]).text("reservationType", kind)
}
