package machine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Interface is the name of every machine's interface, and of the bridge: the one
// that the first has on EC2's Nitro instances, because users' scripts name it
// (GLOO_SOCKET_IFNAME=ens5).
const Interface = "ens5"

// PortPrefix begins the names of the bridge's ports. The number of a machine's
// address follows.
const PortPrefix = "muster"

// mtu is EC2's jumbo frames inside a VPC.
const mtu = 9001

// Network is the addresses of machines that a bridge joins.
type Network netip.Prefix

// MakeBridge makes the bridge in the calling thread's network namespace. It is also the
// interface of the machine in that namespace, with an address of its own.
func (n Network) MakeBridge(address netip.Addr) error {
	if err := loopbackUp(); err != nil {
		return err
	}
	// Left to itself, a bridge takes one of its ports' hardware addresses, and
	// changes it when that port goes: its owner would be lost for seconds to
	// every machine that still knows the old one.
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: Interface, MTU: mtu, HardwareAddr: hardwareAddress(address)}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge: %w", err)
	}
	return n.configure(bridge, address)
}

// PlugIn joins the network namespace behind the descriptor to the bridge, for
// the machine with an address.
func (n Network) PlugIn(address netip.Addr, namespace int) error {
	port := Port(address)
	bridge, err := netlink.LinkByName(Interface)
	if err != nil {
		return fmt.Errorf("find bridge: %w", err)
	}
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: port, MasterIndex: bridge.Attrs().Index, Flags: net.FlagUp, MTU: mtu},
		PeerName:  Interface,
		PeerMTU:   mtu,

		PeerHardwareAddr: hardwareAddress(address),
		PeerNamespace:    netlink.NsFd(namespace),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add veth %s: %w", port, err)
	}
	return nil
}

// Unplug takes a machine's cable away. The kernel would do so in its own time: a
// network namespace lives on while a connection of it has not said its last word.
// No cable is no error.
func Unplug(port string) error {
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

// Port is the bridge's end of the cable to the machine with an address: a name
// that fits the kernel's 15 characters in networks of up to 65,536 addresses.
func Port(a netip.Addr) string {
	b := a.As4()
	return PortPrefix + strconv.Itoa(int(b[2])<<8|int(b[3]))
}

// Configure sets up the calling thread's end of what PlugIn made.
func (n Network) Configure(address netip.Addr) error {
	if err := loopbackUp(); err != nil {
		return err
	}
	if err := announceOnUp(); err != nil {
		return err
	}
	link, err := netlink.LinkByName(Interface)
	if err != nil {
		return fmt.Errorf("find %s: %w", Interface, err)
	}
	return n.configure(link, address)
}

func (n Network) configure(link netlink.Link, address netip.Addr) error {
	ip := &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(netip.Prefix(n).Bits(), 32)}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ip}); err != nil {
		return fmt.Errorf("add address %s: %w", address, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", Interface, err)
	}
	return nil
}

// hardwareAddress makes a hardware address of an IP address; the first octet
// says that it is locally administered.
func hardwareAddress(a netip.Addr) net.HardwareAddr {
	return append(net.HardwareAddr{0x02, 0x00}, a.AsSlice()...)
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

// AddressOfItsOwn gives the loopback of the calling thread's network namespace an address. Without one that is not 127.0.0.1, glibc finds
// no address for slurmctld to listen at, and that of 24.11 ends before it has read all its settings. It is one of those that nobody has:
// https://www.rfc-editor.org/rfc/rfc5737
func AddressOfItsOwn() error {
	if err := loopbackUp(); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find loopback: %w", err)
	}
	address := &net.IPNet{IP: net.IPv4(192, 0, 2, 1), Mask: net.CIDRMask(32, 32)}
	if err := netlink.AddrAdd(lo, &netlink.Addr{IPNet: address}); err != nil {
		return fmt.Errorf("add address %s: %w", address, err)
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
