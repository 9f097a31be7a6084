package ec2

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// pool is where EC2 has machines of a type.
type pool struct{ kind, zone string }

// SetCapacity says how many instances of a type a zone has, those that run counted.
// A zone of which nothing was said has any number; below zero is that again. An
// empty zone stands for each of which nothing was said.
func (e *EC2) SetCapacity(instanceType, zone string, n int) {
	e.SetTide(instanceType, zone, func(time.Time) int { return n })
}

// SetTide is SetCapacity for a capacity that comes and goes: at is asked with the
// clock's time at every launch.
func (e *EC2) SetTide(instanceType, zone string, at func(time.Time) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.capacity[pool{instanceType, zone}] = at
}

// Refusal is an error for launches.
type Refusal struct {
	// Type, Zone and Market (spot, capacity-block, on-demand) say which launches;
	// empty stands for all.
	Type, Zone, Market string
	// Code is such as MaxSpotInstanceCountExceeded. The status is 500 for those that
	// EC2 calls the server's, otherwise 400.
	Code, Message string
	// Times is how many launches are refused; zero is all.
	Times int

	hits int
}

// Refuse lets launches fail, until lift is called.
func (e *EC2) Refuse(r Refusal) (lift func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refusals = append(e.refusals, &r)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.refusals = slices.DeleteFunc(e.refusals, func(x *Refusal) bool { return x == &r })
	}
}

func (e *EC2) refused(o *order) *wire.Error {
	market := cmp.Or(o.spec.market, "on-demand")
	for _, r := range e.refusals {
		fits := (r.Type == "" || r.Type == o.spec.kind) && (r.Zone == "" || r.Zone == o.where.subnet.zone) && (r.Market == "" || r.Market == market)
		if !fits || r.Times > 0 && r.hits >= r.Times {
			continue
		}
		r.hits++
		return &wire.Error{Status: statusOf(r.Code), Code: r.Code, Message: cmp.Or(r.Message, "refused with "+r.Code+" by the test")}
	}
	return nil
}

// statusOf is 500 for the codes of the table of server errors.
func statusOf(code string) int {
	if strings.HasPrefix(code, "Insufficient") && strings.HasSuffix(code, "Capacity") || code == "InternalError" {
		return http.StatusInternalServerError
	}
	if code == "RequestLimitExceeded" || code == "Unavailable" || code == "ServiceUnavailable" {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// room is how many of an order's instances there is room for: not fewer than its
// least. mu is held.
func (e *EC2) room(o *order) (int, *wire.Error) {
	if err := e.refused(o); err != nil {
		return 0, err
	}
	if err := e.groupThere(o.spec.placement); err != nil {
		return 0, err
	}
	n, err := e.withinQuota(o)
	if err != nil {
		return 0, err
	}
	if o.spec.reservation != "" {
		return e.reserve(o, n)
	}
	if o.spec.market == "capacity-block" {
		return 0, wire.Errorf("InvalidParameterCombination", "A launch into a Capacity Block names its reservation.")
	}
	if free, limited := e.free(o.spec.kind, o.where.subnet.zone); limited && free < n {
		n = free
	}
	if n < o.least {
		return 0, &wire.Error{Status: http.StatusInternalServerError, Code: "InsufficientInstanceCapacity",
			Message: "We currently do not have sufficient " + o.spec.kind + " capacity in the Availability Zone you requested (" + o.where.subnet.zone + "). Our system will be working on provisioning additional capacity."}
	}
	if e.opts.Paced && !e.pace.resource("RunInstances", n) {
		return 0, throttled()
	}
	return n, nil
}

// free is how many instances a zone still has.
func (e *EC2) free(kind, zone string) (n int, limited bool) {
	now, total := e.now(), -1
	for _, p := range []pool{{kind, zone}, {kind, ""}} {
		if at := e.capacity[p]; at != nil && total < 0 {
			total = at(now)
		}
	}
	if total < 0 {
		return 0, false
	}
	for _, i := range e.order {
		if i.Type == kind && i.Zone == zone && i.Reservation == "" && i.lives(now) {
			total--
		}
	}
	return max(total, 0), true
}

// withinQuota is how many instances the account's quota allows. Capacity Blocks do
// not count against it:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
func (e *EC2) withinQuota(o *order) (int, *wire.Error) {
	if e.opts.Quota == nil || o.spec.market == "capacity-block" {
		return o.most, nil
	}
	code := QuotaCode(o.spec.kind, o.spec.market == "spot")
	limit, ok := e.opts.Quota(code)
	if !ok || o.lookedUp.vcpus == 0 {
		return o.most, nil
	}
	used, now := 0, e.now()
	for _, i := range e.order {
		if i.lives(now) && i.Market != "capacity-block" && QuotaCode(i.Type, i.Market == "spot") == code {
			used += i.machine.vcpus
		}
	}
	n := min(o.most, max(0, int(limit)-used)/o.lookedUp.vcpus)
	if n >= o.least {
		return n, nil
	}
	if o.spec.market == "spot" {
		return 0, wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	return 0, wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", int(limit))
}

// QuotaCode is the quota that an instance type counts against:
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
func QuotaCode(instanceType string, spot bool) string {
	family, _, _ := strings.Cut(instanceType, ".")
	onDemand, spotCode := "L-1216C47A", "L-34B43A08" // standard: A, C, D, H, I, M, R, T, Z
	has := func(prefix string) bool { return strings.HasPrefix(family, prefix) }
	switch {
	case has("p5"):
		onDemand, spotCode = "L-417A185B", "L-C4BD4855"
	case has("p"):
		onDemand, spotCode = "L-417A185B", "L-7212CCBC"
	case has("g"), has("vt"):
		onDemand, spotCode = "L-DB2E81BA", "L-3819A6DF"
	case has("trn"):
		onDemand, spotCode = "L-2C3B7624", "L-6B0D517C"
	case has("inf"):
		onDemand, spotCode = "L-1945791B", "L-B5D1601B"
	case has("dl"):
		onDemand, spotCode = "L-6E869C2A", "L-85EED4F2"
	case has("f"):
		onDemand, spotCode = "L-74FC7D96", "L-88CF9481"
	case has("x"):
		onDemand, spotCode = "L-7295265B", "L-E3A00192"
	case has("hpc"):
		onDemand = "L-F7808C92"
	case has("u-"), has("u7"):
		onDemand = "L-43DA4232"
	}
	if spot {
		return spotCode
	}
	return onDemand
}
