package nodes

import (
	"iter"
	"net/netip"
	"slices"
)

// FirstNodeAddress and LastNodeAddress are the lowest and the highest address
// that a node can have.
var (
	FirstNodeAddress = HeadAddress.Next()
	LastNodeAddress  = netip.MustParseAddr("10.99.255.254")
)

func sortedAddresses(from iter.Seq[netip.Addr]) []netip.Addr {
	return slices.SortedFunc(from, netip.Addr.Compare)
}
