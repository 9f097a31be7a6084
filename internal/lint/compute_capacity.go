package lint

import "github.com/muster-hpc/muster/internal/spec"

// capacity has the rules about how instances are bought.
func capacity(all []resource) {
	for _, x := range all {
		blockCount(x)
		blockReservation(x)
		reservedList(x)
		usageClass(x)
		allocation(x)
	}
	oneType(all)
}

const block = "CAPACITY_BLOCK"

// target is where a compute resource says which reservation it uses: its own
// place or its queue's.
func (x resource) target() spec.View {
	if own := x.view.Key("CapacityReservationTarget"); own.Present() {
		return own
	}
	return x.queue.Key("CapacityReservationTarget")
}

// blockCount holds that all nodes of a Capacity Block are static
// (ComputeResourceSizeValidator).
func blockCount(x resource) {
	low, high := x.view.Key("MinCount"), x.view.Key("MaxCount")
	if x.capacityType() != block || !low.Sound() || !high.Sound() || low.Int() == high.Int() && low.Int() > 0 {
		return
	}
	at := low
	if !low.Present() {
		at = high
	}
	at.Errorf("capacity/block-count", "nodes of a Capacity Block are static: MinCount (%d) has to be MaxCount (%d)", low.Int(), high.Int()).
		WithHint("write MinCount: %d", high.Int())
}

// blockReservation holds that a Capacity Block is named by its id
// (CapacityTypeValidator).
func blockReservation(x resource) {
	target := x.target()
	if x.capacityType() != block || !target.Sound() || target.Key("CapacityReservationId").Present() {
		return
	}
	at := x.queue.Key("CapacityType")
	if target.Present() {
		at = target
	}
	at.Errorf("capacity/no-block", "compute resource %s does not say which Capacity Block it uses", x.view.Key("Name").Text()).
		WithHint("add CapacityReservationTarget: {CapacityReservationId: cr-...}")
}

// reservedList finds a reservation for several instance types
// (CapacityReservationValidator).
func reservedList(x resource) {
	id := x.target().Key("CapacityReservationId")
	if x.several && id.Present() {
		id.Errorf("capacity/several-types", "compute resource %s has Instances, and one reservation is for one instance type", x.view.Key("Name").Text()).
			WithHint("write InstanceType, or name a group of reservations with CapacityReservationResourceGroupArn")
	}
}

// usageClass holds that AWS sells the types in the queue's way
// (CapacityTypeValidator).
func usageClass(x resource) {
	for _, k := range x.kinds {
		switch kind := x.capacityType(); {
		case !k.known:
		case kind == block && !k.traits.CapacityBlock:
			k.at.Errorf("capacity/not-sold", "%s is not sold in Capacity Blocks", k.Type).
				WithHint("write CapacityType: ONDEMAND, which takes reservations, too")
		case kind == "SPOT" && !k.traits.Spot:
			k.at.Errorf("capacity/not-sold", "%s is not sold as spot capacity", k.Type).
				WithHint("write CapacityType: ONDEMAND")
		}
	}
}

// allocation holds that the allocation strategy is one of the capacity type
// (InstancesAllocationStrategyValidator). Resources of one type have none.
func allocation(x resource) {
	at := x.queue.Key("AllocationStrategy")
	if !x.several || !at.Given() {
		return
	}
	strategy := at.Text()
	switch kind := x.capacityType(); {
	case kind == block:
		at.Errorf("capacity/strategy", "a Capacity Block has no allocation strategy").
			WithHint("remove it").WithFix(at.Remove())
	case kind == "ONDEMAND" && strategy != "lowest-price" && strategy != "prioritized":
		at.Errorf("capacity/strategy", "%s is a strategy for spot capacity, and the queue has ONDEMAND", strategy).
			WithHint("write lowest-price or prioritized, or CapacityType: SPOT")
	case kind == "SPOT" && strategy == "prioritized":
		at.Errorf("capacity/strategy", "prioritized is a strategy for ONDEMAND capacity, and the queue has SPOT").
			WithHint("write capacity-optimized-prioritized")
	}
}

// oneType finds a reservation that is named for two instance types, of which it
// can have one (CapacityReservationValidator).
func oneType(all []resource) {
	first := map[string]kind{}
	for _, x := range all {
		id := x.target().Key("CapacityReservationId")
		if x.several || !id.Given() || len(x.kinds) == 0 {
			continue
		}
		k := x.kinds[0]
		if before, there := first[id.Text()]; there && before.Type != k.Type {
			k.at.Errorf("capacity/two-types", "reservation %s is for one instance type, and is named for %s and %s", id.Text(), before.Type, k.Type).
				WithHint("the other type is in line %d; name another reservation for one of them", before.at.Line())
			continue
		}
		first[id.Text()] = k
	}
}
