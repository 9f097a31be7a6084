package nodes

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// The cluster's network lies in a network namespace of its own, so every
// cluster can have the same addresses and ports.
var (
	network = machine.Network(netip.MustParsePrefix("10.99.0.0/16"))
	// HeadAddress is the head node's address in every local cluster.
	HeadAddress = netip.MustParseAddr("10.99.0.1")
)

// makeFabric makes the bridge that joins the cluster's machines in the calling
// thread's network namespace. The bridge is the head node's own interface.
func makeFabric() error {
	if err := network.MakeBridge(HeadAddress); err != nil {
		return err
	}
	return routeDead()
}

// markDead makes connections to the address of a node that ended fail at once. A silent
// address would hold up daemons that still want to reach the node for many seconds. So
// the head node takes the address over and refuses connections: nodes give up. But
// slurmctld takes a refusal for a slurmd that is being restarted, and tries again until
// the node's successor gets the message that was meant for the dead node, which ends the
// job that both run. For programs on the head node the address is therefore unreachable,
// which slurmctld takes as final.
func markDead(address netip.Addr) error {
	bridge, err := netlink.LinkByName(machine.Interface)
	if err != nil {
		return fmt.Errorf("find bridge: %w", err)
	}
	for _, r := range deadRoutes(address, bridge) {
		if err := netlink.RouteReplace(r); err != nil {
			return fmt.Errorf("take over %s: %w", address, err)
		}
	}
	return announce(bridge, address)
}

// release ends markDead. It may be called without one.
func release(address netip.Addr) error {
	bridge, err := netlink.LinkByName(machine.Interface)
	if err != nil {
		return fmt.Errorf("find bridge: %w", err)
	}
	for _, r := range deadRoutes(address, bridge) {
		if err := netlink.RouteDel(r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("release %s: %w", address, err)
		}
	}
	return nil
}

// deadTable is a routing table for what the head node itself sends.
const deadTable = 100

func deadRoutes(a netip.Addr, bridge netlink.Link) []*netlink.Route {
	to := &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}
	return []*netlink.Route{
		{Dst: to, Type: unix.RTN_UNREACHABLE, Table: deadTable},
		{Dst: to, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, LinkIndex: bridge.Attrs().Index, Scope: netlink.SCOPE_HOST},
	}
}

// routeDead has what the head node sends looked up in deadTable before
// anything else, even before its own addresses, whose rule moves down for that.
func routeDead() error {
	local := netlink.NewRule()
	local.Family, local.Table, local.Priority = unix.AF_INET, unix.RT_TABLE_LOCAL, 2
	dead := netlink.NewRule()
	dead.Family, dead.Table, dead.Priority, dead.IifName = unix.AF_INET, deadTable, 1, "lo"
	for _, rule := range []*netlink.Rule{local, dead} {
		if err := netlink.RuleAdd(rule); err != nil {
			return fmt.Errorf("add routing rule: %w", err)
		}
	}
	first := netlink.NewRule()
	first.Family, first.Table, first.Priority = unix.AF_INET, unix.RT_TABLE_LOCAL, 0
	if err := netlink.RuleDel(first); err != nil {
		return fmt.Errorf("move the rule for own addresses: %w", err)
	}
	return nil
}

// announce makes all neighbours send packets for an address to us, with a
// gratuitous ARP request (RFC 5227, section 3). The kernel sends one only for a
// link that comes up.
func announce(link netlink.Link, address netip.Addr) error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("announce %s: %w", address, err)
	}
	defer unix.Close(fd)
	ip := address.AsSlice()
	packet := []byte{0, 1, 8, 0, 6, 4, 0, 1} // Ethernet, IPv4, their lengths, request
	packet = append(append(packet, link.Attrs().HardwareAddr...), ip...)
	packet = append(append(packet, make([]byte, 6)...), ip...)
	to := &unix.SockaddrLinklayer{
		Protocol: bits.ReverseBytes16(unix.ETH_P_ARP), Ifindex: link.Attrs().Index, Halen: 6,
		Addr: [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	}
	if err := unix.Sendto(fd, packet, 0, to); err != nil {
		return fmt.Errorf("announce %s: %w", address, err)
	}
	return nil
}

// FirstNodeAddress and LastNodeAddress are the lowest and the highest address
// that a node can have.
var (
	FirstNodeAddress = HeadAddress.Next()
	LastNodeAddress  = netip.MustParseAddr("10.99.255.254")
)
