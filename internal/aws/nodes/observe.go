package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/nodes/ec2xml"
	"github.com/muster-hpc/muster/internal/provider"
)

// pageSize is the most instances that EC2 lists at once, filterValues the most
// values of a filter.
const (
	pageSize     = 1000
	filterValues = 200
)

// sight is what EC2 shows at a time.
type sight struct {
	began time.Time
	// known are the machines that we knew when it began.
	known []string
	// listed are the cluster's living instances, rest what EC2 says of known ones
	// that are not among them.
	listed []ec2xml.Instance
	rest   map[string]ec2xml.Instance
	// fleets are the instances of fleets, in the order of their nodes.
	fleets map[string][]string
}

// Observe implements provider.Provider. An instance without a node is one that was
// started with the cluster's tags, but not by muster, or whose tags are wrong.
func (f *Fleet) Observe(ctx context.Context) ([]provider.Instance, error) {
	wait := f.lookAtHealth(ctx)
	s, err := f.look(ctx)
	wait()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	gone := f.merge(s)
	forgettable := f.expired(s.began)
	f.looked = true
	all := f.list()
	f.mu.Unlock()
	if len(forgettable) > 0 {
		f.forget(forgettable...)
	}
	for _, m := range gone {
		f.lost(m)
	}
	return all, nil
}

// lost tells of a machine that ended without being asked to.
func (f *Fleet) lost(m *machine) {
	f.Log.Info("instance ended", "instance", m.ID, "node", m.Node, "started", m.Started, "reason", m.reason)
	if m.Node == "" {
		return
	}
	select {
	case f.ended <- m.Node:
	default: // the next look at what lives says the same
	}
}

// look asks EC2.
func (f *Fleet) look(ctx context.Context) (sight, error) {
	s := sight{began: f.Now(), rest: map[string]ec2xml.Instance{}}
	f.mu.Lock()
	s.known = sortedKeys(f.machines)
	f.mu.Unlock()
	var err error
	s.listed, err = f.describe(ctx,
		filter("tag:"+tagCluster, f.Cluster), filter("tag:"+tagRole, manifest.RoleCompute), filter("instance-state-name", "pending", "running", stopped))
	if err != nil {
		return s, err
	}
	// Whose tags were copied gets the node that the older one leaves.
	slices.SortFunc(s.listed, func(a, b ec2xml.Instance) int {
		return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(a.ID, b.ID))
	})
	here := map[string]bool{}
	for _, i := range s.listed {
		here[i.ID] = true
	}
	absent := slices.DeleteFunc(slices.Clone(s.known), func(id string) bool { return here[id] })
	rest, err := f.describeIDs(ctx, absent)
	if err != nil {
		return s, err
	}
	for _, i := range rest {
		s.rest[i.ID] = i
	}
	s.fleets, err = f.describeFleets(ctx, s.listed)
	return s, err
}

// merge brings what we know up to date. It returns the machines that are gone and
// were not asked to end. The caller holds mu.
func (f *Fleet) merge(s sight) (gone []*machine) {
	maps.DeleteFunc(f.over, func(_ string, at time.Time) bool { return s.began.Sub(at) > f.Limits.Lag })
	here := map[string]bool{}
	d := deducer{fleets: s.fleets, lists: map[string][]string{}}
	for _, e := range s.listed {
		here[e.ID] = true
		if e.State == stopped {
			gone = append(gone, f.strand(e)...)
		} else if m := f.learn(e, s.began); m != nil {
			f.place(m, &e, &d)
		}
	}
	for _, id := range s.known {
		m, e := f.machines[id], s.rest[id]
		switch {
		case m == nil || here[id]:
		case lives(e.State):
			f.learn(e, s.began)
		case e.ID != "" || s.began.Sub(m.learned) > f.Limits.Lag:
			f.drop(id)
			m.reason = e.Reason
			f.names.forget(m.Node, m.Address)
			gone = append(gone, m)
		}
	}
	for _, m := range f.machines {
		f.names.want(m.Node, m.Address)
	}
	return slices.DeleteFunc(gone, func(m *machine) bool { return m.asked })
}

