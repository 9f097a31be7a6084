package stack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/spec"
)

// groups are the security groups that muster makes; one that the file replaces
// everywhere is absent.
type groups struct {
	head, compute, storage value
	// pools are those of pools of login nodes: each may be open to other people.
	pools map[string]poolGroups
}

// poolGroups are the groups of a pool's machines and of its load balancer.
type poolGroups struct{ nodes, balancer value }

// ports of services.
const (
	sshPort = 22
	// keyPort is join.KeyPort, where machines ask for the munge key.
	keyPort = 815
)

// securityGroups are made in the base stack, with the rules between them.
func (m *maker) securityGroups(p *part) {
	if !replaced(m.file.HeadNode.Networking) {
		m.groups.head = m.group(p, "Head", "Head node of cluster "+m.facts.Name, m.headRules())
	}
	if slices.ContainsFunc(m.queueNetworks(), func(n spec.Networking) bool { return !replaced(n) }) {
		m.groups.compute = m.computeGroup(p)
	}
	m.groups.pools = map[string]poolGroups{}
	for _, l := range m.file.LoginPools {
		if !replaced(l.Networking) {
			m.groups.pools[l.Name] = m.poolGroups(p, l)
		}
	}
	m.between(p)
	if m.makesStorage() {
		m.groups.storage = m.group(p, "Storage", "File systems of cluster "+m.facts.Name, nil)
		m.storageTalks(p)
	}
}

// replaced reports whether a Networking of the file has security groups instead of
// muster's.
func replaced(n spec.Networking) bool { return len(n.SecurityGroups) > 0 }

func (m *maker) queueNetworks() []spec.Networking {
	var all []spec.Networking
	for _, q := range m.file.Scheduling.Queues {
		all = append(all, q.Networking)
	}
	return all
}

func (m *maker) poolNetworks() []spec.Networking {
	var all []spec.Networking
	for _, p := range m.file.LoginPools {
		all = append(all, p.Networking)
	}
	return all
}

// poolGroups are made for a pool of login nodes.
func (m *maker) poolGroups(p *part, l spec.LoginPool) poolGroups {
	rules := m.ssh(l.SSH)
	return poolGroups{
		balancer: m.group(p, id("LoadBalancer", l.Name), "Load balancer of login nodes "+l.Name+" of cluster "+m.facts.Name, rules),
		nodes:    m.group(p, id("Login", l.Name), "Login nodes "+l.Name+" of cluster "+m.facts.Name, append(rules, dcv(l.DCV)...)),
	}
}

// group makes a security group that lets everything out.
func (m *maker) group(p *part, name, description string, in []cfn.Rule) value {
	p.add(cfn.Resource{ID: name + "SecurityGroup", Properties: cfn.SecurityGroup{
		GroupDescription: description, VpcId: p.text(m.net.vpc), SecurityGroupIngress: in,
		SecurityGroupEgress: []cfn.Rule{{IpProtocol: "-1", CidrIp: "0.0.0.0/0", Description: "everything"}},
		Tags:                m.tags(strings.ToLower(name)),
	}})
	return p.out(name+"SecurityGroupId", name+"SecurityGroup")
}

// computeGroup lets nodes talk with each other in every way, both in and out by
// reference to itself: EFA asks for exactly that.
func (m *maker) computeGroup(p *part) value {
	v := m.group(p, "Compute", "Compute nodes of cluster "+m.facts.Name, nil)
	const id = "ComputeSecurityGroup"
	p.add(cfn.Resource{ID: "ComputeFromItself", Properties: cfn.Ingress{GroupId: cfn.Ref(id), Rule: cfn.Rule{
		IpProtocol: "-1", SourceSecurityGroupId: cfn.Ref(id), Description: "compute nodes, EFA",
	}}})
	p.add(cfn.Resource{ID: "ComputeToItself", Properties: cfn.Egress{GroupId: cfn.Ref(id), Rule: cfn.Rule{
		IpProtocol: "-1", DestinationSecurityGroupId: cfn.Ref(id), Description: "compute nodes, EFA",
	}}})
	return v
}

// headRules let people in.
func (m *maker) headRules() []cfn.Rule {
	return append(m.ssh(m.file.HeadNode.SSH), dcv(m.file.HeadNode.DCV)...)
}

// ssh opens port 22 to those that the file allows, or else to the user alone.
func (m *maker) ssh(s spec.SSH) []cfn.Rule {
	from := s.AllowedIPs
	if from == "" && m.facts.Caller.IsValid() {
		from = m.facts.Caller.String()
	}
	return rulesFrom(sshPort, from, "SSH")
}

