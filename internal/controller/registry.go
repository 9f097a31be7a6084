package controller

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
)

// registry is the list of instances, as last observed and with what was started and
// ended since. It answers machines that ask which node they are.
type registry struct {
	mu sync.Mutex // guards what follows
	// byID has every instance. fresh has the time at which we were told of those that
	// were started here: a look that began earlier may lack them.
	byID  map[string]provider.Instance
	fresh map[string]time.Time
	// joined are the instances that were told which node they are.
	joined map[string]bool
}

func newRegistry() *registry {
	return &registry{byID: map[string]provider.Instance{}, fresh: map[string]time.Time{}, joined: map[string]bool{}}
}

// observed takes in a whole look, which began at a time.
func (r *registry) observed(list []provider.Instance, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := make(map[string]provider.Instance, len(list))
	for _, i := range list {
		now[i.ID] = i
		delete(r.fresh, i.ID)
	}
	for id, told := range r.fresh {
		if !told.Before(began) {
			now[id] = r.byID[id]
		} else {
			delete(r.fresh, id)
		}
	}
	r.byID = now
	maps.DeleteFunc(r.joined, func(id string, _ bool) bool { return now[id].ID == "" })
}

// started takes in instances that have just appeared.
func (r *registry) started(list []provider.Instance) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range list {
		r.byID[i.ID], r.fresh[i.ID] = i, now
	}
}

// ended takes out instances, by node or ID.
func (r *registry) ended(names []string) {
	gone := setOf(names)
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, i := range r.byID {
		if gone[id] || gone[i.Node] && i.Node != "" {
			delete(r.byID, id)
			delete(r.fresh, id)
			delete(r.joined, id)
		}
	}
}

// move gives instances to other nodes, all or none: a machine that was told its
// node's name keeps it.
func (r *registry) move(moves map[string]string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.joined {
		if _, ok := moves[r.byID[id].Node]; ok {
			return false
		}
	}
	for id, i := range r.byID {
		if to, ok := moves[i.Node]; ok {
			i.Node = to
			r.byID[id] = i
		}
	}
	return true
}

// join tells an instance's node and takes note that it was told.
func (r *registry) join(id string) (node string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.byID[id]
	if !ok || i.Node == "" {
		return "", false
	}
	r.joined[id] = true
	return i.Node, true
}

// node is an instance's node, empty if not known.
func (r *registry) node(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id].Node
}

// has tells whether a node has an address.
func (r *registry) has(address netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.byID {
		if i.Address == address && i.Node != "" {
			return true
		}
	}
	return false
}

// instances are all.
func (r *registry) instances() []provider.Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.byID))
}

// addresses are where nodes answer, as far as that is known.
func (r *registry) addresses(nodes map[string]bool) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := map[string]string{}
	for _, i := range r.byID {
		if i.Address.IsValid() && nodes[i.Node] {
			at[i.Node] = i.Address.String()
		}
	}
	return at
}
