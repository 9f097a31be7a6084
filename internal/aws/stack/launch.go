package stack

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// TemplateName is the launch template of a compute resource: the name by which the
// fleet starts its nodes.
func TemplateName(cluster, queue, resource string) string {
	return cluster + "-" + queue + "-" + resource
}

// launchTemplates are made for each compute resource. Their logical names are the
// result.
func (m *maker) launchTemplates(p *part, profiles profiles) []string {
	var ids []string
	names := map[string]string{}
	for _, q := range m.file.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			words := "compute resource " + r.Name + " of queue " + q.Name
			name := TemplateName(m.facts.Name, q.Name, r.Name)
			if other := names[name]; other != "" {
				m.fail("%s and %s give one launch template, %s: give one of them another name", other, words, name)
				continue
			}
			names[name] = words
			ids = append(ids, m.launchTemplate(p, q, r, profiles.queues[q.Name]))
		}
	}
	return ids
}

func (m *maker) launchTemplate(p *part, q spec.Queue, r spec.ComputeResource, profile cfn.Profile) string {
	tags := m.nodeTags(q, r)
	data := m.launchData(machine{
		image: q.Name, words: "queue " + q.Name, types: r.InstanceTypes, threadsOff: r.DisableSMT, root: q.RootVolume,
		profile: profile, ticket: m.nodeTicket(p, q, r), tags: tags,
	})
	data.InstanceInitiatedShutdownBehavior = "terminate"
	data.Monitoring = &cfn.Monitoring{Enabled: m.file.Monitoring.Detailed}
	data.NetworkInterfaces = m.nodeInterfaces(p, q, r)
	data.Placement = m.placement(p, q, r)
	data.CapacityReservationSpecification = reservationOf(r.Reservation)
	data.InstanceMarketOptions = market(q, r)
	if r.Several {
		data.InstanceType = "" // the fleet names one for each node
	}
	data.Overrides = m.overrides(r)
	id := id("LaunchTemplate", q.Name, r.Name)
	name := TemplateName(m.facts.Name, q.Name, r.Name)
	p.add(cfn.Resource{ID: id, Properties: cfn.LaunchTemplate{
		LaunchTemplateName: name, LaunchTemplateData: data,
		TagSpecifications: []cfn.TagSpecification{{ResourceType: "launch-template", Tags: tags}},
	}})
	return id
}

func (m *maker) nodeTicket(p *part, q spec.Queue, r spec.ComputeResource) manifest.Ticket {
	t := m.ticket(p, manifest.RoleCompute)
	t.Queue, t.Resource = q.Name, r.Name
	return t
}

// nodeTags are those of a compute resource's nodes: the file's, its queue's and its
// own, the nearest first.
func (m *maker) nodeTags(q spec.Queue, r spec.ComputeResource) []cfn.Tag {
	return m.merged(slices.Concat(m.file.Tags, q.Tags, r.Tags), m.ownNodeTags(q, r))
}

// ownNodeTags are muster's alone, which never change. A placement group has no
// others: with another tag it would be made anew, and the old one has nodes in it.
func (m *maker) ownNodeTags(q spec.Queue, r spec.ComputeResource) []cfn.Tag {
	return []cfn.Tag{
		tag("muster:role", manifest.RoleCompute), tag("muster:queue", q.Name), tag("muster:resource", r.Name),
		tag("Name", m.facts.Name+"-"+q.Name+"-"+r.Name),
	}
}

// nodeInterfaces are a node's network interfaces in a launch template. Nodes that
// the fleet may start in any of several subnets name none.
func (m *maker) nodeInterfaces(p *part, q spec.Queue, r spec.ComputeResource) []cfn.Interface {
	groups := p.groupsOf(q.Networking, m.groups.compute)
	if m.net.ours && q.PublicIP != nil && *q.PublicIP {
		m.fail("queue %s: AssignPublicIp is for subnets of yours; the network that muster makes has its nodes in private ones", q.Name)
	}
	var out []cfn.Interface
	for i, c := range interfaces(m.file, r) {
		one := cfn.Interface{DeviceIndex: new(c.device), NetworkCardIndex: new(c.card), InterfaceType: c.kind, Groups: groups}
		if subnets := m.queueSubnets(q); !r.Several && len(subnets) > 0 {
			one.SubnetId = p.text(subnets[0])
		}
		if one.AssociatePublicIpAddress = q.PublicIP; i > 0 {
			one.AssociatePublicIpAddress = new(false)
		}
		out = append(out, one)
	}
	return out
}

// placement is a node's placement group: one that the file names, the one that its
// reservation was made in, or one that is made for the compute resource.
func (m *maker) placement(p *part, q spec.Queue, r spec.ComputeResource) *cfn.Placement {
	known := m.facts.Reservations[r.Reservation.ID]
	reserved := known.PlacementGroup[strings.LastIndex(known.PlacementGroup, "/")+1:]
	switch {
	case r.PlacementGroup.Name != "":
		return &cfn.Placement{GroupName: cfn.Lit(r.PlacementGroup.Name)}
	case reserved != "" && !known.Block:
		return &cfn.Placement{GroupName: cfn.Lit(reserved)}
	case !r.PlacementGroup.Enabled:
		return nil
	}
	id := id("PlacementGroup", q.Name, r.Name)
	p.add(cfn.Resource{ID: id, Properties: cfn.PlacementGroup{Strategy: "cluster", Tags: m.merged(nil, m.ownNodeTags(q, r))}})
	return &cfn.Placement{GroupName: cfn.Ref(id)}
}

func reservationOf(r spec.Reservation) *cfn.ReservationSpecification {
	if r == (spec.Reservation{}) {
		return nil
	}
	return &cfn.ReservationSpecification{CapacityReservationTarget: &cfn.ReservationTarget{
		CapacityReservationId: r.ID, CapacityReservationResourceGroupArn: r.Group,
	}}
}

// market is how nodes are bought, if not on demand.
func market(q spec.Queue, r spec.ComputeResource) *cfn.Market {
	switch q.CapacityType {
	case "CAPACITY_BLOCK":
		return &cfn.Market{MarketType: "capacity-block"}
	case "SPOT":
		return &cfn.Market{MarketType: "spot", SpotOptions: &cfn.Spot{
			SpotInstanceType: "one-time", InstanceInterruptionBehavior: "terminate", MaxPrice: r.SpotPrice,
		}}
	}
	return nil
}

// overrides are the values of a launch template of the user's, which go before
// muster's.
func (m *maker) overrides(r spec.ComputeResource) []byte {
	own := r.LaunchTemplate
	if own.ID == "" {
		return nil
	}
	data, ok := m.facts.LaunchTemplates[own.String()]
	if !ok {
		m.fail("compute resource %s: version %s of launch template %s is not known", r.Name, own.Version, own.ID)
	}
	return data
}
