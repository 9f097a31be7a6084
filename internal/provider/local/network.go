package local

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The cluster's network lies in a network namespace of its own, so every
// cluster can have the same addresses and ports. All interfaces have the name
// that the first one has on EC2's Nitro instances, because users' scripts name
// it (GLOO_SOCKET_IFNAME=ens5).
const (
	interfaceName = "ens5"
	// The head node's end of a node's cable has this and the node's number as its name.
	portPrefix = "muster"
	// EC2's jumbo frames inside a VPC.
	mtu = 9001
)

var (
	network = netip.MustParsePrefix("10.99.0.0/16")
	// HeadAddress is the head node's address in every local cluster.
	HeadAddress = netip.MustParseAddr("10.99.0.1")
)

// makeFabric makes the bridge that joins the cluster's machines in the calling
// thread's network namespace. The bridge is the head node's own interface.
func makeFabric() error {
	if err := errors.Join(loopbackUp(), routeDead()); err != nil {
		return err
	}
	// Left to itself, a bridge takes one of its ports' hardware addresses, and
	// changes it when that port goes: the head node would be lost for seconds to
	// every node that still knows the old one.
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: interfaceName, MTU: mtu, HardwareAddr: hardwareAddress(HeadAddress)}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge: %w", err)
	}
	return configure(bridge, HeadAddress)
}

// plugIn joins the network namespace behind the descriptor to the bridge, for
// the node with an address.
func plugIn(address netip.Addr, namespace int) error {
	port := portOf(address)
	bridge, err := netlink.LinkByName(interfaceName)
	if err != nil {
		return fmt.Errorf("find bridge: %w", err)
	}
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: port, MasterIndex: bridge.Attrs().Index, Flags: net.FlagUp, MTU: mtu},
		PeerName:  interfaceName,
		PeerMTU:   mtu,

		PeerHardwareAddr: hardwareAddress(address),
		PeerNamespace:    netlink.NsFd(namespace),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add veth %s: %w", port, err)
	}
	return nil
}

// unplug takes a node's cable away. The kernel would do so in its own time: a
// network namespace lives on while a connection of it has not said its last word.
// No cable is no error.
func unplug(port string) error {
	link, err := netlink.LinkByName(port)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("unplug %s: %w", port, err)
	}
	return nil
}

// hardwareAddress makes a hardware address of an IP address; the first octet
// says that it is locally administered.
func hardwareAddress(a netip.Addr) net.HardwareAddr {
	return append(net.HardwareAddr{0x02, 0x00}, a.AsSlice()...)
}

// portOf is the head node's end of the cable to the node with an address.
func portOf(a netip.Addr) string { return portPrefix + strconv.Itoa(indexOf(a)) }

// configurePort sets up the calling thread's end of what plugIn made.
func configurePort(address netip.Addr) error {
	if err := loopbackUp(); err != nil {
		return err
	}
	if err := announceOnUp(); err != nil {
		return err
	}
	link, err := netlink.LinkByName(interfaceName)
	if err != nil {
		return fmt.Errorf("find %s: %w", interfaceName, err)
	}
	return configure(link, address)
}

func configure(link netlink.Link, address netip.Addr) error {
	ip := &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(network.Bits(), 32)}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ip}); err != nil {
		return fmt.Errorf("add address %s: %w", address, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", interfaceName, err)
	}
	return nil
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find loopback: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set loopback up: %w", err)
	}
	return nil
}

// announceOnUp has the links of the calling thread's network namespace tell
// their neighbours of their address when they come up: another machine may have
// answered for it until now.
func announceOnUp() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/arp_notify", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("announce addresses: %w", err)
	}
	return nil
}

// markDead settles what becomes of connections to the address of a node that
// ended. Left silent, it would hold up for many seconds each daemon that still
// has something to tell that node. So the head node takes the address over and
// refuses: nodes give up at once. But slurmctld takes a refusal for a slurmd that
// is being restarted, and tries again until the node's successor gets what was
// meant for the dead, the end of the job that both run; for what runs on the head
// node itself the address is therefore unreachable, which it takes as final.
func markDead(address netip.Addr) error {
	bridge, err := netlink.LinkByName(interfaceName)
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
	bridge, err := netlink.LinkByName(interfaceName)
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

// announce has all neighbours send to us what is for an address, with a
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
