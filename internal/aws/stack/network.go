package stack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/spec"
)

// network is where the cluster's machines are.
type network struct {
	// ours says that muster makes it.
	ours bool
	vpc  value
	// head is the head node's subnet, headZone its zone.
	head     value
	headZone string
	// zones are those in which machines may be; public and private have a subnet for
	// each of them, and routes a private route table, where the network is ours.
	zones                   []string
	public, private, routes []value
	// blocks are the networks of subnets that are made, by the output that names them.
	blocks map[string]string
}

// network decides it: the file's, or one of our own where it names no subnet.
func (m *maker) network(p *part) {
	if m.namesSubnets() {
		m.existingNetwork()
		return
	}
	m.net.ours = true
	m.net.zones = m.neededZones()
	if len(m.net.zones) == 0 {
		m.fail("no availability zone of %s is known to make a network in", m.facts.Region)
		return
	}
	m.net.headZone, m.net.blocks = m.net.zones[0], map[string]string{}
	m.makeNetwork(p)
}

// namesSubnets reports whether the file has subnets. It has to have all of them
// then: a network of our own cannot be joined to one of theirs.
func (m *maker) namesSubnets() bool {
	var named, unnamed []string
	look := func(what string, n spec.Networking) {
		if len(n.Subnets) > 0 {
			named = append(named, what)
		} else {
			unnamed = append(unnamed, what)
		}
	}
	look("the head node", m.file.HeadNode.Networking)
	for _, q := range m.file.Scheduling.Queues {
		look("queue "+q.Name, q.Networking)
	}
	for _, pool := range m.file.LoginPools {
		look("the login nodes "+pool.Name, pool.Networking)
	}
	if len(named) > 0 && len(unnamed) > 0 {
		m.fail("%s has a subnet of yours, and %s has none: name subnets for all, or for none, and muster makes the network", named[0], unnamed[0])
	}
	return len(named) > 0
}

func (m *maker) existingNetwork() {
	head := strings.Join(m.file.HeadNode.Networking.Subnets, "")
	m.net.head = existing(head)
	for i, id := range m.fileSubnets() {
		s, ok := m.facts.Subnets[id]
		if !ok {
			m.fail("subnet %s is not known in %s", id, m.facts.Region)
			continue
		}
		if i == 0 {
			m.net.vpc = existing(s.VPC)
		}
		if s.VPC != m.net.vpc.literal {
			m.fail("subnet %s is in %s, and the head node is in %s: a cluster is in one VPC", id, s.VPC, m.net.vpc.literal)
		}
		if id == head {
			m.net.headZone = s.Zone
		}
	}
}

// fileSubnets are all that the file names, the head node's first.
func (m *maker) fileSubnets() []string {
	ids := slices.Clone(m.file.HeadNode.Networking.Subnets)
	for _, q := range m.file.Scheduling.Queues {
		ids = append(ids, q.Networking.Subnets...)
	}
	for _, pool := range m.file.LoginPools {
		ids = append(ids, pool.Networking.Subnets...)
	}
	return unique(ids)
}

