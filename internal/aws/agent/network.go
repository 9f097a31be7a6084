//go:build linux

package agent

import "net/netip"

// networks are those whose machines mount from this one: the cluster's subnets. Where an
// older muster described the cluster they are the VPC's.
func (h *headNode) networks() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range h.cluster.site.Networks {
		if n, err := netip.ParsePrefix(text); err == nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return h.identity.Networks
	}
	return all
}
