package ec2

import (
	"cmp"
	"maps"
	"slices"
)

// spec is what is to be launched: a launch template, RunInstances' own parameters,
// or both together.
type spec struct {
	image, kind, key, subnet, zone string
	userData, profile, shutdown    string
	address, template              string // template is its id
	groups                         []string
	cards                          []card
	disks                          []disk
	placement, tenancy             string
	market, spotPrice              string
	preference, reservation        string
	protected                      bool
	cores, threads                 int
	metadata                       map[string]string
	tags                           map[string]map[string]string // by type of resource
}

// card is a network interface that is to be made, or one that is there.
type card struct {
	id, kind, subnet, address, description string
	device, index                          int // index of the network card
	groups                                 []string
	public                                 string // true, false or nothing
	stays                                  bool   // after termination
}

// disk is a volume, or a disk of the machine's own.
type disk struct {
	device, virtual, kind string
	size                  int
	encrypted, stays      bool
}

// apply lets parameters go before those that are there already. Interfaces and
// groups replace, disks do so by device, tags by key.
func (s *spec) apply(p params) {
	set := func(to *string, name string) { *to = cmp.Or(p.text(name), *to) }
	set(&s.image, "ImageId")
	set(&s.kind, "InstanceType")
	set(&s.key, "KeyName")
	set(&s.subnet, "SubnetId")
	set(&s.userData, "UserData")
	set(&s.shutdown, "InstanceInitiatedShutdownBehavior")
	set(&s.address, "PrivateIpAddress")
	set(&s.profile, "IamInstanceProfile.Arn")
	set(&s.profile, "IamInstanceProfile.Name")
	set(&s.zone, "Placement.AvailabilityZone")
	set(&s.placement, "Placement.GroupName")
	set(&s.placement, "Placement.GroupId")
	set(&s.tenancy, "Placement.Tenancy")
	set(&s.market, "InstanceMarketOptions.MarketType")
	set(&s.spotPrice, "InstanceMarketOptions.SpotOptions.MaxPrice")
	set(&s.preference, "CapacityReservationSpecification.CapacityReservationPreference")
	set(&s.reservation, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
	set(&s.reservation, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationResourceGroupArn")
	s.protected = s.protected || p.yes("DisableApiTermination")
	s.cores = cmp.Or(p.number("CpuOptions.CoreCount"), s.cores)
	s.threads = cmp.Or(p.number("CpuOptions.ThreadsPerCore"), s.threads)
	if groups := p.texts("SecurityGroupId"); groups != nil {
		s.groups = groups
	}
	if cards := p.list("NetworkInterface"); cards != nil {
		s.cards = nil
		for _, c := range cards {
			s.cards = append(s.cards, readCard(c))
		}
	}
	s.applyDisks(p)
	s.applyMetadata(p)
	s.applyTags(p)
}

func readCard(p params) card {
	c := card{
		id: p.text("NetworkInterfaceId"), kind: cmp.Or(p.text("InterfaceType"), "interface"), subnet: p.text("SubnetId"),
		address: p.text("PrivateIpAddress"), description: p.text("Description"), device: p.number("DeviceIndex"), index: p.number("NetworkCardIndex"),
		groups: p.texts("SecurityGroupId"), public: p.text("AssociatePublicIpAddress"), stays: p.text("DeleteOnTermination") == "false",
	}
	if c.kind == "" {
		c.kind = "interface"
	}
	if c.groups == nil {
		c.groups = p.texts("Group")
	}
	return c
}

func (s *spec) applyDisks(p params) {
	for _, d := range p.list("BlockDeviceMapping") {
		x := disk{
			device: d.text("DeviceName"), virtual: d.text("VirtualName"), kind: cmp.Or(d.text("Ebs.VolumeType"), "gp3"), size: d.number("Ebs.VolumeSize"),
			encrypted: d.yes("Ebs.Encrypted"), stays: d.text("Ebs.DeleteOnTermination") == "false",
		}
		s.disks = slices.DeleteFunc(s.disks, func(old disk) bool { return old.device == x.device })
		s.disks = append(s.disks, x)
	}
}

func (s *spec) applyMetadata(p params) {
	for _, name := range []string{"HttpTokens", "HttpPutResponseHopLimit", "HttpEndpoint", "InstanceMetadataTags", "HttpProtocolIpv6"} {
		if v := p.text("MetadataOptions." + name); v != "" {
			if s.metadata == nil {
				s.metadata = map[string]string{}
			}
			s.metadata[name] = v
		}
	}
}

func (s *spec) applyTags(p params) {
	// Nobody promises that a call's tags leave those of its template.
	if s.tags == nil || p.list("TagSpecification") != nil {
		s.tags = map[string]map[string]string{}
	}
	for _, t := range p.list("TagSpecification") {
		kind := t.text("ResourceType")
		if s.tags[kind] == nil {
			s.tags[kind] = map[string]string{}
		}
		maps.Copy(s.tags[kind], readTags(t))
	}
}

// readTags reads Tag.N.Key and Tag.N.Value.
func readTags(p params) map[string]string {
	tags := map[string]string{}
	for _, t := range p.list("Tag") {
		tags[t.text("Key")] = t.text("Value")
	}
	return tags
}

func (s *spec) clone() *spec {
	c := *s
	c.cards, c.disks = slices.Clone(s.cards), slices.Clone(s.disks)
	c.metadata = maps.Clone(s.metadata)
	c.tags = map[string]map[string]string{}
	for kind, tags := range s.tags {
		c.tags[kind] = maps.Clone(tags)
	}
	return &c
}
