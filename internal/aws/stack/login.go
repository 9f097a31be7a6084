package stack

import (
	"strconv"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// loginNodes are pools of machines on which people work, each behind a load
// balancer.
func (m *maker) loginNodes(p *part, profiles profiles) {
	for _, l := range m.file.LoginPools {
		m.loginPool(p, l, profiles.pools[l.Name])
	}
}

func (m *maker) loginPool(p *part, l spec.LoginPool, profile cfn.Profile) {
	tags := m.tags(l.Name, tag("muster:role", manifest.RoleLogin), tag("muster:pool", l.Name))
	subnets := p.texts(m.poolSubnets(l))
	template, balancer, targets := id("LoginTemplate", l.Name), id("LoginBalancer", l.Name), id("LoginTargets", l.Name)
	ticket := m.ticket(p, manifest.RoleLogin)
	ticket.Queue = l.Name
	data := m.launchData(machine{
		image: "login/" + l.Name, words: "login nodes " + l.Name,
		types: []string{l.InstanceType}, root: l.RootVolume,
		profile: profile, ticket: ticket, tags: tags,
	})
	data.KeyName = m.keyName(l.SSH)
	data.NetworkInterfaces = []cfn.Interface{{
		DeviceIndex: new(0), SubnetId: subnets[0], Groups: p.groupsOf(l.Networking, m.groups.pools[l.Name].nodes),
	}}
	p.add(cfn.Resource{ID: template, Properties: cfn.LaunchTemplate{
		LaunchTemplateData: data, TagSpecifications: []cfn.TagSpecification{{ResourceType: "launch-template", Tags: tags}},
	}})
	m.balancer(p, l, balancer, targets)
	count := strconv.Itoa(l.Count)
	p.add(cfn.Resource{ID: id("LoginNodes", l.Name), DependsOn: []string{"HeadNode", balancer + "Ssh"}, Properties: cfn.AutoScalingGroup{
		LaunchTemplate: cfn.TemplateVersion{LaunchTemplateId: cfn.Ref(template), Version: cfn.Att(template, "LatestVersionNumber")},
		MinSize:        count, MaxSize: count, DesiredCapacity: count, VPCZoneIdentifier: subnets, TargetGroupARNs: []cfn.Text{cfn.Ref(targets)},
		HealthCheckType: "EC2", HealthCheckGracePeriod: 600,
		LifecycleHookSpecificationList: []cfn.LifecycleHook{{
			LifecycleHookName: "grace", LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", DefaultResult: "CONTINUE",
			HeartbeatTimeout: l.GraceMinutes * 60,
		}},
		Tags: groupTags(tags),
	}})
	p.out(balancer+"Host", balancer+".DNSName")
}

// balancer is the address of a pool, which passes port 22 on.
func (m *maker) balancer(p *part, l spec.LoginPool, balancer, targets string) {
	subnets := m.poolSubnets(l)
	scheme := "internal"
	if m.net.ours || m.facts.Subnets[subnets[0].literal].Public {
		scheme = "internet-facing"
	}
	p.add(cfn.Resource{ID: targets, Properties: cfn.TargetGroup{
		Protocol: "TCP", Port: sshPort, TargetType: "instance", HealthCheckProtocol: "TCP", HealthCheckPort: strconv.Itoa(sshPort),
		VpcId: p.text(m.net.vpc), Tags: m.tags(l.Name),
	}})
	groups := p.groupsOf(l.Networking, m.groups.pools[l.Name].balancer)
	p.add(cfn.Resource{ID: balancer, Properties: cfn.LoadBalancer{
		Kind: "network", Scheme: scheme, Subnets: p.texts(subnets), SecurityGroups: groups, Tags: m.tags(l.Name),
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
