package ec2

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// machine is an instance type.
type machine struct {
	arch                   string
	vcpus, cores, threads  int
	interfaces, cards, efa int
	known                  bool // the limits above are
}

// image is a machine image.
type image struct {
	root, arch string
	size       int
}

// subnet is a subnet.
type subnet struct {
	id, vpc, zone string
	cidr          netip.Prefix
	public        bool
}

// place is where an order's instances go.
type place struct {
	subnet      subnet
	groups      []string
	cards       []card
	public      bool
	reservation string
	until       time.Time           // when EC2 ends them, if not zero
	foreign     map[netip.Addr]bool // addresses of the subnet that moto gave away
}

// facts are what moto said and what does not change.
type facts struct {
	mu       sync.Mutex // guards what follows
	machines map[string]machine
	images   map[string]image
}

// lookUp finds what an order speaks of, and refuses what is not there.
func (e *EC2) lookUp(ctx context.Context, o *order) *wire.Error {
	s := o.spec
	s.kind = cmp.Or(s.kind, "m1.small") // EC2's default
	if s.image == "" {
		return wire.Errorf("MissingParameter", "The request must contain the parameter ImageId")
	}
	if _, err := base64.StdEncoding.DecodeString(s.userData); err != nil {
		return wire.Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(s.userData) > base64.StdEncoding.EncodedLen(16<<10) {
		return wire.Errorf("InvalidParameterValue", "User data is limited to 16384 bytes")
	}
	for _, tags := range s.tags {
		if err := properTags(tags); err != nil {
			return err
		}
	}
	var err *wire.Error
	if o.lookedUp, err = e.machine(ctx, s.kind); err != nil {
		return err
	}
	if o.image, err = e.image(ctx, s.image); err != nil {
		return err
	}
	if o.image.arch != "" && o.image.arch != o.lookedUp.arch {
		return wire.Errorf("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI.", o.lookedUp.arch, o.image.arch)
	}
	if err := e.key(ctx, s.key); err != nil {
		return err
	}
	return e.site(ctx, o)
}

// site finds the order's subnet, groups and interfaces.
func (e *EC2) site(ctx context.Context, o *order) *wire.Error {
	s := o.spec
	cards := slices.Clone(s.cards)
	if len(cards) == 0 {
		cards = []card{{kind: "interface", subnet: s.subnet, groups: s.groups, address: s.address}}
	}
	slices.SortStableFunc(cards, func(a, b card) int { return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.device, b.device)) })
	if err := fits(cards, o.lookedUp, s.kind); err != nil {
		return err
	}
	first := &cards[0]
	if first.id != "" {
		if err := e.interfaceThere(ctx, first); err != nil {
			return err
		}
	}
	var err *wire.Error
	if o.where.subnet, err = e.subnet(ctx, first.subnet, s.zone); err != nil {
		return err
	}
	for i := range cards {
		c := &cards[i]
		c.subnet = cmp.Or(c.subnet, o.where.subnet.id)
		if c.subnet != o.where.subnet.id {
			other, err := e.subnet(ctx, c.subnet, "")
			if err != nil {
				return err
			}
			if other.zone != o.where.subnet.zone {
				return wire.Errorf("InvalidParameterCombination", "Subnets of network interfaces are in different availability zones.")
			}
		}
	}
	if o.groupNames, err = e.securityGroups(ctx, cards, o.where.subnet.vpc); err != nil {
		return err
	}
	if o.where.foreign, err = e.foreign(ctx, o.where.subnet.id); err != nil {
		return err
	}
	o.where.cards, o.where.groups = cards, cards[0].groups
	o.where.public = first.public == "true" || first.public == "" && len(cards) == 1 && o.where.subnet.public
	return nil
}

// fits refuses interfaces that a type does not have. How EC2 words this, and with
// which code but AttachmentLimitExceeded, is our reading.
func fits(cards []card, m machine, kind string) *wire.Error {
	if !m.known {
		return nil
	}
	if len(cards) > m.interfaces {
		return wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(cards), kind)
	}
	efa := 0
	places := map[[2]int]bool{}
	for _, c := range cards {
		if c.index >= m.cards {
			return wire.Errorf("InvalidParameterValue", "Network card index %d exceeds the limit for %s", c.index, kind)
		}
		if at := [2]int{c.index, c.device}; places[at] {
			return wire.Errorf("InvalidParameterValue", "Device index %d of network card %d is used twice", c.device, c.index)
		} else {
			places[at] = true
		}
		if c.kind == "efa" || c.kind == "efa-only" {
			efa++
		}
	}
	if !places[[2]int{0, 0}] {
		return wire.Errorf("InvalidParameterValue", "A network interface with device index 0 on network card 0 is required")
	}
	if efa > m.efa {
		return wire.Errorf("InvalidParameterCombination", "EFA interfaces: %d exceed the limit of %d for %s", efa, m.efa, kind)
	}
	return nil
}

