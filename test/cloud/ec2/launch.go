package ec2

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// launched is what a client token was used for.
type launched struct {
	digest    uint64
	instances []*instance
	answer    *wire.Answer // a fleet's
}

// order is a launch: of what, how many, and at least how many.
type order struct {
	spec       *spec
	least      int
	most       int
	token      string
	fleet      string
	where      place
	lookedUp   machine
	image      image
	groupNames map[string]string
	refusal    *wire.Error // of what it speaks of
}

// run is RunInstances.
func (e *EC2) run(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	o := order{least: p.number("MinCount"), most: p.number("MaxCount"), token: p.text("ClientToken")}
	if o.least < 1 || o.most < o.least {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%d) for parameter minCount is invalid. Expected a value of 1 to maxCount (%d).", o.least, o.most)
	}
	var err *wire.Error
	if o.spec, err = e.fromTemplate(ctx, p.below("LaunchTemplate")); err != nil {
		return nil, err
	}
	o.spec.apply(p)
	if err := mixed(o.spec); err != nil {
		return nil, err
	}
	if err := e.lookUp(ctx, &o); err != nil {
		return nil, err
	}
	if p.yes("DryRun") {
		return nil, dryRun()
	}
	made, again, err := e.launch(&o, digest(c.Form))
	if err != nil {
		return nil, err
	}
	return e.reservation(c, made, again), nil
}

