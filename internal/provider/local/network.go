package local

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
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
	if err := loopbackUp(); err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: interfaceName, MTU: mtu}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge: %w", err)
	}
	return configure(bridge, HeadAddress)
}

// plugIn joins the network namespace behind the descriptor to the bridge.
func plugIn(port string, namespace int) error {
	bridge, err := netlink.LinkByName(interfaceName)
	if err != nil {
		return fmt.Errorf("find bridge: %w", err)
	}
	veth := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: port, MasterIndex: bridge.Attrs().Index, Flags: net.FlagUp, MTU: mtu},
		PeerName:      interfaceName,
		PeerMTU:       mtu,
		PeerNamespace: netlink.NsFd(namespace),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add veth %s: %w", port, err)
	}
	return nil
}

// configurePort sets up the calling thread's end of what plugIn made.
func configurePort(address netip.Addr) error {
	if err := loopbackUp(); err != nil {
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
