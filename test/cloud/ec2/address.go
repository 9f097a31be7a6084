package ec2

import (
	"context"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Subnet is a subnet that the double keeps where there is no moto.
type Subnet struct {
	ID, VPC, Zone string
	CIDR          netip.Prefix
}

// AddSubnet adds a subnet, where there is no moto.
func (e *EC2) AddSubnet(s Subnet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.subnets[s.ID] = subnet{id: s.ID, vpc: s.VPC, zone: s.Zone, cidr: s.CIDR}
}

// subnet finds a subnet; the default one of a zone, or of any, where there is no id.
func (e *EC2) subnet(ctx context.Context, id, zone string) (subnet, *wire.Error) {
	if e.opts.Moto == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		s, ok := e.subnets[id]
		if !ok {
			return subnet{}, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
		return s, nil
	}
	form := url.Values{"Action": {"DescribeSubnets"}}
	if id != "" {
		form.Set("SubnetId.1", id)
	} else {
		form.Set("Filter.1.Name", "default-for-az")
		form.Set("Filter.1.Value.1", "true")
		if zone != "" {
			form.Set("Filter.2.Name", "availability-zone")
			form.Set("Filter.2.Value.1", zone)
		}
	}
	var answer struct {
		Subnets []struct {
			ID     string `xml:"subnetId"`
			VPC    string `xml:"vpcId"`
			Zone   string `xml:"availabilityZone"`
			CIDR   string `xml:"cidrBlock"`
			Public bool   `xml:"mapPublicIpOnLaunch"`
		} `xml:"subnetSet>item"`
	}
	if err := e.ask(ctx, form, &answer); err != nil {
		return subnet{}, err
	}
	if len(answer.Subnets) == 0 {
		return subnet{}, wire.Errorf("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
	}
	s := answer.Subnets[0]
	cidr, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return subnet{}, wire.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", s.CIDR)
	}
	return subnet{id: s.ID, vpc: s.VPC, zone: s.Zone, cidr: cidr, public: s.Public}, nil
}

// motoInterface is a network interface of moto's.
type motoInterface struct {
	ID      string `xml:"networkInterfaceId"`
	Subnet  string `xml:"subnetId"`
	Address string `xml:"privateIpAddress"`
	Groups  []struct {
		ID string `xml:"groupId"`
	} `xml:"groupSet>item"`
}

func (e *EC2) motoInterfaces(ctx context.Context, form url.Values) ([]motoInterface, *wire.Error) {
	if e.opts.Moto == nil {
		return nil, nil
	}
	var answer struct {
		Interfaces []motoInterface `xml:"networkInterfaceSet>item"`
	}
	form.Set("Action", "DescribeNetworkInterfaces")
	err := e.ask(ctx, form, &answer)
	return answer.Interfaces, err
}

// interfaceThere fills in an interface that was made before.
func (e *EC2) interfaceThere(ctx context.Context, c *card) *wire.Error {
	found, err := e.motoInterfaces(ctx, url.Values{"NetworkInterfaceId.1": {c.id}})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return wire.Errorf("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", c.id)
	}
	c.subnet, c.address = found[0].Subnet, found[0].Address
	for _, g := range found[0].Groups {
		c.groups = append(c.groups, g.ID)
	}
	return nil
}

// foreign are addresses of a subnet that others of moto have: gateways, mount targets.
func (e *EC2) foreign(ctx context.Context, id string) (map[netip.Addr]bool, *wire.Error) {
	found, err := e.motoInterfaces(ctx, url.Values{"Filter.1.Name": {"subnet-id"}, "Filter.1.Value.1": {id}})
	taken := map[netip.Addr]bool{}
	for _, n := range found {
		if a, err := netip.ParseAddr(n.Address); err == nil {
			taken[a] = true
		}
	}
	return taken, err
}

// pool of addresses of a subnet.
type addressPool struct {
	taken map[netip.Addr]*instance
	next  netip.Addr
}

