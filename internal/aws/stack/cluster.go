package stack

import "github.com/muster-hpc/muster/internal/aws/cfn"

// cluster is the stack of what costs and can be made again.
func (m *maker) cluster() *Stack {
	if m.net.vpc.absent() {
		return nil
	}
	p := m.part(m.facts.Name, "Cluster "+m.facts.Name+": head node, fleet, roles, names, alarms")
	m.gateway(p)
	m.hostedZone(p)
	m.headInterface(p)
	profiles := m.roles(p)
	templates := m.launchTemplates(p, profiles)
	m.headNode(p, profiles, templates)
	m.loginNodes(p, profiles)
	m.dashboard(p)
	m.alarms(p)
	if url := m.file.AdditionalResources; url != "" {
		p.add(cfn.Resource{ID: "AdditionalResources", Properties: cfn.Stack{TemplateURL: url, Tags: m.tags("additional")}})
	}
	return p.Stack
}

// gateway lets the private subnets of our own network reach the internet. One serves
// all zones: nodes fetch little by it, and each gateway costs by the hour.
func (m *maker) gateway(p *part) {
	if !m.net.ours {
		return
	}
	p.add(cfn.Resource{ID: "NatAddress", Properties: cfn.EIP{Domain: "vpc", Tags: m.tags("nat")}})
	p.add(cfn.Resource{ID: "NatGateway", Properties: cfn.NatGateway{
		AllocationId: cfn.Att("NatAddress", "AllocationId"), SubnetId: p.text(m.net.public[0]), Tags: m.tags("nat"),
	}})
	for i, table := range m.net.routes {
		p.add(cfn.Resource{ID: "PrivateDefaultRoute" + string(rune('1'+i)), Properties: cfn.Route{
			RouteTableId: p.text(table), DestinationCidrBlock: "0.0.0.0/0", NatGatewayId: cfn.Ref("NatGateway"),
		}})
	}
}
