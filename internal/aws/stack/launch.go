package stack

import (
	"strconv"
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
	for _, q := range m.queues() {
		for _, r := range q.resources {
			words := "compute resource " + r.name + " of queue " + q.name
			name := TemplateName(m.facts.Name, q.name, r.name)
			if other := names[name]; other != "" {
				m.fail("%s and %s give one launch template, %s: give one of them another name", other, words, name)
				continue
			}
			names[name] = words
			ids = append(ids, m.launchTemplate(p, q, r, profiles.queues[q.name]))
		}
	}
	return ids
}

func (m *maker) launchTemplate(p *part, q queue, r resource, profile cfn.Profile) string {
	tags := m.nodeTags(q, r)
	data := m.launchData(machine{
		image: q.name, words: "queue " + q.name, types: r.types,
		threadsOff: r.view.Key("DisableSimultaneousMultithreading").Bool(),
		root:       rootOf(q.view.At("ComputeSettings.LocalStorage.RootVolume")), profile: profile, ticket: m.nodeTicket(p, q, r), tags: tags,
	})
	data.InstanceInitiatedShutdownBehavior = "terminate"
	data.Monitoring = &cfn.Monitoring{Enabled: m.file.At("Monitoring.DetailedMonitoring").Bool()}
	data.NetworkInterfaces = m.nodeInterfaces(p, q, r)
	data.Placement = m.placement(p, q, r)
	data.CapacityReservationSpecification = reservationOf(r.target(q))
	data.InstanceMarketOptions = market(q, r)
	if r.several {
		data.InstanceType = "" // the fleet names one for each node
	}
	data.Overrides = m.overrides(r)
	id := id("LaunchTemplate", q.name, r.name)
	name := TemplateName(m.facts.Name, q.name, r.name)
	p.add(cfn.Resource{ID: id, Properties: cfn.LaunchTemplate{
		LaunchTemplateName: name, LaunchTemplateData: data,
		TagSpecifications: []cfn.TagSpecification{{ResourceType: "launch-template", Tags: tags}},
	}})
	return id
}

func (m *maker) nodeTicket(p *part, q queue, r resource) manifest.Ticket {
	t := m.ticket(p, manifest.RoleCompute)
	t.Queue, t.Resource = q.name, r.name
	return t
}

// nodeTags are those of a compute resource's nodes: the file's, its queue's and its
// own, the nearest first.
func (m *maker) nodeTags(q queue, r resource) []cfn.Tag {
	return m.merged([]spec.View{m.file, q.view, r.view}, m.ownNodeTags(q, r))
}

// ownNodeTags are muster's alone, which never change. A placement group has no
// others: with another tag it would be made anew, and the old one has nodes in it.
func (m *maker) ownNodeTags(q queue, r resource) []cfn.Tag {
	return []cfn.Tag{
		tag("muster:role", manifest.RoleCompute), tag("muster:queue", q.name), tag("muster:resource", r.name),
		tag("Name", m.facts.Name+"-"+q.name+"-"+r.name),
	}
}

// nodeInterfaces are a node's network interfaces in a launch template. Nodes that
// the fleet may start in any of several subnets name none.
func (m *maker) nodeInterfaces(p *part, q queue, r resource) []cfn.Interface {
	networking := q.view.Key("Networking")
	groups := p.groupsOf(networking, m.groups.compute)
	public := networking.Key("AssignPublicIp")
	if m.net.ours && public.Bool() {
		m.fail("queue %s: AssignPublicIp is for subnets of yours; the network that muster makes has its nodes in private ones", q.name)
	}
	var out []cfn.Interface
	for i, c := range m.interfaces(r) {
		one := cfn.Interface{DeviceIndex: new(c.device), NetworkCardIndex: new(c.card), InterfaceType: c.kind, Groups: groups}
		if subnets := m.queueSubnets(q); !r.several && len(subnets) > 0 {
			one.SubnetId = p.text(subnets[0])
		}
		switch {
		case i > 0:
			one.AssociatePublicIpAddress = new(false)
		case public.Present():
			one.AssociatePublicIpAddress = new(public.Bool())
		}
		out = append(out, one)
	}
	return out
}

// placement is a node's placement group: one that the file names, the one that its
// reservation was made in, or one that is made for the compute resource.
func (m *maker) placement(p *part, q queue, r resource) *cfn.Placement {
	name, there := m.groupOf(q, r)
	known := m.facts.Reservations[r.target(q).Key("CapacityReservationId").Text()]
	reserved := known.PlacementGroup[strings.LastIndex(known.PlacementGroup, "/")+1:]
	switch {
	case name != "":
		return &cfn.Placement{GroupName: cfn.Lit(name)}
	case reserved != "" && !known.Block:
		return &cfn.Placement{GroupName: cfn.Lit(reserved)}
	case !there:
		return nil
	}
	id := id("PlacementGroup", q.name, r.name)
	p.add(cfn.Resource{ID: id, Properties: cfn.PlacementGroup{Strategy: "cluster", Tags: m.merged(nil, m.ownNodeTags(q, r))}})
	return &cfn.Placement{GroupName: cfn.Ref(id)}
}

func reservationOf(target spec.View) *cfn.ReservationSpecification {
	one := cfn.ReservationTarget{
		CapacityReservationId:               target.Key("CapacityReservationId").Text(),
		CapacityReservationResourceGroupArn: target.Key("CapacityReservationResourceGroupArn").Text(),
	}
	if one == (cfn.ReservationTarget{}) {
		return nil
	}
	return &cfn.ReservationSpecification{CapacityReservationTarget: &one}
}

// market is how nodes are bought, if not on demand.
func market(q queue, r resource) *cfn.Market {
	switch q.view.Key("CapacityType").Text() {
	case "CAPACITY_BLOCK":
		return &cfn.Market{MarketType: "capacity-block"}
	case "SPOT":
		spot := &cfn.Spot{SpotInstanceType: "one-time", InstanceInterruptionBehavior: "terminate"}
		if price := r.view.Key("SpotPrice"); price.Present() {
			spot.MaxPrice = strconv.FormatFloat(price.Float(), 'f', -1, 64)
		}
		return &cfn.Market{MarketType: "spot", SpotOptions: spot}
	}
	return nil
}

// overrides are the values of a launch template of the user's, which go before
// muster's.
func (m *maker) overrides(r resource) []byte {
	v := r.view.Key("LaunchTemplateOverrides")
	if !v.Present() {
		return nil
	}
	key := v.Key("LaunchTemplateId").Text() + ":" + v.Key("Version").Text()
	data, ok := m.facts.LaunchTemplates[key]
	if !ok {
		m.fail("compute resource %s: version %s of launch template %s is not known", r.name, v.Key("Version").Text(), v.Key("LaunchTemplateId").Text())
	}
	return data
}
