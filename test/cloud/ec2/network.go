package ec2

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// describeInterfaces is DescribeNetworkInterfaces: moto's, and those of our instances.
func (e *EC2) describeInterfaces(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	filters, ids := p.filters(), p.texts("NetworkInterfaceId")
	var mine []string
	e.mu.Lock()
	found, err := e.ownInterfaces(filters, ids)
	for _, f := range found {
		mine = append(mine, f.Interface.ID)
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	form, left := without(c.Form, "NetworkInterfaceId", func(id string) bool { return slices.Contains(mine, id) })
	write := func(w *writer) {
		for _, f := range found {
			e.writeInterface(w, f)
		}
	}
	ofInstances := slices.ContainsFunc(filters, func(f filter) bool { return f.name == "attachment.instance-id" })
	if len(ids) > 0 && left == 0 || ofInstances || e.opts.Moto == nil {
		var w writer
		e.mu.Lock()
		defer e.mu.Unlock()
		w.open("networkInterfaceSet")
		write(&w)
		return w.close("networkInterfaceSet").answer(c), nil
	}
	return e.merge(ctx, wire.NewCall("ec2", c.Region, form), "networkInterfaceSet", func(*node) {}, write)
}

// owned is an interface and whose it is.
type owned struct {
	Interface
	of *instance
}

// ownInterfaces are those of instances that are not terminated. mu is held.
func (e *EC2) ownInterfaces(filters []filter, ids []string) ([]owned, *wire.Error) {
	var all []owned
	seen := e.seen()
	for _, i := range e.order {
		if m, ok := i.at(seen); !ok || m.state == terminated {
			continue
		}
		for _, n := range i.Interfaces {
			if i.stays[n.ID] || ids != nil && !slices.Contains(ids, n.ID) {
				continue
			}
			ok, err := interfaceFits(filters, n, i, e.tags[n.ID])
			if err != nil {
				return nil, err
			}
			if ok {
				all = append(all, owned{n, i})
			}
		}
	}
	return all, nil
}

func interfaceFits(filters []filter, n Interface, i *instance, tags map[string]string) (bool, *wire.Error) {
	var plain []filter
	for _, f := range filters {
		if f.name != "group-id" {
			plain = append(plain, f)
			continue
		}
		if !slices.ContainsFunc(n.Groups, f.fits) {
			return false, nil
		}
	}
	return resourceFits(plain, tags, map[string]string{
		"vpc-id": i.VPC, "subnet-id": n.Subnet, "network-interface-id": n.ID, "private-ip-address": n.Address.String(), "status": "in-use",
		"addresses.private-ip-address": n.Address.String(), "attachment.instance-id": i.ID, "attachment.status": "attached", "interface-type": n.Type,
		"description": n.Description, "availability-zone": i.Zone, "owner-id": i.owner, "requester-managed": "false", "requester-id": "",
		"attachment.device-index": strconv.Itoa(n.Device), "mac-address": n.MAC, "private-dns-name": privateDNS(n.Address, i.region),
	})
}

func (e *EC2) writeInterface(w *writer, o owned) {
	n, i := o.Interface, o.of
	w.open("item").text("networkInterfaceId", n.ID).text("subnetId", n.Subnet).text("vpcId", i.VPC).text("availabilityZone", i.Zone)
	w.text("description", n.Description).text("ownerId", i.owner).yes("requesterManaged", false).text("status", "in-use").text("macAddress", n.MAC)
	if n.Address.IsValid() {
		w.text("privateIpAddress", n.Address.String()).text("privateDnsName", privateDNS(n.Address, i.region))
	}
	w.yes("sourceDestCheck", true).list("groupSet", n.Groups, func(g string) { w.text("groupId", g).text("groupName", i.names[g]) })
	w.open("attachment").text("attachmentId", "eni-attach-"+n.ID[4:]).text("instanceId", i.ID).text("instanceOwnerId", i.owner)
	w.number("deviceIndex", n.Device).number("networkCardIndex", n.Card).text("status", "attached").time("attachTime", i.Launched)
	w.yes("deleteOnTermination", !n.Stays).close("attachment").tags(e.tags[n.ID])
	if n.Address.IsValid() {
		w.open("privateIpAddressesSet").open("item").text("privateIpAddress", n.Address.String()).yes("primary", true).close("item").close("privateIpAddressesSet")
	}
	w.text("interfaceType", n.Type).close("item")
}

// describeSubnets is DescribeSubnets: moto's, with the addresses that are really left.
func (e *EC2) describeSubnets(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	less := func(item *node) {
		free, _ := strconv.Atoi(item.child("availableIpAddressCount")) // moto's number
		item.set("availableIpAddressCount", itoa(free-e.held(item.child("subnetId"))))
	}
	return e.merge(ctx, c, "subnetSet", less, func(w *writer) {
		ids := p.texts("SubnetId")
		for _, s := range e.subnets {
			if ids == nil || slices.Contains(ids, s.id) {
				w.open("item").text("subnetId", s.id).text("vpcId", s.vpc).text("availabilityZone", s.zone).text("cidrBlock", s.cidr.String())
				w.number("availableIpAddressCount", size(s.cidr)-e.held(s.id)).text("state", "available").close("item")
			}
		}
	})
}

// deleteUnused is DeleteSubnet and DeleteSecurityGroup: moto's, unless an instance
// uses them.
func (e *EC2) deleteUnused(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	subnet, group := p.text("SubnetId"), p.text("GroupId")
	user := ""
	for _, i := range e.order {
		if m, _ := i.at(e.now()); m.state == terminated {
			continue
		}
		for _, n := range i.Interfaces {
			if subnet != "" && n.Subnet == subnet || group != "" && slices.Contains(n.Groups, group) {
				user = i.ID
			}
		}
	}
	e.mu.Unlock()
	if user != "" {
		what := "subnet '" + subnet + "'"
		if group != "" {
			what = "resource " + group
		}
		return nil, wire.Errorf("DependencyViolation", "The %s has dependencies and cannot be deleted.", what)
	}
	return e.moto(ctx, c)
}

// associateAddress is AssociateAddress and DisassociateAddress, for our instances.
func (e *EC2) associateAddress(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	if c.Action == "DisassociateAddress" {
		e.mu.Lock()
		i := e.associations[p.text("AssociationId")]
		if i != nil {
			i.PublicIP = netip.Addr{}
			delete(e.associations, p.text("AssociationId"))
		}
		e.mu.Unlock()
		if i != nil {
			return done(c), nil
		}
		return e.moto(ctx, c)
	}
	e.mu.Lock()
	i := e.instances[p.text("InstanceId")]
	for _, x := range e.order {
		if slices.ContainsFunc(x.Interfaces, func(n Interface) bool { return n.ID == p.text("NetworkInterfaceId") }) {
			i = x
		}
	}
	e.mu.Unlock()
	if i == nil || e.opts.Moto == nil {
		return e.moto(ctx, c)
	}
	var answer struct {
		IP string `xml:"addressesSet>item>publicIp"`
	}
	if err := e.ask(ctx, url.Values{"Action": {"DescribeAddresses"}, "AllocationId.1": {p.text("AllocationId")}}, &answer); err != nil {
		return nil, err
	}
	address, err := netip.ParseAddr(answer.IP)
	if err != nil {
		return nil, wire.Errorf("InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist", p.text("AllocationId"))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i.PublicIP = address
	id := e.id("eipassoc")
	e.associations[id] = i
	var w writer
	return w.text("return", "true").text("associationId", id).answer(c), nil
}