// place notes a machine that EC2 lists, and whose it is. Of two for one node the
// second belongs to no node. The caller holds mu.
func (f *Fleet) place(m *machine, e *ec2xml.Instance, d *deducer) {
	m.shown = true
	f.add(m)
	node := m.Node
	if given := e.Tag(tagNode); given != "" && !m.moved {
		node = given
	} else if node == "" {
		m.launch, node = e.Tag(tagLaunch), d.node(e)
	}
	if node != m.Node && f.of[node] == "" {
		f.give(m, node)
	}
}

// stopped is a machine that a user has stopped: it is not a node any more, and
// its disks cost.
const stopped = "stopped"

// strand takes a stopped machine's node away. It stays in the list, so that it is
// ended. The caller holds mu.
func (f *Fleet) strand(e ec2xml.Instance) (gone []*machine) {
	if _, over := f.over[e.ID]; over {
		return nil
	}
	if m := f.machines[e.ID]; m != nil && m.Node != "" {
		f.names.forget(m.Node, m.Address)
		m.reason = e.Reason
		gone = append(gone, m)
	}
	f.drop(e.ID)
	f.add(&machine{Instance: provider.Instance{ID: e.ID, Started: e.Launched}, learned: e.Launched, shown: true})
	return gone
}

// deducer finds the nodes of instances from their tags.
type deducer struct {
	fleets map[string][]string
	lists  map[string][]string // of nodes, by launch
}

// node is an instance's node, empty if its tags do not say.
func (d *deducer) node(i *ec2xml.Instance) string {
	if node := i.Tag(tagNode); node != "" {
		return node
	}
	launch, index := i.Tag(tagLaunch), i.Index
	if fleet := i.Tag(tagFleet); fleet != "" {
		index = slices.Index(d.fleets[fleet], i.ID)
	}
	nodes, known := d.lists[launch]
	if !known {
		nodes, _ = nodesOf(i) // a tag that was changed by hand may name no node
		d.lists[launch] = nodes
	}
	if launch == "" || index < 0 || index >= len(nodes) {
		return ""
	}
	return nodes[index]
}

// describe lists instances, all pages.
func (c *clients) describe(ctx context.Context, filters ...types.Filter) ([]ec2xml.Instance, error) {
	var all []ec2xml.Instance
	in := &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(pageSize)}
	for {
		l := &lean{read: ec2xml.Described, result: &ec2.DescribeInstancesOutput{}}
		if _, err := c.ec2.DescribeInstances(ctx, in, l.option); err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		all = append(all, l.page.Instances...)
		if l.page.Next == "" {
			return all, nil
		}
		in.NextToken = aws.String(l.page.Next)
	}
}

// describeIDs lists instances in all states, those that EC2 knows.
func (c *clients) describeIDs(ctx context.Context, ids []string) ([]ec2xml.Instance, error) {
	var all []ec2xml.Instance
	for some := range slices.Chunk(ids, filterValues) {
		found, err := c.describe(ctx, filter("instance-id", some...))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// describeFleets asks for the instances of fleets of which the nodes are not known.
// EC2 numbers the instances of a fleet by call, and makes several calls: the place
// of an instance is that of its ID among all that the fleet has launched.
func (f *Fleet) describeFleets(ctx context.Context, listed []ec2xml.Instance) (map[string][]string, error) {
	fleets := map[string][]string{}
	f.mu.Lock()
	for _, e := range listed {
		if m := f.machines[e.ID]; (m == nil || m.Node == "") && e.Tag(tagNode) == "" && e.Tag(tagFleet) != "" {
			fleets[e.Tag(tagFleet)] = nil
		}
	}
	f.mu.Unlock()
	for _, id := range sortedKeys(fleets) {
		out, err := f.clients.ec2.DescribeFleets(ctx, &ec2.DescribeFleetsInput{FleetIds: []string{id}})
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorCode() == "InvalidFleetId.NotFound" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the instances of fleet %s: %w", id, err)
		}
		for _, fleet := range out.Fleets {
			for _, i := range fleet.Instances {
				fleets[id] = append(fleets[id], i.InstanceIds...)
			}
		}
		slices.Sort(fleets[id])
	}
	return fleets, nil
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}
