package stack

import (
	"strconv"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// loginNodes are pools of machines on which people work, each behind a load
// balancer.
func (m *maker) loginNodes(p *part, profiles profiles) {
	for _, l := range m.pools() {
		m.loginPool(p, l, profiles.pools[l.name])
	}
}

func (m *maker) loginPool(p *part, l pool, profile cfn.Profile) {
	tags := m.tags(l.name, tag("muster:role", manifest.RoleLogin), tag("muster:pool", l.name))
	subnets := p.texts(m.poolSubnets(l))
	template, balancer, targets := id("LoginTemplate", l.name), id("LoginBalancer", l.name), id("LoginTargets", l.name)
	ticket := m.ticket(p, manifest.RoleLogin)
	ticket.Queue = l.name
	data := m.launchData(machine{
		image: "login/" + l.name, words: "login nodes " + l.name,
		types: []string{l.view.Key("InstanceType").Text()}, root: rootVolume{kind: "gp3"},
		profile: profile, ticket: ticket, tags: tags,
	})
	data.KeyName = m.keyName()
	if own := l.view.At("Ssh.KeyName").Text(); own != "" {
		data.KeyName = own
	}
	data.NetworkInterfaces = []cfn.Interface{{
		DeviceIndex: new(0), SubnetId: subnets[0], Groups: p.groupsOf(l.view.Key("Networking"), m.groups.pools[l.name].nodes),
	}}
	p.add(cfn.Resource{ID: template, Properties: cfn.LaunchTemplate{
		LaunchTemplateData: data, TagSpecifications: []cfn.TagSpecification{{ResourceType: "launch-template", Tags: tags}},
	}})
	m.balancer(p, l, balancer, targets)
	count := strconv.Itoa(l.view.Key("Count").Int())
	p.add(cfn.Resource{ID: id("LoginNodes", l.name), DependsOn: []string{"HeadNode", balancer + "Ssh"}, Properties: cfn.AutoScalingGroup{
		LaunchTemplate: cfn.TemplateVersion{LaunchTemplateId: cfn.Ref(template), Version: cfn.Att(template, "LatestVersionNumber")},
		MinSize:        count, MaxSize: count, DesiredCapacity: count, VPCZoneIdentifier: subnets, TargetGroupARNs: []cfn.Text{cfn.Ref(targets)},
		HealthCheckType: "EC2", HealthCheckGracePeriod: 600,
		LifecycleHookSpecificationList: []cfn.LifecycleHook{{
			LifecycleHookName: "grace", LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", DefaultResult: "CONTINUE",
			HeartbeatTimeout: l.view.Key("GracetimePeriod").Int() * 60,
		}},
		Tags: groupTags(tags),
	}})
	p.out(balancer+"Host", balancer+".DNSName")
}

// balancer is the address of a pool, which passes port 22 on.
func (m *maker) balancer(p *part, l pool, balancer, targets string) {
	networking := l.view.Key("Networking")
	subnets := m.poolSubnets(l)
	scheme := "internal"
	if m.net.ours || m.facts.Subnets[subnets[0].literal].Public {
		scheme = "internet-facing"
	}
	p.add(cfn.Resource{ID: targets, Properties: cfn.TargetGroup{
		Protocol: "TCP", Port: sshPort, TargetType: "instance", HealthCheckProtocol: "TCP", HealthCheckPort: strconv.Itoa(sshPort),
		VpcId: p.text(m.net.vpc), Tags: m.tags(l.name),
	}})
	groups := p.groupsOf(networking, m.groups.pools[l.name].balancer)
	p.add(cfn.Resource{ID: balancer, Properties: cfn.LoadBalancer{
		Kind: "network", Scheme: scheme, Subnets: p.texts(subnets), SecurityGroups: groups, Tags: m.tags(l.name),
	}})
	p.add(cfn.Resource{ID: balancer + "Ssh", Properties: cfn.Listener{
		LoadBalancerArn: cfn.Ref(balancer), Protocol: "TCP", Port: sshPort,
		DefaultActions: []cfn.Action{{Type: "forward", TargetGroupArn: cfn.Ref(targets)}},
	}})
}

// groupTags are those of an auto scaling group. Its instances have their own from the
// launch template.
func groupTags(tags []cfn.Tag) []cfn.GroupTag {
	var out []cfn.GroupTag
	for _, t := range tags {
		out = append(out, cfn.GroupTag{Tag: t})
	}
	return out
}
