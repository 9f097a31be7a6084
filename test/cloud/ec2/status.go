package ec2

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Event is a scheduled event of an instance. Its codes are instance-reboot,
// system-reboot, system-maintenance, instance-retirement and instance-stop.
type Event struct {
	ID, Code, Description string
	NotBefore, NotAfter   time.Time
}

// Schedule lets AWS announce an event for an instance. A description that begins with
// [Completed] or [Canceled] is how it says that one is over.
func (e *EC2) Schedule(id string, event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.instances[id]; i != nil {
		event.ID = cmp.Or(event.ID, e.id("instance-event"))
		i.events = slices.DeleteFunc(i.events, func(x Event) bool { return x.ID == event.ID })
		i.events = append(i.events, event)
	}
}

// Impair lets an instance fail its status checks from now on: the instance's own, or
// with system those of the machine below it. Restore ends that.
func (e *EC2) Impair(id string, system bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.instances[id]; i != nil {
		i.impaired, i.badSystem = e.now(), system
	}
}

// Restore lets an instance pass its checks again.
func (e *EC2) Restore(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.instances[id]; i != nil {
		i.impaired = time.Time{}
	}
}

// describeStatus is DescribeInstanceStatus.
func (e *EC2) describeStatus(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	filters := p.filters()
	found, err := e.find(params{values: p.values, there: map[string]bool{}}, "InstanceId") // without filters
	if err != nil {
		return nil, err
	}
	var fit []sight
	for _, s := range found {
		if s.now.state != running && !p.yes("IncludeAllInstances") {
			continue
		}
		ok, err := s.statusFits(filters)
		if err != nil {
			return nil, err
		}
		if ok {
			fit = append(fit, s)
		}
	}
	page, next, err := paged(p, fit, 5, 1000)
	if err != nil {
		return nil, err
	}
	var w writer
	w.open("instanceStatusSet")
	for _, s := range page {
		s.writeStatus(&w)
	}
	return w.close("instanceStatusSet").text("nextToken", next).answer(c), nil
}

// checking is how long after its start the first checks of an instance take.
const checking = 2 * time.Minute

// checks are what the two status checks say.
func (s sight) checks() (system, instance string) {
	i := s.instance
	switch {
	case s.now.state != running:
		return "not-applicable", "not-applicable"
	case !i.impaired.IsZero() && !i.impaired.After(s.now.at) && i.badSystem:
		return "impaired", "impaired"
	case !i.impaired.IsZero() && !i.impaired.After(s.now.at):
		return "ok", "impaired"
	case s.now.at.Sub(i.Launched) < checking:
		return "initializing", "initializing"
	}
	return "ok", "ok"
}

// reachability is the detail of a check.
func reachability(check string) string {
	switch check {
	case "ok":
		return "passed"
	case "impaired":
		return "failed"
	}
	return check
}

func (s sight) statusFits(filters []filter) (bool, *wire.Error) {
	if len(filters) == 0 {
		return true, nil
	}
	system, instance := s.checks()
	have := map[string][]string{
		"system-status.status": {system}, "system-status.reachability": {reachability(system)},
		"instance-status.status": {instance}, "instance-status.reachability": {reachability(instance)},
		"attached-ebs-status.status": {"ok"}, // the double's volumes are never impaired
		"event.code":                 nil, "event.instance-event-id": nil,
	}
	for _, e := range s.instance.events {
		have["event.code"] = append(have["event.code"], e.Code)
		have["event.instance-event-id"] = append(have["event.instance-event-id"], e.ID)
	}
	for _, name := range []string{"instance-state-name", "instance-state-code", "availability-zone"} {
		have[name] = values[name](s)
	}
	for _, f := range filters {
		values, known := have[f.name]
		if !known {
			return false, unknownFilter(f.name)
		}
		if !slices.ContainsFunc(values, f.fits) {
			return false, nil
		}
	}
	return true, nil
}

func (s sight) writeStatus(w *writer) {
	i := s.instance
	w.open("item").text("instanceId", i.ID).text("availabilityZone", i.Zone)
	if len(i.events) > 0 {
		w.open("eventsSet")
		for _, v := range i.events {
			w.open("item").text("instanceEventId", v.ID).text("code", v.Code).text("description", v.Description)
			w.time("notBefore", v.NotBefore).time("notAfter", v.NotAfter).close("item")
		}
		w.close("eventsSet")
	}
	writeState(w, "instanceState", s.now.state)
	system, instance := s.checks()
	i.writeCheck(w, "systemStatus", system)
	i.writeCheck(w, "instanceStatus", instance)
	w.close("item")
}

func (i *instance) writeCheck(w *writer, name, check string) {
	w.open(name).text("status", check)
	if check != "not-applicable" {
		w.open("details").open("item").text("name", "reachability").text("status", reachability(check))
		if check == "impaired" {
			w.time("impairedSince", i.impaired)
		}
		w.close("item").close("details")
	}
	w.close(name)
}