// dryRun says that a call would have been allowed; EC2 answers so with status 412.
func dryRun() *wire.Error {
	return &wire.Error{Status: http.StatusPreconditionFailed, Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set."}
}

// mixed refuses what stands both in the interfaces and beside them.
func mixed(s *spec) *wire.Error {
	if len(s.cards) == 0 {
		return nil
	}
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html on NetworkInterface.N
	if s.subnet != "" {
		return wire.Errorf("InvalidParameterCombination", "Network interfaces and an instance-level subnet ID may not be specified on the same request")
	}
	if len(s.groups) > 0 {
		return wire.Errorf("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	public := slices.ContainsFunc(s.cards, func(c card) bool { return c.public == "true" })
	if public && len(s.cards) > 1 {
		return wire.Errorf("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
	}
	return nil
}

// digest is what a call asks for, whatever its token.
func digest(form url.Values) uint64 {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if name != "ClientToken" && name != "DryRun" {
			fmt.Fprintln(h, name, form[name])
		}
	}
	return h.Sum64()
}

// launch carries an order out, whole or in part, or not at all. A token that was used
// before gives what it gave then; again says so.
func (e *EC2) launch(o *order, digest uint64) (made []*instance, again bool, err *wire.Error) {
	e.mu.Lock()
	if before, ok := e.launches[o.token]; ok && o.token != "" {
		e.mu.Unlock()
		if before.digest != digest {
			return nil, false, mismatch(o.token)
		}
		return before.instances, true, nil
	}
	made, err = e.place(o)
	if err == nil && o.token != "" {
		e.launches[o.token] = launched{digest: digest, instances: made}
	}
	tell := e.born(made)
	e.mu.Unlock()
	tell()
	return made, false, err
}

// born tells OnLaunch of instances. mu is held when it is called, and not when what it
// returns is called.
func (e *EC2) born(made []*instance) (tell func()) {
	hook := e.opts.OnLaunch
	if hook == nil {
		return func() {}
	}
	var all []Instance
	for _, i := range made {
		all = append(all, i.public(i.Launched))
	}
	return func() {
		for _, i := range all {
			hook(i)
		}
	}
}

// place makes an order's instances. mu is held.
func (e *EC2) place(o *order) ([]*instance, *wire.Error) {
	n, err := e.room(o)
	if err != nil {
		return nil, err
	}
	addresses, err := e.addresses(o, n)
	if err != nil {
		return nil, err
	}
	now, reservation := e.now(), e.id("r")
	var made []*instance
	for index, drawn := range addresses {
		i := e.newInstance(o, index, drawn, now)
		i.ReservationID = reservation
		made = append(made, i)
		e.instances[i.ID] = i
		e.hold(i, i.Subnet)
	}
	e.order = append(e.order, made...)
	return made, nil
}

func mismatch(token string) *wire.Error {
	return wire.Errorf("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s) with client token %s.", token)
}

// newInstance makes an instance. mu is held.
func (e *EC2) newInstance(o *order, index int, addresses []netip.Addr, now time.Time) *instance {
	s := o.spec
	data, _ := base64.StdEncoding.DecodeString(s.userData) // checked before
	i := &instance{
		Instance: Instance{
			ID: e.id("i"), Type: s.kind, Arch: o.lookedUp.arch, ImageID: s.image, RootDevice: o.image.root, KeyName: s.key, UserData: data,
			Index: index, Token: o.token, Region: e.opts.Region, Zone: o.where.subnet.zone, Subnet: o.where.subnet.id, VPC: o.where.subnet.vpc, SubnetCIDR: o.where.subnet.cidr,
			PrivateIP: addresses[0], PrivateDNS: privateDNS(addresses[0], e.opts.Region), Groups: o.where.groups, Profile: e.profile(s.profile), Launched: now,
			Market: s.market, Reservation: o.where.reservation, Placement: s.placement, TokensRequired: s.metadata["HttpTokens"] == "required",
			HopLimit: cmp.Or(s.metadata["HttpPutResponseHopLimit"], "1"), TagsInMetadata: s.metadata["InstanceMetadataTags"] == "enabled",
		},
		number: len(e.order) + index, spec: s, machine: o.lookedUp, owner: e.opts.Account, region: e.opts.Region, names: o.groupNames, fleet: o.fleet,
		protected: s.protected, shutdown: cmp.Or(s.shutdown, "stop"), stays: map[string]bool{},
		line: []moment{{at: now, state: pending}, {at: now.Add(e.opts.Pending), state: running}},
	}
	tags := maps.Clone(s.tags["instance"])
	if tags == nil {
		tags = map[string]string{}
	}
	if o.fleet != "" {
		tags["aws:ec2:fleet-id"] = o.fleet
	}
	if end := o.where.until; !end.IsZero() {
		const code, reason = blockEnded, "the capacity block ends"
		e.blocks = append(e.blocks, i)
		i.line = append(i.line, moment{at: end, state: shuttingDown, code: code, reason: reason}, moment{at: end.Add(e.opts.Stopping), state: terminated, code: code, reason: reason})
	}
	i.tagLine = []tagMoment{{at: now, tags: tags}}
	e.addInterfaces(i, o, addresses)
	e.addVolumes(i, o)
	if o.where.public {
		i.PublicIP = e.publicAddress()
	}
	var w writer
	i.writeCards(&w)
	i.cards = w.Bytes()
	return i
}

func (e *EC2) addInterfaces(i *instance, o *order, addresses []netip.Addr) {
	for n, c := range o.where.cards {
		x := Interface{
			ID: c.id, Type: c.kind, Subnet: cmp.Or(c.subnet, i.Subnet), Description: c.description, Device: c.device, Card: c.index,
			Address: addresses[n], Groups: c.groups, Stays: c.stays,
		}
		if x.ID == "" {
			x.ID = e.id("eni")
			e.tags[x.ID] = maps.Clone(o.spec.tags["network-interface"])
		} else {
			i.stays[x.ID], x.Stays = true, true
		}
		x.MAC = mac(x.ID)
		i.Interfaces = append(i.Interfaces, x)
	}
}

// mac is an interface's own address, of those that nobody else has.
func mac(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	n := h.Sum64()
	return fmt.Sprintf("06:%02x:%02x:%02x:%02x:%02x", byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32))
}

func (e *EC2) addVolumes(i *instance, o *order) {
	disks := o.spec.disks
	if !slices.ContainsFunc(disks, func(d disk) bool { return d.device == o.image.root }) {
		disks = append([]disk{{device: o.image.root, kind: "gp3"}}, disks...)
	}
	for _, d := range disks {
		if d.virtual == "" {
			v := volume{made: i.Launched, id: e.id("vol"), device: d.device, kind: d.kind, size: cmp.Or(d.size, o.image.size, 8), encrypted: d.encrypted, stays: d.stays}
			e.tags[v.id] = maps.Clone(o.spec.tags["volume"])
			i.volumes = append(i.volumes, v)
		}
	}
}

// profile is an instance profile's ARN.
func (e *EC2) profile(name string) string {
	if name == "" || strings.HasPrefix(name, "arn:") {
		return name
	}
	return "arn:aws:iam::" + e.opts.Account + ":instance-profile/" + name
}

// reservation answers with instances that were launched together, as they were when
// they were launched, or for a call that came again as they are now.
func (e *EC2) reservation(c *wire.Call, made []*instance, again bool) *wire.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := &wire.Answer{Type: xmlType, Body: begin(c.Action), Header: map[string]string{countHeader: fmt.Sprint(len(made))}}
	var w writer
	w.text("reservationId", made[0].ReservationID).text("ownerId", e.opts.Account).open("groupSet").close("groupSet").open("instancesSet")
	answer.Parts = append(answer.Parts, w.Bytes())
	for _, i := range made {
		var head writer
		m := i.line[0]
		if again {
			m, _ = i.at(e.now())
		}
		i.writeHead(&head, m)
		answer.Parts = append(answer.Parts, head.Bytes(), i.cards, []byte("</item>"))
	}
	answer.Parts = append(answer.Parts, []byte("</instancesSet>"), end(c.Action))
	return answer
}
