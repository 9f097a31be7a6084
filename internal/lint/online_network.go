package lint

import (
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// network judges subnets and security groups.
func (o online) network() {
	if _, no := o.Unasked["aws/subnet"]; no {
		return
	}
	o.vpcs()
	o.oneVPC()
	o.addresses()
	named := subject{places: []string{"HeadNode.Networking.SubnetId", "LoginNodes.Pools[].Networking.SubnetIds[]", "Scheduling.SlurmQueues[].Networking.SubnetIds[]"}}
	for _, v := range named.named(o.root) {
		s, ok := o.Subnets[v.Text()]
		if !ok {
			continue
		}
		if !s.DNS {
			v.Errorf("subnet/dns", "the VPC %s of subnet %s has no DNS support or no DNS host names", s.VPC, v.Text()).
				WithHint("aws ec2 modify-vpc-attribute --vpc-id %s --enable-dns-hostnames", s.VPC)
		}
		if !s.Routed {
			v.Warnf("subnet/route", "subnet %s has no route to the internet: machines in it cannot reach AWS without endpoints", v.Text()).
				WithHint("add a NAT gateway, or VPC endpoints for EC2, S3, CloudFormation, logs and Route 53")
		}
	}
	for _, x := range o.all {
		o.public(x)
	}
	o.groups()
}

// oneVPC holds that all subnets are in one VPC (SubnetsValidator).
func (o online) oneVPC() {
	first, at := "", ""
	for _, v := range (subject{places: []string{"HeadNode.Networking.SubnetId", "LoginNodes.Pools[].Networking.SubnetIds[]", "Scheduling.SlurmQueues[].Networking.SubnetIds[]"}}).named(o.root) {
		s, ok := o.Subnets[v.Text()]
		switch {
		case !ok:
		case first == "":
			first, at = s.VPC, v.Text()
		case s.VPC != first:
			v.Errorf("subnet/vpc", "subnet %s is in VPC %s, and %s is in %s: a cluster lies in one VPC", v.Text(), s.VPC, at, first)
		}
	}
}

// addresses holds that the subnets have room for all nodes. A node needs one
// address; before 3.15 ParallelCluster gave one to every network card.
func (o online) addresses() {
	need := map[string]int{}
	var order []spec.View
	add := func(v spec.View, n int) {
		if _, seen := need[v.Text()]; !seen {
			order = append(order, v)
		}
		need[v.Text()] += n
	}
	for _, x := range o.all {
		nets := subnetViews(x.queue)
		if len(nets) != 1 { // how several subnets will share the nodes is not known before
			continue
		}
		add(nets[0], x.view.Key("MaxCount").Int()*o.each(x))
	}
	if head := o.root.At("HeadNode.Networking.SubnetId"); head.Given() {
		add(head, 1)
	}
	for _, v := range order {
		if s, ok := o.Subnets[v.Text()]; ok && s.Free < need[v.Text()] {
			v.Errorf("subnet/addresses", "subnet %s has %s left, and the cluster at its full size needs %d there", v.Text(), count.Of(s.Free, "address"), need[v.Text()]).
				WithHint("use a larger subnet; a /20 has 4,091 addresses")
		}
	}
}

// each is how many addresses a node of the compute resource takes.
func (o online) each(x resource) int {
	cards := 1
	for _, k := range x.kinds {
		cards = max(cards, k.traits.Cards)
	}
	if o.level >= 15 || !x.view.At("Efa.Enabled").Bool() {
		return 1
	}
	return cards
}

// public holds that machines of several network interfaces are in private subnets: EC2
// gives them no public address (MultiNetworkInterfacesInstancesValidator). With EFA a
// machine of one card has two, unless the file wants them the old way.
func (o online) public(x resource) {
	if !x.manyInterfaces(o.root.At("DevSettings.EfaInterfaceType").Text() != "efa") {
		return
	}
	cards, _ := x.least()
	for _, v := range subnetViews(x.queue) {
		if s, ok := o.Subnets[v.Text()]; !ok || !s.Public {
			continue
		}
		const hint = "use a private subnet with a NAT gateway"
		if cards > 1 {
			v.Errorf("subnet/public", "subnet %s gives new machines a public address, which EC2 refuses for %s: it has %d network cards", v.Text(), x.kinds[0].Type, cards).
				WithHint(hint)
		} else {
			v.Errorf("subnet/public", "subnet %s gives new machines a public address, which EC2 refuses for %s with EFA: it has two network interfaces", v.Text(), x.kinds[0].Type).
				WithHint(hint)
		}
		return
	}
}

// groups holds that a queue's own security groups allow EFA: one of them lets
// everything in and out from and to itself (EfaSecurityGroupValidator).
func (o online) groups() {
	if _, no := o.Unasked["aws/security-group"]; no {
		return
	}
	for _, x := range o.all {
		list := x.queue.At("Networking.SecurityGroups")
		if !x.view.At("Efa.Enabled").Bool() || len(list.Items()) == 0 {
			continue
		}
		good, known := false, true
		for _, v := range list.Items() {
			g, ok := o.SecurityGroups[v.Text()]
			good, known = good || g.SelfIn && g.SelfOut, known && ok
		}
		if !good && known {
			list.Errorf("efa/security-group-rules", "no security group of queue %s lets everything in and out from and to itself, which EFA needs", x.queue.Key("Name").Text()).
				WithHint("AdditionalSecurityGroups adds groups to muster's own, which does")
		}
	}
}

// subnetViews are the places where a queue names its subnets.
func subnetViews(queue spec.View) []spec.View { return queue.At("Networking.SubnetIds").Items() }
