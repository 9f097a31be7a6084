package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/inventory"
	"github.com/muster-hpc/muster/internal/spec"
)

// Wanted is what AWS is to be asked about a file.
func Wanted(f *spec.File) inventory.Wanted {
	w := inventory.Wanted{Names: map[string][]string{}}
	root, ok := f.Root()
	if !ok {
		return w
	}
	w.Region = root.Key("Region").Text()
	for _, s := range subjects() {
		for _, v := range s.named(root) {
			w.Names[s.code] = append(w.Names[s.code], v.Text())
		}
	}
	all := resources(root)
	for _, v := range typesNamed(root) {
		w.Names["aws/instance-type"] = append(w.Names["aws/instance-type"], v.Text())
	}
	for _, id := range reservations(all).order {
		w.Names["aws/reservation"] = append(w.Names["aws/reservation"], id.Text())
	}
	for _, d := range demands(root, all) {
		w.Quotas = append(w.Quotas, d.quota)
	}
	for _, s := range lustres(root) {
		w.Lustre = append(w.Lustre, s.Key("DeploymentType").Text())
	}
	slices.Sort(w.Lustre)
	w.Lustre = slices.Compact(w.Lustre)
	return w
}

// lustres are the settings of file systems for Lustre that are to be made.
func lustres(root spec.View) []spec.View {
	var all []spec.View
	for _, s := range root.Key("SharedStorage").Items() {
		l := s.Key("FsxLustreSettings")
		if s.Key("StorageType").Text() == "FsxLustre" && !l.Key("FileSystemId").Present() && l.Key("DeploymentType").Sound() {
			all = append(all, l)
		}
	}
	return all
}

// Online is Cluster with AWS's answers: what would be blind is judged. What could
// not be asked stays blind, and says why.
func Online(f *spec.File, inv inventory.Inventory) {
	root, ok := f.Root()
	if !ok {
		return
	}
	all := offline(root, f.Level())
	o := online{Inventory: inv, root: root, level: f.Level(), all: all}
	for _, s := range subjects() {
		if o.asked(s) {
			o.exist(s)
		}
	}
	o.network()
	o.machines()
	o.capacity()
	o.things()
	o.account()
}

// online holds a file against an inventory.
type online struct {
	inventory.Inventory
	root  spec.View
	level spec.Level
	all   []resource
}

// asked tells whether a subject was asked for. If not, and the file names one, it
// says why.
func (o online) asked(s subject) bool {
	why, no := o.Unasked[s.code]
	if no {
		s.report(o.root, "could not be asked: "+why)
	}
	return !no
}

// exist says which things of a subject are not there.
func (o online) exist(s subject) {
	for _, v := range s.named(o.root) {
		name := v.Text()
		if s.code == "aws/bucket" {
			name = bucketOf(name)
		}
		switch ok, wrong := o.has(s.code, name); {
		case !ok:
			v.Errorf("aws/missing", "%s %s does not exist in %s, or account %s may not see it", s.one, name, o.Region, o.Account).
				WithHint("%s", s.remedy())
		case wrong != "":
			v.Errorf("aws/unusable", "%s %s cannot be used: %s", s.one, name, wrong)
		}
	}
}

// remedy is what to do about a thing that is not there.
func (s subject) remedy() string {
	switch s.code {
	case "aws/subnet":
		return "without SubnetId and SubnetIds muster makes the network itself"
	case "aws/key-pair":
		return "without KeyName muster uses the key in ~/.ssh"
	case "aws/url":
		return "the machine would fail to start: upload the script, or mend its address"
	}
	return "mend the name, or the region and account that you are in"
}

// has tells whether a thing exists, and what is wrong with it.
func (o online) has(code, name string) (ok bool, wrong string) {
	switch code {
	case "aws/subnet":
		_, ok = o.Subnets[name]
	case "aws/security-group":
		_, ok = o.SecurityGroups[name]
	case "aws/elastic-ip":
		_, ok = o.Addresses[name]
	case "aws/placement-group":
		_, ok = o.PlacementGroups[name]
	case "aws/key-pair":
		_, ok = o.KeyPairs[name]
	case "aws/image":
		_, ok = o.Images[name]
	case "aws/file-system":
		_, ok = o.FileSystems[name]
	case "aws/snapshot":
		_, ok = o.Snapshots[name]
	case "aws/bucket":
		_, ok = o.Buckets[name]
	case "aws/hosted-zone":
		_, ok = o.HostedZones[name]
	default:
		wrong, ok = o.Others[code][name]
	}
	return ok, wrong
}

// zones are the availability zones of subnets that exist.
func (o online) zones(subnets []spec.View) []string {
	var zones []string
	for _, v := range subnets {
		if s, ok := o.Subnets[v.Text()]; ok && !slices.Contains(zones, s.Zone) {
			zones = append(zones, s.Zone)
		}
	}
	return zones
}

// in names zones for people.
func in(zones []string) string { return strings.Join(zones, ", ") }
