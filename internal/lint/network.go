package lint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// network has the rules about networks and security groups. They are
// ParallelCluster's.
func network(root spec.View, all []resource, level spec.Level) {
	own := map[string][]resource{}
	for _, x := range all {
		own[x.queue.Path()] = append(own[x.queue.Path()], x)
	}
	efaOnly := level >= 16 && root.At("DevSettings.EfaInterfaceType").Text() != "efa"
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		duplicateSubnets(q)
		singleTypeSubnets(q, own[q.Path()])
		publicAddress(q, own[q.Path()], efaOnly)
	}
	mixedGroups(root)
	elasticIP(root.At("HeadNode.Networking.ElasticIp"))
}

// duplicateSubnets finds subnets that a queue names twice (QueueSubnetsValidator).
func duplicateSubnets(q spec.View) {
	var all seen
	for _, id := range q.At("Networking.SubnetIds").Items() {
		if id.Present() && !all.first(id.Text()) {
			id.Errorf("network/duplicate-subnet", "queue %s names subnet %s twice", q.Key("Name").Text(), id.Text()).
				WithHint("remove one of them").WithFix(id.Remove())
		}
	}
}

// singleTypeSubnets finds several subnets for compute resources that are started
// in one (SingleInstanceTypeSubnetValidator).
func singleTypeSubnets(q spec.View, own []resource) {
	ids := q.At("Networking.SubnetIds")
	if len(ids.Items()) < 2 {
		return
	}
	for _, x := range own {
		if !x.several {
			ids.Errorf("network/single-type-subnets", "queue %s has %d subnets, and its compute resource %s has InstanceType, which is for one subnet",
				q.Key("Name").Text(), len(ids.Items()), x.view.Key("Name").Text()).
				WithHint("leave one subnet, or write Instances: [{InstanceType: %s}]", x.view.Key("InstanceType").Text())
			return
		}
	}
}

// publicAddress finds public addresses for machines with several network
// interfaces, to which AWS gives none (MultiNetworkInterfacesInstancesValidator).
func publicAddress(q spec.View, own []resource, efaOnly bool) {
	at := q.At("Networking.AssignPublicIp")
	if !at.Given() || !at.Bool() {
		return
	}
	for _, x := range own {
		if !x.manyInterfaces(efaOnly) {
			continue
		}
		at.Errorf("network/public-address", "nodes of compute resource %s have several network interfaces, and AWS gives them no public address",
			x.view.Key("Name").Text()).
			WithHint("write AssignPublicIp: false and take a private subnet with a NAT gateway").WithFix(at.Replace("false"))
		return
	}
}

// manyInterfaces reports whether nodes have more than one network interface: they
// have several cards, or EFA in an interface of its own beside the first one, as
// ParallelCluster makes it since 3.16.
func (x resource) manyInterfaces(efaOnly bool) bool {
	cards, adapters := x.least()
	return cards > 1 || efaOnly && cards == 1 && adapters == 1 && x.efa()
}

// least are the network cards and EFA devices that all types of the compute resource
// have: every node gets as many.
func (x resource) least() (cards, adapters int) {
	for i, k := range x.kinds {
		if i == 0 {
			cards, adapters = k.traits.Cards, k.traits.EFA
			continue
		}
		cards, adapters = min(cards, k.traits.Cards), min(adapters, k.traits.EFA)
	}
	return cards, adapters
}

// mixedGroups finds nodes with security groups of the user's own beside nodes
// with ParallelCluster's, which may not reach each other
// (MixedSecurityGroupOverwriteValidator).
func mixedGroups(root spec.View) {
	var own, managed []spec.View
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		if groups := q.At("Networking.SecurityGroups"); len(groups.Items()) > 0 {
			own = append(own, groups)
		} else {
			managed = append(managed, q)
		}
	}
	head := root.At("HeadNode.Networking.SecurityGroups")
	const hint = "let the groups reach each other, or use AdditionalSecurityGroups, which keep ParallelCluster's"
	switch {
	case len(head.Items()) > 0 && len(managed) > 0:
		head.Warnf("network/mixed-security-groups", "the head node has security groups of your own, and queue %s has ParallelCluster's",
			managed[0].Key("Name").Text()).WithHint(hint)
	case !head.Present() && len(own) > 0:
		own[0].Warnf("network/mixed-security-groups", "the queue has security groups of your own, and the head node has ParallelCluster's").WithHint(hint)
	}
}

// elasticIP holds the form of an address that the head node is to have. AWS's
// description of the key takes the id of an address
// (https://docs.aws.amazon.com/parallelcluster/latest/ug/HeadNode-v3.html), and
// ParallelCluster's code asks EC2 for a public address (ElasticIpValidator). Both
// are taken here.
func elasticIP(at spec.View) {
	text := at.Text()
	if !at.Given() || slices.Contains([]string{"true", "false"}, strings.ToLower(text)) {
		return
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err == nil && address.Is4():
	case addressID().MatchString(text):
		at.Infof("network/elastic-ip-id", "ParallelCluster's own programs look this up as a public address, not as an id; muster takes both").
			WithHint("the address itself, such as 203.0.113.10, works with both")
	default:
		at.Errorf("network/elastic-ip", "%q is no address", text).
			WithHint("write true, false, the address itself, such as 203.0.113.10, or its id (eipalloc-...)")
	}
}

// addressID is the form of an address's id: 8 digits until 2016, 17 since then.
var addressID = pattern.New(`^eipalloc-([0-9a-f]{8}|[0-9a-f]{17})$`)
