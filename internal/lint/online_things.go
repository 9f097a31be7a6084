package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// things judges what the file names beside networks and machines.
func (o online) things() {
	o.keys()
	o.images()
	o.storage()
	for _, v := range o.named("aws/placement-group") {
		if g, ok := o.PlacementGroups[v.Text()]; ok && g.Strategy != "cluster" {
			v.Warnf("placement/strategy", "placement group %s has the strategy %s: nodes are near each other only in one of strategy cluster", v.Text(), g.Strategy)
		}
	}
	for _, v := range o.named("aws/elastic-ip") {
		if a, ok := o.Addresses[v.Text()]; ok && a.UsedBy != "" {
			v.Warnf("head/elastic-ip-used", "address %s is in use by %s and would be taken away from it", v.Text(), a.UsedBy)
		}
	}
	for _, v := range o.named("aws/hosted-zone") {
		if z, ok := o.HostedZones[v.Text()]; ok && !z.Private {
			v.Errorf("slurm/zone-public", "hosted zone %s (%s) is public: node names need a private one", v.Text(), z.Name)
		}
	}
}

// named are the values that name something of a subject.
func (o online) named(code string) []spec.View {
	for _, s := range subjects() {
		if s.code == code {
			return s.named(o.root)
		}
	}
	return nil
}

// keys judges key pairs: Ubuntu 22.04 and later refuse RSA keys of the kind that
// EC2 makes (KeyPairValidator).
func (o online) keys() {
	system := o.root.At("Image.Os").Text()
	for _, v := range o.named("aws/key-pair") {
		if k, ok := o.KeyPairs[v.Text()]; ok && k.Type == "rsa" && strings.HasPrefix(system, "ubuntu2") && system != "ubuntu2004" {
			v.Errorf("head/key-rsa", "key pair %s is an RSA key, which %s does not take", v.Text(), system).
				WithHint("aws ec2 create-key-pair --key-type ed25519 --key-name NAME")
		}
	}
}

// images judges machine images.
func (o online) images() {
	o.official()
	arch := ""
	if in, ok := catalog.Lookup(o.root.At("HeadNode.InstanceType").Text()); ok {
		arch = in.Arch
	}
	for _, v := range o.named("aws/image") {
		i, ok := o.Images[v.Text()]
		switch {
		case !ok:
		case i.State != "available":
			v.Errorf("image/state", "image %s is %s", v.Text(), i.State)
		case arch != "" && i.Arch != arch:
			v.Errorf("image/arch", "image %s is for %s, and the head node is %s", v.Text(), i.Arch, arch)
		case i.Version == "":
			v.Warnf("image/unmarked", "image %s has no tag parallelcluster:version: nothing says that Slurm, EFA and drivers are in it", v.Text())
		case !strings.HasPrefix(i.Version, o.level.String()+"."):
			v.Errorf("image/version", "image %s was made by ParallelCluster %s, and the file is read as %s", v.Text(), i.Version, o.level)
		default:
			o.oldCustom(v, i.Version)
		}
		root := o.root.At("HeadNode.LocalStorage.RootVolume.Size")
		if ok && root.Given() && root.Int() < i.RootGiB {
			root.Errorf("image/root-size", "the root volume (%d GiB) is smaller than that of image %s (%d GiB)", root.Int(), v.Text(), i.RootGiB)
		}
	}
}

// official judges whether ParallelCluster has images of its own for the file.
func (o online) official() {
	system := o.root.At("Image.Os")
	wanted := official(o.root, o.level)
	if why, no := o.Unasked["aws/official-image"]; no {
		if len(wanted.Arches) > 0 {
			system.Blindf("aws/official-image", "ParallelCluster's own image for %s is not looked up: %s", system.Text(), why)
		}
		return
	}
	for _, arch := range wanted.Arches {
		if why := o.Official[arch]; why != "" {
			system.Errorf("image/official", "the machines have no image to start from: %s", why)
		}
	}
	if wanted.Owner == "" && wanted.Prefix == "" {
		o.oldOfficial(system)
	}
}

// storage judges file systems, snapshots and buckets.
func (o online) storage() {
	vpc := o.Subnets[o.root.At("HeadNode.Networking.SubnetId").Text()].VPC
	for _, v := range o.named("aws/file-system") {
		f, ok := o.FileSystems[v.Text()]
		switch {
		case !ok:
		case f.State != "" && !strings.EqualFold(f.State, "available") && f.State != "in-use":
			v.Errorf("storage/state", "%s is %s", v.Text(), f.State)
		case vpc != "" && f.VPC != "" && f.VPC != vpc:
			v.Errorf("storage/vpc", "%s is in VPC %s, and the cluster is in %s", v.Text(), f.VPC, vpc)
		}
	}
	for _, s := range o.root.Key("SharedStorage").Items() {
		for _, d := range s.At("FsxLustreSettings.DataRepositoryAssociations").Items() {
			path := d.Key("DataRepositoryPath")
			if b, ok := o.Buckets[bucketOf(path.Text())]; ok && path.Given() && b.Region != o.Region {
				path.Errorf("lustre/bucket-region", "bucket %s is in %s: a file system in %s can be linked to buckets of its own region", bucketOf(path.Text()), b.Region, o.Region)
			}
		}
	}
	if why, no := o.Unasked["aws/lustre"]; no {
		if l := lustres(o.root); len(l) > 0 {
			l[0].Key("DeploymentType").Blindf("aws/lustre", "the deployment types that %s sells are not looked up: %s", o.Region, why)
		}
		return
	}
	for _, l := range lustres(o.root) {
		kind := l.Key("DeploymentType")
		if !slices.Contains(o.Lustre, kind.Text()) {
			at := kind
			if !at.Present() {
				at = l
			}
			at.Errorf("lustre/region", "%s does not sell file systems of type %s", o.Region, kind.Text()).
				WithHint("it sells %s", in(o.Lustre))
		}
	}
}