func dcv(d spec.DCV) []cfn.Rule {
	if !d.Enabled {
		return nil
	}
	return rulesFrom(d.Port, d.AllowedIPs, "NICE DCV")
}

// rulesFrom opens a port to a network or to a prefix list; it opens none if from is
// empty.
func rulesFrom(port int, from, what string) []cfn.Rule {
	r := cfn.Rule{IpProtocol: "tcp", FromPort: port, ToPort: port, Description: what}
	switch {
	case from == "":
		return nil
	case len(from) > 3 && from[:3] == "pl-":
		r.SourcePrefixListId = from
	case strings.Contains(from, ":"):
		r.CidrIpv6 = from
	default:
		r.CidrIp = from
	}
	return []cfn.Rule{r}
}

// member is a security group that machines are in.
type member struct {
	name  string
	group value
	// ours says that muster made it, so that rules can be added.
	ours bool
}

// members are the security groups by which machines of a role are known: muster's,
// and the file's own instead.
func (m *maker) members(role string, managed value, networks []spec.Networking) []member {
	var all []member
	if !managed.absent() {
		all = append(all, member{role, managed, true})
	}
	var ids []string
	for _, n := range networks {
		ids = append(ids, n.SecurityGroups...)
	}
	for _, id := range unique(ids) {
		all = append(all, member{role + "Sg" + strings.TrimPrefix(id, "sg-"), existing(id), false})
	}
	return all
}

func (m *maker) heads() []member {
	return m.members("Head", m.groups.head, []spec.Networking{m.file.HeadNode.Networking})
}
func (m *maker) computes() []member {
	return m.members("Compute", m.groups.compute, m.queueNetworks())
}

// logins are the login nodes' groups, pool by pool.
func (m *maker) logins() []member {
	var all []member
	for _, l := range m.file.LoginPools {
		if g, ok := m.groups.pools[l.Name]; ok {
			all = append(all, member{id("Login", l.Name), g.nodes, true})
		}
	}
	return append(all, m.members("Login", value{}, m.poolNetworks())...)
}

// between lets the machines of the cluster reach each other. Slurm and MPI take
// ports as they come, so all are open; login nodes, where people work, reach only
// the head node's services.
func (m *maker) between(p *part) {
	everything := []cfn.Rule{{IpProtocol: "-1"}}
	m.let(p, m.heads(), m.computes(), everything)
	m.let(p, m.computes(), m.heads(), everything)
	m.let(p, m.computes(), m.computes(), everything)
	m.let(p, m.logins(), m.heads(), headServices())
	m.let(p, m.logins(), m.computes(), everything)
	m.let(p, m.heads(), m.logins(), everything)
	m.let(p, m.computes(), m.logins(), everything)
	for _, l := range m.file.LoginPools {
		if g, ok := m.groups.pools[l.Name]; ok {
			from, to := member{id("LoadBalancer", l.Name), g.balancer, true}, member{id("Login", l.Name), g.nodes, true}
			m.let(p, []member{from}, []member{to}, []cfn.Rule{{IpProtocol: "tcp", FromPort: sshPort, ToPort: sshPort}})
		}
	}
}

// headServices are what login nodes use of the head node: NFS, the cluster's key, and
// the daemons of muster and Slurm.
func headServices() []cfn.Rule {
	return []cfn.Rule{
		{IpProtocol: "tcp", FromPort: 2049, ToPort: 2049},
		{IpProtocol: "tcp", FromPort: 6815, ToPort: 6829},
		{IpProtocol: "tcp", FromPort: keyPort, ToPort: keyPort},
	}
}

// opening is a rule as EC2 knows it: it refuses to have one twice.
type opening struct {
	to, from value
	protocol string
	port     int
}

// opened notes a rule. It is false if there is such a rule already, as where one
// group of the user's is for two roles.
func (m *maker) opened(to, from value, r cfn.Rule) bool {
	if m.rules == nil {
		m.rules = map[opening]bool{}
	}
	o := opening{to, from, r.IpProtocol, r.FromPort}
	if m.rules[o] {
		return false
	}
	m.rules[o] = true
	return true
}

// let opens the members of to, as far as they are muster's, for those of from.
func (m *maker) let(p *part, from, to []member, rules []cfn.Rule) {
	for _, t := range to {
		for _, f := range from {
			if !t.ours || t.group == f.group {
				continue
			}
			for i, r := range rules {
				if !m.opened(t.group, f.group, r) {
					continue
				}
				id := t.name + "From" + f.name
				if i > 0 {
					id += "Rule" + strconv.Itoa(i+1)
				}
				r.SourceSecurityGroupId = p.text(f.group)
				p.add(cfn.Resource{ID: id, Properties: cfn.Ingress{GroupId: p.text(t.group), Rule: r}})
			}
		}
	}
}
