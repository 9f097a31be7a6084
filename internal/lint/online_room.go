package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// room is how many of something a file takes from a quota of the account's network.
type room struct {
	quota string
	need  int
	// service is the quota's in the console.
	service string
}

// rooms are what a file needs of each. Interfaces that are for EFA alone count, too:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
func rooms(root spec.View, all []resource) []room {
	needs := []room{{"network interfaces", interfaces(root, all), "Amazon Virtual Private Cloud"}}
	own, addresses := !root.At("HeadNode.Networking.SubnetId").Present(), 0
	if own {
		addresses++ // the NAT gateway's
		needs = append(needs, room{"NAT gateways of a zone", 1, "Amazon Virtual Private Cloud"})
	}
	head, _ := catalog.TraitsOf(root.At("HeadNode.InstanceType").Text())
	if text := root.At("HeadNode.Networking.ElasticIp").Text(); strings.EqualFold(text, "true") || text == "" && own && head.Cards > 1 {
		addresses++
	}
	if addresses > 0 {
		needs = append(needs, room{"elastic addresses", addresses, "Amazon EC2"})
	}
	return needs
}

// interfaces are those of all machines at the cluster's full size.
func interfaces(root spec.View, all []resource) int {
	n := 0
	add := func(name string, count int) {
		t, _ := catalog.TraitsOf(name)
		n += max(1, t.Cards) * count
	}
	add(root.At("HeadNode.InstanceType").Text(), 1)
	for _, pool := range root.At("LoginNodes.Pools").Items() {
		n += pool.Key("Count").Int()
	}
	for _, x := range all {
		cards, adapters := x.least()
		each := max(1, cards)
		if x.view.At("Efa.Enabled").Bool() && adapters >= cards && root.At("DevSettings.EfaInterfaceType").Text() != "efa" {
			each++ // the first card has a plain one beside
		}
		n += each * x.view.Key("MaxCount").Int()
	}
	return n
}

// room judges the quotas of the account's network.
func (o online) room() {
	for _, r := range rooms(o.root, o.all) {
		switch have, ok := o.Quotas[r.quota]; {
		case !ok:
			o.root.Key("Scheduling").Blindf("aws/quota", "the account's quota of %s is not looked up: the file needs %d", r.quota, r.need)
		case have < r.need:
			o.root.Key("Scheduling").Errorf("quota/network", "the account may have %d %s in %s, and the cluster at its full size needs %d", have, r.quota, o.Region, r.need).
				WithHint("ask for more: Service Quotas, %s; it takes days", r.service)
		}
	}
}
