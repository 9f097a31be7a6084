package ec2

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// candidate is a way to launch a fleet's instances: a template with one override.
type candidate struct {
	template params
	override params
	priority float64
	order    order
}

// fleetError is why a candidate gave fewer instances than were asked of it.
type fleetError struct {
	candidate *candidate
	err       *wire.Error
}

// fleetLaunch is what one candidate gave.
type fleetLaunch struct {
	candidate *candidate
	made      []*instance
}

// createFleet is CreateFleet, of the type instant.
func (e *EC2) createFleet(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	if p.text("Type") != "instant" {
		return wire.Missing("the double has fleets of the type instant only"), nil
	}
	candidates, err := e.candidates(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.yes("DryRun") {
		return nil, dryRun()
	}
	answer, tell, err := e.fleet(c, p, candidates)
	if err == nil {
		tell()
	}
	return answer, err
}

// candidates reads a fleet's templates and overrides. A candidate whose subnet or
// type is refused fails on its own.
func (e *EC2) candidates(ctx context.Context, p params) ([]*candidate, *wire.Error) {
	var all []*candidate
	market := p.text("TargetCapacitySpecification.DefaultTargetCapacityType")
	tags := tagsFor(p, "instance")
	for _, config := range p.list("LaunchTemplateConfigs") {
		template := config.below("LaunchTemplateSpecification")
		base, err := e.fromTemplate(ctx, template)
		if err != nil {
			return nil, err
		}
		overrides := config.list("Overrides")
		if overrides == nil {
			overrides = []params{config.below("None")}
		}
		for _, override := range overrides {
			x := &candidate{template: template, override: override, order: order{spec: base.clone(), least: 1}}
			_, _ = fmt.Sscan(override.text("Priority"), &x.priority) // absent is zero
			s := x.order.spec
			subnet := override.text("SubnetId")
			if len(s.cards) > 0 && subnet != "" {
				for i := range s.cards {
					s.cards[i].subnet = subnet
				}
			} else {
				s.subnet = cmp.Or(subnet, s.subnet)
			}
			s.kind, s.image = cmp.Or(override.text("InstanceType"), s.kind), cmp.Or(override.text("ImageId"), s.image)
			s.zone, s.spotPrice = cmp.Or(override.text("AvailabilityZone"), s.zone), cmp.Or(override.text("MaxPrice"), s.spotPrice)
			if market == "spot" || market == "capacity-block" {
				s.market = market
			}
			if s.tags["instance"] == nil {
				s.tags["instance"] = map[string]string{}
			}
			maps.Copy(s.tags["instance"], tags)
			x.order.refusal = e.lookUp(ctx, &x.order)
			all = append(all, x)
		}
	}
	if all == nil {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateConfigs")
	}
	return all, nil
}

// fleet launches what a fleet asks for, or nothing if that is less than its least.
func (e *EC2) fleet(c *wire.Call, p params, candidates []*candidate) (*wire.Answer, func(), *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	token, what := p.text("ClientToken"), digest(c.Form)
	if before, ok := e.launches[token]; ok && token != "" {
		if before.digest != what {
			return nil, nil, mismatch(token)
		}
		return before.answer, func() {}, nil
	}
	options := p.below("OnDemandOptions")
	if p.text("TargetCapacitySpecification.DefaultTargetCapacityType") == "spot" {
		options = p.below("SpotOptions")
	}
	switch options.text("AllocationStrategy") {
	case "prioritized", "capacity-optimized-prioritized":
		slices.SortStableFunc(candidates, func(a, b *candidate) int { return cmp.Compare(a.priority, b.priority) })
	}
	id, target, least := e.id("fleet"), p.number("TargetCapacitySpecification.TotalTargetCapacity"), options.number("MinTargetCapacity")
	of := single{kind: options.yes("SingleInstanceType"), zone: options.yes("SingleAvailabilityZone")}
	launches, errs := e.fill(candidates, id, token, target, of)
	total := 0
	for _, l := range launches {
		total += len(l.made)
	}
	if total < least {
		e.undo(launches)
		launches = nil
	}
	answer := e.fleetAnswer(c, id, launches, errs)
	e.fleets = append(e.fleets, pastFleet{id: id, token: token, launches: launches, at: e.now(), tags: tagsFor(p, "fleet")})
	if token != "" {
		e.launches[token] = launched{digest: what, answer: answer}
	}
	var made []*instance
	for _, l := range launches {
		made = append(made, l.made...)
	}
	return answer, e.born(made), nil
}

// single says in what all instances of a fleet are alike.
type single struct{ kind, zone bool }

// forbids tells whether a candidate is of another type or zone than what was launched.
func (s single) forbids(x *candidate, launches []fleetLaunch) bool {
	if len(launches) == 0 {
		return false
	}
	first := launches[0].candidate.order
	return s.kind && x.order.spec.kind != first.spec.kind || s.zone && x.order.where.subnet.zone != first.where.subnet.zone
}

// fill asks one candidate after the other for what is still wanted. A fleet of a
// single type or zone stays with that of the first that gives anything. mu is held.
func (e *EC2) fill(candidates []*candidate, id, token string, target int, of single) ([]fleetLaunch, []fleetError) {
	var launches []fleetLaunch
	var errs []fleetError
	for _, x := range candidates {
		if target == 0 {
			break
		}
		if of.forbids(x, launches) {
			continue
		}
		if x.order.refusal != nil {
			errs = append(errs, fleetError{x, x.order.refusal})
			continue
		}
		x.order.most, x.order.token, x.order.fleet = target, token, id
		made, err := e.place(&x.order)
		if err != nil {
			errs = append(errs, fleetError{x, err})
			continue
		}
		launches = append(launches, fleetLaunch{x, made})
		if target -= len(made); target > 0 {
			rest := x.order
			rest.most = target
			_, err := e.room(&rest)
			errs = append(errs, fleetError{x, cmp.Or(err, wire.Errorf("UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration."))})
		}
	}
	return launches, errs
}

// undo takes back what nobody has seen. mu is held.
func (e *EC2) undo(launches []fleetLaunch) {
	for _, l := range launches {
		for _, i := range l.made {
			delete(e.instances, i.ID)
			for _, v := range i.volumes {
				delete(e.tags, v.id)
			}
			for _, n := range i.Interfaces {
				delete(e.tags, n.ID)
				if pool := e.taken[n.Subnet]; pool != nil {
					delete(pool.taken, n.Address)
				}
			}
		}
		e.order = slices.DeleteFunc(e.order, func(i *instance) bool { return e.instances[i.ID] == nil })
	}
}

func (e *EC2) fleetAnswer(c *wire.Call, id string, launches []fleetLaunch, errs []fleetError) *wire.Answer {
	var w writer
	w.text("fleetId", id).open("errorSet")
	for _, x := range errs {
		w.open("item")
		x.candidate.write(&w)
		w.text("errorCode", x.err.Code).text("errorMessage", x.err.Message).close("item")
	}
	w.close("errorSet")
	total := e.writeLaunches(&w, launches)
	answer := w.answer(c)
	answer.Header = map[string]string{countHeader: itoa(total)}
	return answer
}

// pastFleet is a fleet that was launched.
type pastFleet struct {
	id, token string
	launches  []fleetLaunch
	at        time.Time
	tags      map[string]string
}

// describeFleets is DescribeFleets, which shows fleets of the type instant only to
// those who name them:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeFleets.html
func (e *EC2) describeFleets(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	if p.has("Filter") {
		return wire.Missing("the double knows no filters of fleets"), nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var w writer
	w.open("fleetSet")
	for _, id := range p.texts("FleetId") {
		k := slices.IndexFunc(e.fleets, func(f pastFleet) bool { return f.id == id })
		if k < 0 || e.fleets[k].at.After(e.seen()) {
			return nil, wire.Errorf("InvalidFleetId.NotFound", "The fleet ID '%s' does not exist", id)
		}
		f := e.fleets[k]
		w.open("item").text("fleetId", f.id).text("fleetState", "active").text("clientToken", f.token).text("type", "instant").time("createTime", f.at)
		e.writeLaunches(&w, f.launches)
		w.tags(f.tags).close("item")
	}
	return w.close("fleetSet").answer(c), nil
}

// writeLaunches writes what a fleet's candidates gave, and returns how many.
func (e *EC2) writeLaunches(w *writer, launches []fleetLaunch) int {
	total := 0
	w.open("fleetInstanceSet")
	for _, l := range launches {
		var ids []string
		for _, i := range l.made {
			ids = append(ids, i.ID)
		}
		total += len(ids)
		w.open("item")
		l.candidate.write(w)
		w.list("instanceIds", ids, func(id string) { w.WriteString(id) })
		w.text("instanceType", l.candidate.order.spec.kind).close("item")
	}
	w.close("fleetInstanceSet")
	return total
}

func (x *candidate) write(w *writer) {
	w.open("launchTemplateAndOverrides").open("launchTemplateSpecification")
	w.text("launchTemplateId", x.order.spec.template).text("launchTemplateName", x.template.text("LaunchTemplateName")).text("version", x.template.text("Version"))
	w.close("launchTemplateSpecification").open("overrides").text("instanceType", x.override.text("InstanceType")).text("subnetId", x.override.text("SubnetId"))
	w.text("availabilityZone", x.override.text("AvailabilityZone")).text("maxPrice", x.override.text("MaxPrice")).close("overrides").close("launchTemplateAndOverrides")
	lifecycle := "on-demand"
	if x.order.spec.market != "" {
		lifecycle = x.order.spec.market
	}
	w.text("lifecycle", lifecycle)
}
