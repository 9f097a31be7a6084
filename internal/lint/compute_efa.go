package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// efa has the rules about Elastic Fabric Adapters.
func efa(all []resource) {
	var groups, queues seen
	for _, x := range all {
		enabled := x.view.At("Efa.Enabled")
		if !enabled.Sound() {
			continue
		}
		if !x.efa() {
			unusedEFA(x)
			gdr(x)
			continue
		}
		missingEFA(x, enabled)
		spreadEFA(x, enabled)
		efaPlacement(x, enabled, &groups, &queues)
	}
}

// efa reports whether the compute resource uses EFA.
func (x resource) efa() bool {
	enabled := x.view.At("Efa.Enabled")
	return enabled.Present() && enabled.Bool()
}

// missingEFA finds types that have no EFA (EfaValidator, InstancesEFAValidator).
func missingEFA(x resource, enabled spec.View) {
	var without []string
	for _, k := range x.kinds {
		if k.known && k.traits.EFA == 0 {
			without = append(without, k.Type)
		}
	}
	if len(without) == 0 {
		return
	}
	verb := "has"
	if len(without) > 1 {
		verb = "have"
	}
	enabled.Errorf("efa/unsupported", "%s %s no EFA", strings.Join(without, ", "), verb).
		WithHint("write Enabled: false, or take types with EFA, as a rule the largest sizes of a family")
}

// unusedEFA finds types whose EFA is not used (EfaValidator,
// InstancesEFAValidator). It does not reach over availability zones.
func unusedEFA(x resource) {
	if x.spread {
		return
	}
	var with []string
	for _, k := range x.kinds {
		if k.traits.EFA > 0 {
			with = append(with, k.Type)
		}
	}
	if len(with) == 0 {
		return
	}
	at := x.view.At("Efa.Enabled")
	switch {
	case at.Present():
	case x.several:
		at = x.list
	default:
		at = x.kinds[0].at
	}
	at.Warnf("efa/off", "EFA of %s costs nothing, and is off", strings.Join(with, ", ")).
		WithHint("write Efa: {Enabled: true} in compute resource %s; jobs on several nodes are slow without it", x.view.Key("Name").Text())
}

// gdr finds GPUDirect over an EFA that is off (EfaValidator, which looks only at
// compute resources with one InstanceType).
func gdr(x resource) {
	if at := x.view.At("Efa.GdrSupport"); at.Given() && at.Bool() && !x.several {
		at.Errorf("efa/gdr", "GdrSupport needs EFA, which is off").
			WithHint("write Enabled: true beside it, or remove GdrSupport; it is always on for types that have it")
	}
}

// spreadEFA finds EFA in a queue of several availability zones
// (EfaMultiAzValidator).
func spreadEFA(x resource, enabled spec.View) {
	if x.spread {
		enabled.Errorf("efa/several-subnets", "EFA does not reach over availability zones, and queue %s has %d subnets",
			x.queue.Key("Name").Text(), len(subnets(x.queue))).WithHint("leave one subnet in the queue, or write Enabled: false")
	}
}

// efaPlacement holds that a file says whether nodes with EFA stand close together
// (EfaPlacementGroupValidator). A Capacity Block has its own placement.
func efaPlacement(x resource, enabled spec.View, groups, queues *seen) {
	if x.spread || x.capacityType() == block || !x.group.view.Sound() {
		return
	}
	name := x.queue.Key("Name").Text()
	switch {
	case x.group.off():
		at := x.group.view.Key("Enabled")
		switch {
		case !groups.first(at.Path()):
		case x.target().Given():
			at.Infof("efa/no-placement", "the reservation decides how close together the nodes of queue %s stand", name).
				WithHint("if it was made in a placement group, name that group here")
		default:
			at.Warnf("efa/no-placement", "nodes of queue %s with EFA may stand far apart", name).
				WithHint("write Enabled: true, unless a reservation has a placement group of its own")
		}
	case !x.group.on() && queues.first(x.queue.Path()):
		enabled.Errorf("efa/placement", "queue %s does not say whether its nodes with EFA are in a placement group", name).
			WithHint("add Networking: {PlacementGroup: {Enabled: true}} to the queue; false if a reservation has one of its own")
	}
}
