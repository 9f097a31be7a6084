package templates

import (
	"fmt"
	"slices"
	"strings"
)

// members are the security groups of everything that has some: machines, file
// systems, load balancers.
func (w world) members() map[string][]string {
	have := map[string][]string{}
	add := func(name string, groups any) {
		for _, g := range list(groups) {
			id := fmt.Sprint(g)
			if own := follow(g); own != "" {
				id = own
			}
			if !slices.Contains(have[name], id) {
				have[name] = append(have[name], id)
			}
		}
	}
	for _, m := range w.machines() {
		add(m.group(), w.groups(m))
	}
	for id, r := range w.resources {
		switch r.Type {
		case "AWS::FSx::FileSystem":
			add(w.called(id), r.Properties["SecurityGroupIds"])
		case "AWS::EFS::MountTarget":
			add(w.called(follow(r.Properties["FileSystemId"])), r.Properties["SecurityGroups"])
		case "AWS::ElasticLoadBalancingV2::LoadBalancer":
			add(w.called(id), r.Properties["SecurityGroups"])
		}
	}
	return have
}

// rule opens a group to a peer: an ID of a group, a network, a prefix list.
type rule struct {
	group, peer, ports string
	out                bool
}

// rules are those of all groups, whether they stand in the group or beside it.
func (w world) rules() []rule {
	var all []rule
	add := func(group string, v any, out bool) {
		r := rule{group: group, out: out, ports: ports(v)}
		for _, key := range []string{"SourceSecurityGroupId", "DestinationSecurityGroupId", "CidrIp", "SourcePrefixListId"} {
			if peer := at(v, key); peer != nil {
				r.peer = fmt.Sprint(peer)
				if own := follow(peer); own != "" {
					r.peer = own
				}
			}
		}
		all = append(all, r)
	}
	for id, r := range w.resources {
		group := follow(r.Properties["GroupId"])
		switch r.Type {
		case "AWS::EC2::SecurityGroup":
			for _, v := range list(r.Properties["SecurityGroupIngress"]) {
				add(id, v, false)
			}
			for _, v := range list(r.Properties["SecurityGroupEgress"]) {
				add(id, v, true)
			}
		case "AWS::EC2::SecurityGroupIngress":
			add(group, any(r.Properties), false)
		case "AWS::EC2::SecurityGroupEgress":
			add(group, any(r.Properties), true)
		}
	}
	return all
}

func ports(rule any) string {
	protocol := fmt.Sprint(at(rule, "IpProtocol"))
	if protocol == "-1" {
		return "all"
	}
	from, to := fmt.Sprint(at(rule, "FromPort")), fmt.Sprint(at(rule, "ToPort"))
	if from == to {
		return protocol + " " + from
	}
	return protocol + " " + from + "-" + to
}

// traffic is what security groups let through, by who talks to whom: "head node to
// queue gpu". A group without rules for what goes out lets everything out.
func (w world) traffic() map[string]string {
	members, rules, have := w.members(), w.rules(), map[string]string{}
	in := func(group string) []string {
		var names []string
		for name, groups := range members {
			if slices.Contains(groups, group) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, r := range rules {
		if r.out {
			continue
		}
		from := in(r.peer)
		if len(from) == 0 {
			from = []string{r.peer}
		}
		for _, to := range in(r.group) {
			for _, f := range from {
				have[f+" to "+to] = merged2(have[f+" to "+to], r.ports)
			}
		}
	}
	for name, groups := range members {
		for _, g := range groups {
			if _, own := w.resources[g]; own {
				w.leaving(name, g, rules, have)
			}
		}
	}
	return have
}

// leaving adds what a member may send by one of its groups.
func (w world) leaving(name, group string, rules []rule, have map[string]string) {
	ruled := false
	for _, r := range rules {
		if !r.out || r.group != group {
			continue
		}
		ruled = true
		peer := r.peer
		switch {
		case peer == group:
			peer = "its own group"
		case w.resources[peer].Type != "":
			peer = "other groups"
		}
		key := name + " out to " + peer
		have[key] = merged2(have[key], r.ports)
	}
	if !ruled {
		have[name+" out to 0.0.0.0/0"] = "all"
	}
}

// merged2 is a list of ports with more of them; all is all.
func merged2(list, more string) string {
	parts := strings.Split(list, ", ")
	if list == "" {
		parts = nil
	}
	if !slices.Contains(parts, more) {
		parts = append(parts, more)
	}
	if slices.Contains(parts, "all") {
		return "all"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
