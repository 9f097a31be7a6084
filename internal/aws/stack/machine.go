package stack

import (
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// machine is a kind of machine: what launch templates have in common.
type machine struct {
	// image is the key of Facts.Images, words what people call it.
	image, words string
	types        []string
	threadsOff   bool
	root         spec.RootVolume
	// keepRoot says that the root volume outlives its machine.
	keepRoot bool
	profile  cfn.Profile
	ticket   manifest.Ticket
	tags     []cfn.Tag
}

// launchData is what every machine gets: image, disks, metadata service, user data,
// tags.
func (m *maker) launchData(x machine) cfn.LaunchTemplateData {
	image, ok := m.facts.Images[x.image]
	if !ok {
		m.fail("%s: no machine image is known", x.words)
	}
	program, ok := m.facts.Programs[image.Arch]
	if !ok {
		m.fail("%s: there is no build of muster for %s", x.words, image.Arch)
	}
	if x.ticket.Role == manifest.RoleHead && m.facts.HeadProgram.Key != "" {
		program = m.facts.HeadProgram
	}
	x.ticket.Program = program
	d := cfn.LaunchTemplateData{
		ImageId: image.ID, IamInstanceProfile: x.profile, MetadataOptions: m.metadata(), CpuOptions: cpus(x.types, x.threadsOff),
		BlockDeviceMappings: m.disks(x, image), UserData: userData(x.ticket),
		TagSpecifications: []cfn.TagSpecification{{ResourceType: "instance", Tags: x.tags}, {ResourceType: "volume", Tags: x.tags}},
	}
	if len(x.types) == 1 {
		d.InstanceType = x.types[0]
	}
	return d
}

// metadata is IMDSv2, unless the file asks for the old one beside it, within the
// machine itself alone. Tags are not in it: machines ask the head node for their names.
func (m *maker) metadata() cfn.Metadata {
	tokens := "required"
	if m.file.OldMetadata {
		tokens = "optional"
	}
	return cfn.Metadata{HttpEndpoint: "enabled", HttpTokens: tokens, HttpPutResponseHopLimit: 1, InstanceMetadataTags: "disabled"}
}

// disks are the root volume, and the instance's own disks where it is of a kind
// that has to ask for them.
func (m *maker) disks(x machine, image inventory.Image) []cfn.Device {
	root := cfn.Ebs{
		DeleteOnTermination: new(!x.keepRoot), Encrypted: new(x.root.Encrypted), VolumeSize: x.root.SizeGiB, VolumeType: x.root.VolumeType,
		Iops: x.root.Iops, Throughput: x.root.Throughput,
	}
	if root.VolumeSize > 0 && root.VolumeSize < image.RootGiB {
		m.fail("%s: the root volume has %d GiB, and image %s needs %d", x.words, root.VolumeSize, image.ID, image.RootGiB)
	}
	out := []cfn.Device{{DeviceName: image.RootDevice, Ebs: &root}}
	if !asksForDisks(x.types) {
		return out
	}
	for i := range 24 {
		out = append(out, cfn.Device{DeviceName: "/dev/xvdb" + string(rune('a'+i)), VirtualName: "ephemeral" + strconv.Itoa(i)})
	}
	return out
}

// asksForDisks reports whether one of the types is of an old family, whose own disks
// are there only if they are asked for. NVMe disks always are.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/add-instance-store-volumes.html
func asksForDisks(types []string) bool {
	for _, name := range types {
		family, _, _ := strings.Cut(name, ".")
		switch family {
		case "c1", "c3", "d2", "h1", "i2", "m1", "m2", "m3", "r3", "x1", "x1e":
			return true
		}
	}
	return false
}

// cpus is one thread for each core. Types with different numbers of cores, and
// metal ones, cannot be told so in a launch template: their nodes do it themselves.
func cpus(types []string, threadsOff bool) *cfn.CPUs {
	cores := 0
	for _, name := range types {
		t, ok := catalog.Lookup(name)
		if !ok || t.ThreadsPerCore < 2 || strings.Contains(name, ".metal") || cores > 0 && cores != t.VCPUs/2 {
			return nil
		}
		cores = t.VCPUs / 2
	}
	if !threadsOff || cores == 0 {
		return nil
	}
	return &cfn.CPUs{CoreCount: cores, ThreadsPerCore: 1}
}

// groupsOf are the security groups of machines: muster's or the file's instead, and
// what the file adds.
func (p *part) groupsOf(networking spec.Networking, managed value) []cfn.Text {
	out := cfn.Lits(networking.SecurityGroups...)
	if len(out) == 0 {
		out = append(out, p.text(managed))
	}
	return append(out, cfn.Lits(networking.AdditionalSecurityGroups...)...)
}

// ticket is what machines of a role are told, but for the program.
func (m *maker) ticket(p *part, role string) manifest.Ticket {
	t := manifest.Ticket{Cluster: m.facts.Name, Region: m.facts.Region, Bucket: p.sub(m.bucket), Role: role}
	if !m.zone.absent() {
		t.ZoneName = m.zoneName // all machines look for names in it
	}
	if role != manifest.RoleHead {
		t.Head = "${" + headAddress + "}"
		return t
	}
	if !m.zone.absent() {
		t.Zone = p.sub(m.zone)
	}
	return t
}

// userData is the script that a machine runs first. It has no ${ of its own: what
// looks so is CloudFormation's to fill in.
func userData(t manifest.Ticket) cfn.Text { return cfn.Base64(cfn.Sub(manifest.UserData(t))) }

// EFADevices is how many EFA devices a node of a compute resource is launched with. The
// instance's own type counts where the resource names none.
func EFADevices(c *spec.Cluster, r spec.ComputeResource, own string) int {
	if len(r.InstanceTypes) == 0 {
		r.InstanceTypes = []string{own}
	}
	n := 0
	for _, i := range interfaces(c, r) {
		if strings.HasPrefix(i.kind, efaBoth) {
			n++
		}
	}
	return n
}