// held are the addresses of a subnet that instances hold. mu is held.
func (e *EC2) held(id string) int {
	n, now := 0, e.now()
	for _, i := range e.order {
		if m, _ := i.at(now); m.state == terminated {
			continue
		}
		for _, x := range i.Interfaces {
			if x.Subnet == id && x.Address.IsValid() && !i.stays[x.ID] {
				n++
			}
		}
	}
	return n
}

// AWS keeps the first four addresses of a subnet and the last one:
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
const reserved = 5

func size(cidr netip.Prefix) int { return 1<<(32-cidr.Bits()) - reserved }

// addresses draws the addresses of n instances; as many as it can, but not fewer
// than the order's least. mu is held.
func (e *EC2) addresses(o *order, n int) ([][]netip.Addr, *wire.Error) {
	each := 0
	for _, c := range o.where.cards {
		if c.kind != "efa-only" {
			each++
		}
	}
	cidr := o.where.subnet.cidr
	free := size(cidr) - e.held(o.where.subnet.id) - len(o.where.foreign)
	if free < each*n {
		n = free / max(each, 1)
	}
	if n < o.least {
		return nil, wire.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", o.where.subnet.id)
	}
	var all [][]netip.Addr
	for range n {
		addresses, err := e.draw(o)
		if err != nil {
			return nil, err
		}
		all = append(all, addresses)
	}
	return all, nil
}

// draw draws the addresses of one instance.
func (e *EC2) draw(o *order) ([]netip.Addr, *wire.Error) {
	pool := e.taken[o.where.subnet.id]
	if pool == nil {
		pool = &addressPool{taken: map[netip.Addr]*instance{}}
		e.taken[o.where.subnet.id] = pool
	}
	var addresses []netip.Addr
	for _, c := range o.where.cards {
		switch {
		case c.kind == "efa-only":
			addresses = append(addresses, netip.Addr{})
		case c.address != "":
			a, err := netip.ParseAddr(c.address)
			if err != nil || !o.where.subnet.cidr.Contains(a) {
				return nil, wire.Errorf("InvalidParameterValue", "Address %s does not fall within the subnet's address range", c.address)
			}
			if c.id == "" && (e.inUse(pool, a) || o.where.foreign[a]) {
				return nil, wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", c.address)
			}
			addresses = append(addresses, a)
		default:
			addresses = append(addresses, e.nextAddress(pool, o))
		}
		if a := addresses[len(addresses)-1]; a.IsValid() {
			pool.taken[a] = placeholder
		}
	}
	return addresses, nil
}

// placeholder holds an address until its instance is made.
var placeholder = &instance{line: []moment{{state: pending}}}

func (e *EC2) inUse(pool *addressPool, a netip.Addr) bool {
	i := pool.taken[a]
	if i == nil {
		return false
	}
	m, _ := i.at(e.now())
	return m.state != terminated
}

// nextAddress is a free one. There is one: they were counted.
func (e *EC2) nextAddress(pool *addressPool, o *order) netip.Addr {
	cidr := o.where.subnet.cidr
	first := cidr.Masked().Addr().Next().Next().Next().Next()
	if !pool.next.IsValid() {
		pool.next = first
	}
	for {
		a := pool.next
		pool.next = a.Next()
		if !cidr.Contains(pool.next) { // a is the last, AWS's own
			pool.next = first
			continue
		}
		if !e.inUse(pool, a) && !o.where.foreign[a] && !(e.opts.OneNetwork && e.elsewhere(a)) {
			return a
		}
	}
}

// elsewhere tells whether an instance of any subnet has an address. mu is held.
func (e *EC2) elsewhere(a netip.Addr) bool {
	for _, pool := range e.taken {
		if e.inUse(pool, a) {
			return true
		}
	}
	return false
}

// hold gives drawn addresses to their instance. mu is held.
func (e *EC2) hold(i *instance, subnet string) {
	pool := e.taken[subnet]
	for _, x := range i.Interfaces {
		if x.Address.IsValid() && pool != nil {
			pool.taken[x.Address] = i
		}
	}
}

// publicAddress is of a network that no machine of the Internet has (RFC 2544).
func (e *EC2) publicAddress() netip.Addr {
	e.last++
	return netip.AddrFrom4([4]byte{198, 18, byte(e.last >> 8), byte(e.last)})
}