func (e *EC2) machine(ctx context.Context, kind string) (machine, *wire.Error) {
	if e.opts.Moto == nil {
		in, ok := catalog.Lookup(kind)
		arch := "x86_64"
		if in.Arch == "arm64" {
			arch = "arm64"
		}
		if !ok {
			return machine{}, invalidType(kind)
		}
		return machine{arch: arch, vcpus: in.VCPUs, threads: in.ThreadsPerCore, cores: in.VCPUs / max(in.ThreadsPerCore, 1)}, nil
	}
	e.facts.mu.Lock()
	defer e.facts.mu.Unlock()
	if m, ok := e.facts.machines[kind]; ok {
		return m, nil
	}
	var answer struct {
		Types []struct {
			Archs   []string `xml:"processorInfo>supportedArchitectures>item"`
			VCPUs   int      `xml:"vCpuInfo>defaultVCpus"`
			Cores   int      `xml:"vCpuInfo>defaultCores"`
			Threads int      `xml:"vCpuInfo>defaultThreadsPerCore"`
			NICs    int      `xml:"networkInfo>maximumNetworkInterfaces"`
			Cards   int      `xml:"networkInfo>maximumNetworkCards"`
			EFA     int      `xml:"networkInfo>efaInfo>maximumEfaInterfaces"`
		} `xml:"instanceTypeSet>item"`
	}
	if err := e.ask(ctx, url.Values{"Action": {"DescribeInstanceTypes"}, "InstanceType.1": {kind}}, &answer); err != nil || len(answer.Types) == 0 {
		return machine{}, invalidType(kind)
	}
	t := answer.Types[0]
	m := machine{vcpus: t.VCPUs, cores: t.Cores, threads: t.Threads, interfaces: t.NICs, cards: max(t.Cards, 1), efa: t.EFA, known: true}
	for _, a := range t.Archs {
		if a != "i386" {
			m.arch = a
		}
	}
	// Of each network card the catalog of types counts one place; EC2 has two on cards with EFA.
	m.interfaces = max(m.interfaces, 2*m.efa)
	if e.facts.machines == nil {
		e.facts.machines = map[string]machine{}
	}
	e.facts.machines[kind] = m
	return m, nil
}

func invalidType(kind string) *wire.Error {
	return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", kind)
}

func (e *EC2) image(ctx context.Context, id string) (image, *wire.Error) {
	if e.opts.Moto == nil {
		return image{root: "/dev/xvda", size: 40}, nil
	}
	e.facts.mu.Lock()
	defer e.facts.mu.Unlock()
	if i, ok := e.facts.images[id]; ok {
		return i, nil
	}
	var answer struct {
		Images []struct {
			Root string `xml:"rootDeviceName"`
			Arch string `xml:"architecture"`
			Size int    `xml:"blockDeviceMapping>item>ebs>volumeSize"`
		} `xml:"imagesSet>item"`
	}
	if err := e.ask(ctx, url.Values{"Action": {"DescribeImages"}, "ImageId.1": {id}}, &answer); err != nil {
		return image{}, err
	}
	if len(answer.Images) == 0 {
		return image{}, wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
	}
	x := answer.Images[0]
	i := image{root: cmp.Or(x.Root, "/dev/xvda"), arch: x.Arch, size: x.Size}
	if e.facts.images == nil {
		e.facts.images = map[string]image{}
	}
	e.facts.images[id] = i
	return i, nil
}

func (e *EC2) key(ctx context.Context, name string) *wire.Error {
	if name == "" || e.opts.Moto == nil {
		return nil
	}
	var answer struct{}
	return e.ask(ctx, url.Values{"Action": {"DescribeKeyPairs"}, "KeyName.1": {name}}, &answer)
}

// securityGroups checks the groups of interfaces, sets the network's default one
// where there is none, and returns their names.
func (e *EC2) securityGroups(ctx context.Context, cards []card, vpc string) (map[string]string, *wire.Error) {
	names := map[string]string{}
	form := url.Values{"Action": {"DescribeSecurityGroups"}}
	if e.opts.Moto == nil {
		return names, nil
	}
	n := 0
	for _, c := range cards {
		for _, g := range c.groups {
			if _, ok := names[g]; !ok {
				n++
				names[g] = ""
				form.Set("GroupId."+itoa(n), g)
			}
		}
	}
	if n == 0 {
		form = url.Values{
			"Action": {"DescribeSecurityGroups"}, "Filter.1.Name": {"vpc-id"}, "Filter.1.Value.1": {vpc},
			"Filter.2.Name": {"group-name"}, "Filter.2.Value.1": {"default"},
		}
	}
	var answer struct {
		Groups []struct {
			ID   string `xml:"groupId"`
			Name string `xml:"groupName"`
			VPC  string `xml:"vpcId"`
		} `xml:"securityGroupInfo>item"`
	}
	if err := e.ask(ctx, form, &answer); err != nil {
		return nil, err
	}
	for _, g := range answer.Groups {
		names[g.ID] = g.Name
		if g.VPC != vpc {
			return nil, wire.Errorf("InvalidParameter", "Security group %s and subnet of %s belong to different networks.", g.ID, vpc)
		}
		if n == 0 {
			cards[0].groups = []string{g.ID}
		}
	}
	return names, nil
}
