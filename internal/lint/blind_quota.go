package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// demand is how many vCPUs a file takes from one of EC2's quotas.
type demand struct {
	quota string
	vcpus int
}

// quota says how many vCPUs the account's quotas have to allow. Instances of a
// Capacity Block do not count.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
func quota(root spec.View, all []resource, why string) {
	needs := demands(root, all)
	if len(needs) == 0 {
		return
	}
	var each []string
	for _, d := range needs {
		each = append(each, fmt.Sprintf("%d vCPUs of %s", d.vcpus, d.quota))
	}
	root.Key("Scheduling").Blindf("aws/quota", "the account's quotas are not looked up: the file needs %s", strings.Join(each, ", ")).
		WithHint("%s; `aws service-quotas list-service-quotas --service-code ec2` lists them", why)
}

// demands are what a file needs of each quota, the largest first.
func demands(root spec.View, all []resource) []demand {
	vcpus := map[string]int{}
	add := func(at spec.View, capacityType string, count int) {
		if in, ok := catalog.Lookup(at.Text()); ok && at.Present() && capacityType != block {
			vcpus[quotaOf(in.Type, capacityType)] += in.VCPUs * count
		}
	}
	add(root.At("HeadNode.InstanceType"), "ONDEMAND", 1)
	for _, pool := range root.At("LoginNodes.Pools").Items() {
		add(pool.Key("InstanceType"), "ONDEMAND", pool.Key("Count").Int())
	}
	for _, x := range all {
		if len(x.kinds) == 0 {
			continue
		}
		largest := slices.MaxFunc(x.kinds, func(a, b kind) int { return a.VCPUs - b.VCPUs })
		add(largest.at, x.capacityType(), x.view.Key("MaxCount").Int())
	}
	var needs []demand
	for name, n := range vcpus {
		needs = append(needs, demand{name, n})
	}
	slices.SortStableFunc(needs, func(a, b demand) int { return cmp.Or(b.vcpus-a.vcpus, strings.Compare(a.quota, b.quota)) })
	return needs
}

// quotaOf is the quota that a type counts against, by AWS's name.
func quotaOf(instanceType, capacityType string) string {
	letters := instanceType[:strings.IndexAny(instanceType, "0123456789-.")]
	class := "Standard"
	switch letters {
	case "p", "x", "f", "inf", "trn", "hpc", "dl":
		class = strings.ToUpper(letters[:1]) + letters[1:]
	case "g", "gr", "vt":
		class = "G and VT"
	case "u":
		class = "High Memory"
	}
	switch class {
	case "Hpc":
		class = "HPC"
	case "Dl":
		class = "DL"
	}
	if capacityType == "SPOT" {
		if class == "P" {
			class = spotP(instanceType)
		}
		return class + " spot instances"
	}
	return class + " on-demand instances"
}

// spotP are the generations of P machines that have spot quotas of their own.
func spotP(instanceType string) string {
	switch generation := instanceType[1:2]; generation {
	case "2", "3", "4":
		return "P4, P3 and P2"
	default:
		return "P" + generation
	}
}
