package stack

import (
	"cmp"
	"crypto/sha256"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// headAddress is the head node's private address, which lives as long as its
// interface.
const headAddress = "HeadNodeInterface.PrimaryPrivateIpAddress"

// hostedZone is the private zone of the nodes' names: one of our own, the file's, or
// none. Nodes are called NODE.NAME.muster in the first, NODE.NAME.ZONE in the second.
func (m *maker) hostedZone(p *part) {
	dns := m.file.Scheduling.Slurm.DNS
	if dns.Disabled {
		return
	}
	if own := dns.HostedZoneID; own != "" {
		if m.facts.HostedZoneName == "" {
			m.fail("the name of hosted zone %s is not known", own)
		}
		m.zone, m.zoneName = existing(own), m.facts.Name+"."+strings.TrimSuffix(m.facts.HostedZoneName, ".")
		return
	}
	m.zoneName = m.facts.Name + ".muster"
	p.add(cfn.Resource{ID: "HostedZone", Properties: cfn.HostedZone{
		Name: m.zoneName, HostedZoneConfig: cfn.Comment{Comment: "Nodes of cluster " + m.facts.Name},
		VPCs: []cfn.ZoneVPC{{VPCId: p.text(m.net.vpc), VPCRegion: m.facts.Region}}, HostedZoneTags: m.tags("nodes"),
	}})
	m.zone = p.out("HostedZoneId", "HostedZone")
}

// headNode is the machine that runs Slurm. It is started from the first version of
// its launch template and never again from another: what it holds would be lost, and
// it takes new versions of muster and of the cluster's files while it runs.
func (m *maker) headNode(p *part, profiles profiles, after []string) {
	head := m.file.HeadNode
	tags := m.tags("head", tag("muster:role", manifest.RoleHead))
	data := m.launchData(machine{
		words: "the head node", types: []string{head.InstanceType},
		threadsOff: head.DisableSMT, root: head.RootVolume, keepRoot: head.KeepRoot, profile: profiles.head,
		ticket: m.ticket(p, manifest.RoleHead), tags: tags,
	})
	data.KeyName = m.keyName(head.SSH)
	data.NetworkInterfaces = m.headInterfaces(p)
	p.add(cfn.Resource{ID: "HeadNodeTemplate", Properties: cfn.LaunchTemplate{
		LaunchTemplateData: data, TagSpecifications: []cfn.TagSpecification{{ResourceType: "launch-template", Tags: tags}},
	}})
	p.add(cfn.Resource{ID: "HeadNode", DependsOn: after, Properties: cfn.Instance{
		LaunchTemplate: cfn.TemplateVersion{LaunchTemplateId: cfn.Ref("HeadNodeTemplate"), Version: cfn.Lit("1")}, Tags: tags,
	}})
	p.out("HeadNodeId", "HeadNode")
	p.out("HeadNodePrivateIp", headAddress)
	m.attach(p)
}

// keyName is the key pair with which people log in.
func (m *maker) keyName(ssh spec.SSH) string { return cmp.Or(ssh.KeyName, m.facts.KeyName) }

// headInterface is the head node's first, with its address. The fleet's launch
// templates name it, so that it is there before the head node.
func (m *maker) headInterface(p *part) {
	p.add(cfn.Resource{ID: "HeadNodeInterface", Properties: cfn.NetworkInterface{
		Description: "Head node of cluster " + m.facts.Name, SubnetId: p.text(m.net.head),
		GroupSet: p.groupsOf(m.file.HeadNode.Networking, m.groups.head), Tags: m.tags("head", tag("muster:role", manifest.RoleHead)),
	}})
	address := m.file.HeadNode.ElasticIP
	if address == "" && m.net.ours && len(m.headCards()) > 1 {
		// EC2 gives no public address by itself to a machine with several interfaces:
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html
		address = "true"
	}
	m.elasticIP(p, address)
}

// elasticIP gives the head node a public address that stays: a new one, or one that
// the user has.
func (m *maker) elasticIP(p *part, text string) {
	link := cfn.EIPAssociation{NetworkInterfaceId: cfn.Ref("HeadNodeInterface")}
	switch strings.ToLower(text) {
	case "", "false":
		return
	case "true":
		p.add(cfn.Resource{ID: "HeadNodeAddress", Properties: cfn.EIP{Domain: "vpc", Tags: m.tags("head")}})
		link.AllocationId = cfn.Att("HeadNodeAddress", "AllocationId")
	default:
		allocation, ok := m.facts.ElasticIPs[text]
		if !ok {
			m.fail("the account has no address %s in %s", text, m.facts.Region)
		}
		link.AllocationId = cfn.Lit(allocation)
	}
	p.add(cfn.Resource{ID: "HeadNodeAddressLink", Properties: link})
}

// headCards are where the head node has interfaces: a plain one on each card.
func (m *maker) headCards() []card {
	types := []string{m.file.HeadNode.InstanceType}
	all := []card{{}}
	for _, index := range cardsOf(types)[1:] {
		c := card{card: index, device: 1}
		if oneInterfaceACard(types) {
			c.device = 0
		}
		all = append(all, c)
	}
	return all
}

// headInterfaces are those of the head node's cards, the first with its address.
func (m *maker) headInterfaces(p *part) []cfn.Interface {
	out := []cfn.Interface{{DeviceIndex: new(0), NetworkInterfaceId: cfn.Ref("HeadNodeInterface")}}
	for _, c := range m.headCards()[1:] {
		out = append(out, cfn.Interface{
			DeviceIndex: new(c.device), NetworkCardIndex: new(c.card), SubnetId: p.text(m.net.head),
			Groups: p.groupsOf(m.file.HeadNode.Networking, m.groups.head),
		})
	}
	return out
}

// attach gives the head node its volumes, which it shares with the other nodes. A
// volume keeps its device when others come and go.
func (m *maker) attach(p *part) {
	taken := map[int]bool{}
	for _, one := range m.mounts {
		if one.kind != spec.EBS {
			continue
		}
		for i, volume := range one.ids {
			if len(taken) == mostVolumes {
				m.fail("the head node cannot have more than %d volumes, and storage %s is one too many", mostVolumes, one.name)
				return
			}
			name := volumeID("Attachment", one.name, i, len(one.ids))
			sum := sha256.Sum256([]byte(name))
			at := int(sum[0]) % mostVolumes
			for taken[at] {
				at = (at + 1) % mostVolumes
			}
			taken[at] = true
			p.add(cfn.Resource{ID: name, Properties: cfn.VolumeAttachment{
				InstanceId: cfn.Ref("HeadNode"), VolumeId: p.text(volume), Device: "/dev/sd" + string(rune('f'+at)),
			}})
		}
	}
}

// mostVolumes are from /dev/sdf to /dev/sdp, as EC2 suggests.
const mostVolumes = 11
