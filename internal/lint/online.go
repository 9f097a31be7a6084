package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/spec"
)

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
	o.roles()
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
		switch ok, wrong := o.Has(s.code, name); {
		case !ok && o.Hidden[s.code][name] != "":
			v.Blindf(s.code, "%s %s is not looked up: %s", s.one, name, o.Hidden[s.code][name])
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
