package lint

import "github.com/muster-hpc/muster/internal/spec"

// group is a placement group as the file has it.
type group struct{ view spec.View }

// groupOf is the placement group that holds for a compute resource: its own goes
// before its queue's.
func groupOf(q, r spec.View) group {
	if own := r.At("Networking.PlacementGroup"); own.Present() {
		return group{own}
	}
	return group{q.At("Networking.PlacementGroup")}
}

// name is the name or the id of an existing placement group; empty if one is
// made.
func (g group) name() string {
	if name := g.view.Key("Name").Text(); name != "" {
		return name
	}
	return g.view.Key("Id").Text()
}

// on reports whether nodes are put into a placement group.
func (g group) on() bool { return g.name() != "" || g.view.Key("Enabled").Bool() }

// off reports whether the file turns the placement group off.
func (g group) off() bool { return g.view.Key("Enabled").Present() && !g.view.Key("Enabled").Bool() }

// placement has the rules about placement groups.
func placement(queues spec.View, all []resource) {
	var spread, blocks seen
	for _, x := range all {
		if !x.group.on() || !x.group.view.Sound() {
			continue
		}
		if x.capacityType() == block && blocks.first(x.group.view.Path()) {
			blockGroup(x)
		}
		ungrouped(x)
		severalGrouped(x)
	}
	for _, x := range all {
		if x.spread && x.group.on() && spread.first(x.group.view.Path()) {
			spreadGroup(x)
		}
	}
	for _, q := range queues.Items() {
		groupName(q.At("Networking.PlacementGroup"))
		for _, r := range q.Key("ComputeResources").Items() {
			groupName(r.At("Networking.PlacementGroup"))
		}
	}
}

// groupName holds that a placement group is named in one way, and only if it is
// used (PlacementGroupNamingValidator).
func groupName(at spec.View) {
	g := group{at}
	name, id := at.Key("Name"), at.Key("Id")
	if name.Text() != "" && id.Text() != "" {
		id.Errorf("placement/name", "the placement group has a Name and an Id, which mean the same").WithHint("remove one of them")
	}
	if g.name() != "" && g.off() {
		at.Key("Enabled").Errorf("placement/name", "placement group %s is named and not enabled", g.name()).
			WithHint("remove Enabled to use it, or Name and Id to have none")
	}
}

// spreadGroup finds a placement group over several availability zones
// (MultiAzPlacementGroupValidator).
func spreadGroup(x resource) {
	x.group.view.Errorf("placement/several-subnets", "a placement group is in one availability zone, and queue %s has %d subnets",
		x.queue.Key("Name").Text(), len(subnets(x.queue))).WithHint("leave one subnet in the queue, or write Enabled: false")
}

// blockGroup finds a placement group for a Capacity Block, which has its own
// placement (PlacementGroupCapacityTypeValidator).
func blockGroup(x resource) {
	x.group.view.Warnf("placement/capacity-block", "a Capacity Block has a placement of its own; with another one its nodes may not start").
		WithHint("remove PlacementGroup").WithFix(x.group.view.Remove())
}

// ungrouped finds types that cannot be in a cluster placement group
// (InstanceTypePlacementGroupValidator).
func ungrouped(x resource) {
	for _, k := range x.kinds {
		if k.known && !k.traits.ClusterGroup {
			k.at.Errorf("placement/unsupported", "%s cannot be in a placement group", k.Type).
				WithHint("write Networking: {PlacementGroup: {Enabled: false}} in the compute resource, or take another type")
		}
	}
}

// severalGrouped finds placement groups of several types, which seldom fit
// together (InstancesNetworkingValidator).
func severalGrouped(x resource) {
	if n := len(x.list.Items()); n > 1 {
		x.list.Warnf("placement/several-types", "AWS may not find room for %d instance types in one placement group", n).
			WithHint("write Networking: {PlacementGroup: {Enabled: false}} in the compute resource, or take one type")
	}
}