func unique(texts []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range texts {
		if t != "" && !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// neededZones are the zones that the fleet can use: the first one alone, unless a
// queue may be spread or a file system has to be.
func (m *maker) neededZones() []string {
	zones, need := m.facts.Zones, 1
	for _, f := range m.work.FileSystems {
		if f.DeploymentType == multiZone {
			need = max(need, 2)
			if len(zones) < 2 {
				m.fail("file system %s is in two zones, and one is known in %s", f.Name, m.facts.Region)
			}
		}
	}
	for _, q := range m.file.Scheduling.Queues {
		if m.spreads(q) {
			need = len(zones)
		}
	}
	return zones[:min(need, len(zones), len(privateBlocks()))]
}

// spreads reports whether a queue's nodes may be in any zone: they are of several
// types, talk over no EFA, need not stand close together, are not reserved in one
// place, and no file system of the cluster's is in one zone alone.
func (m *maker) spreads(q spec.Queue) bool {
	for _, r := range q.ComputeResources {
		if !r.Several || r.EFA || r.PlacementGroup.Wanted() || r.Reservation != (spec.Reservation{}) {
			return false
		}
	}
	return !m.makesFSx() && len(q.ComputeResources) > 0
}

// The network of our own is 10.0.0.0/16: a public subnet of 251 addresses for each
// zone at its beginning, the first zone's private subnet in its second half, those
// of other zones between them. Blocks never change, however the fleet grows: a
// subnet that is replaced takes everything in it along.
const publicBlock = "10.0.%d.0/24"

// privateBlocks are those of the zones' private subnets.
func privateBlocks() []string {
	return []string{"10.0.128.0/17", "10.0.32.0/19", "10.0.64.0/19", "10.0.96.0/19", "10.0.16.0/20"}
}

const (
	// mostAddresses are those of the first zone's private subnet, less AWS's own.
	mostAddresses = 1<<15 - 5
	// spareAddresses are for file systems, load balancers and what else there is.
	spareAddresses = 100
)

func (m *maker) makeNetwork(p *part) {
	vpc := p.add(cfn.Resource{ID: "Vpc", Properties: cfn.VPC{
		CidrBlock: "10.0.0.0/16", EnableDnsHostnames: true, EnableDnsSupport: true, Tags: m.tags("network"),
	}})
	m.net.vpc = p.out("VpcId", "Vpc")
	p.add(cfn.Resource{ID: "InternetGateway", Properties: cfn.InternetGateway{Tags: m.tags("internet")}})
	p.add(cfn.Resource{ID: "InternetGatewayAttachment", Properties: cfn.GatewayAttachment{
		VpcId: p.text(vpc), InternetGatewayId: cfn.Ref("InternetGateway"),
	}})
	p.add(cfn.Resource{ID: "PublicRoutes", Properties: cfn.RouteTable{VpcId: p.text(vpc), Tags: m.tags("public")}})
	p.add(cfn.Resource{ID: "PublicDefaultRoute", DependsOn: []string{"InternetGatewayAttachment"}, Properties: cfn.Route{
		RouteTableId: cfn.Ref("PublicRoutes"), DestinationCidrBlock: "0.0.0.0/0", GatewayId: cfn.Ref("InternetGateway"),
	}})
	tables := []cfn.Text{cfn.Ref("PublicRoutes")}
	m.roomForFleet()
	for i, zone := range m.net.zones {
		n := strconv.Itoa(i + 1)
		m.subnet(p, subnet{"PublicSubnet" + n, zone, fmt.Sprintf(publicBlock, i), "PublicRoutes", true})
		p.add(cfn.Resource{ID: "PrivateRoutes" + n, Properties: cfn.RouteTable{VpcId: p.text(vpc), Tags: m.tags("private-" + zone)}})
		m.net.routes = append(m.net.routes, p.out("PrivateRouteTable"+n, "PrivateRoutes"+n))
		m.subnet(p, subnet{"PrivateSubnet" + n, zone, privateBlocks()[i], "PrivateRoutes" + n, false})
		tables = append(tables, cfn.Ref("PrivateRoutes"+n))
	}
	m.net.head = m.net.public[0]
	p.add(cfn.Resource{ID: "S3Endpoint", Properties: cfn.VPCEndpoint{
		VpcId: p.text(vpc), ServiceName: cfn.Sub("com.amazonaws.${AWS::Region}.s3"), VpcEndpointType: "Gateway",
		RouteTableIds: tables, Tags: m.tags("s3"),
	}})
}

// subnet is one that is made.
type subnet struct {
	id, zone, block, routes string
	public                  bool
}

func (m *maker) subnet(p *part, s subnet) {
	name := "private-" + s.zone
	if s.public {
		name = "public-" + s.zone
	}
	p.add(cfn.Resource{ID: s.id, Properties: cfn.Subnet{
		VpcId: p.text(m.net.vpc), AvailabilityZone: s.zone, CidrBlock: s.block, MapPublicIpOnLaunch: s.public, Tags: m.tags(name),
	}})
	p.add(cfn.Resource{ID: s.id + "Routes", Properties: cfn.SubnetRouteTable{SubnetId: cfn.Ref(s.id), RouteTableId: cfn.Ref(s.routes)}})
	v := p.out(s.id+"Id", s.id)
	m.net.blocks[v.name] = s.block
	if s.public {
		m.net.public = append(m.net.public, v)
	} else {
		m.net.private = append(m.net.private, v)
	}
}

// roomForFleet holds that the whole fleet has an address in the first zone.
func (m *maker) roomForFleet() {
	need := spareAddresses
	for _, q := range m.file.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			need += r.MaxCount * m.addresses(r)
		}
	}
	if need > mostAddresses {
		m.fail("the fleet needs %d addresses, and the network that muster makes has %d in a zone: name subnets of yours", need, mostAddresses)
	}
}

// addresses are those that a node takes: one for each interface that is more than
// EFA.
func (m *maker) addresses(r spec.ComputeResource) int {
	n := 0
	for _, i := range interfaces(m.file, r) {
		if i.kind != efaOnly {
			n++
		}
	}
	return max(1, n)
}

// queueSubnets are those in which a queue's nodes may be.
func (m *maker) queueSubnets(q spec.Queue) []value {
	switch {
	case !m.net.ours:
		return existingAll(unique(q.Networking.Subnets))
	case len(m.net.private) == 0:
		return nil
	case m.spreads(q):
		return m.net.private
	}
	return m.net.private[:1]
}
