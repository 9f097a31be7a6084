package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/catalog"
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
			name := v.Text()
			if s.code == "aws/bucket" {
				name = bucketOf(name)
			}
			w.Names[s.code] = append(w.Names[s.code], name)
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
	for _, r := range rooms(root, all) {
		w.Quotas = append(w.Quotas, r.quota)
	}
	for _, v := range (subject{places: []string{"SharedStorage[].EfsSettings.FileSystemId"}}).named(root) {
		w.EFS = append(w.EFS, v.Text())
	}
	for _, s := range lustres(root) {
		w.Lustre = append(w.Lustre, s.Key("DeploymentType").Text())
	}
	w.Lustre, w.Templates = once(w.Lustre), templates(root)
	w.Official, w.Roles, w.Parts = official(root, f.Level()), rolesOf(root), parts(root)
	if prefix := root.At("Iam.ResourcePrefix").Text(); strings.Contains(prefix, "/") {
		w.RolePath = prefix[:strings.LastIndexByte(prefix, '/')+1]
	}
	return w
}

// once is a list in order, without repetitions.
func once(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// lustres are the settings of file systems for Lustre that are to be made.
func lustres(root spec.View) []spec.View {
	var all []spec.View
	for _, s := range root.Key("SharedStorage").Items() {
		l := s.Key("FsxLustreSettings")
		if spec.KindOf(s) == spec.Lustre && !l.Key("FileSystemId").Present() && l.Key("DeploymentType").Sound() {
			all = append(all, l)
		}
	}
	return all
}

// templates are the versions of launch templates that the file names. Where a version is
// none, the template is looked for by the one that each has.
func templates(root spec.View) []string {
	var all []string
	for _, v := range places(root, "Scheduling.SlurmQueues[].ComputeResources[].LaunchTemplateOverrides") {
		id, version := v.Key("LaunchTemplateId"), "$Default"
		if own := v.Key("Version"); own.Given() {
			version = own.Text()
		}
		if id.Given() {
			all = append(all, id.Text()+":"+version)
		}
	}
	return once(all)
}

// official are ParallelCluster's own images that machines start from: those of all
// that have no image of their own.
func official(root spec.View, level spec.Level) inventory.Official {
	filters := root.At("DevSettings.AmiSearchFilters")
	o := inventory.Official{Level: level.String(), OS: root.At("Image.Os").Text(), Owner: filters.Key("Owner").Text(), Tags: map[string]string{}}
	if slices.ContainsFunc(spec.Keys(level), func(k spec.Key) bool { return k.Path == "DevSettings.AmiSearchFilters.NamePrefix" }) {
		o.Prefix = filters.Key("NamePrefix").Text()
	}
	for _, t := range filters.Key("Tags").Items() {
		o.Tags[t.Key("Key").Text()] = t.Key("Value").Text()
	}
	if root.At("Image.CustomAmi").Present() || o.OS == "" {
		return o
	}
	for i, group := range nodeGroups {
		for _, v := range places(root, group) {
			if in, ok := catalog.Lookup(firstType(v, typePlaces[i])); ok && !v.At("Image.CustomAmi").Present() {
				o.Arches = append(o.Arches, in.Arch)
			}
		}
	}
	o.Arches = once(o.Arches)
	return o
}

// typePlaces are where the instance types are below each of nodeGroups.
var typePlaces = [][]string{{"InstanceType"}, {"InstanceType"}, {"ComputeResources[].InstanceType", "ComputeResources[].Instances[].InstanceType"}}

// firstType is the first instance type of a head node, a pool or a queue.
func firstType(v spec.View, below []string) string {
	for _, place := range below {
		for _, t := range places(v, place) {
			if t.Text() != "" {
				return t.Text()
			}
		}
	}
	return ""
}

// rolesOf are the file's own roles and profiles, with the machines that have them.
func rolesOf(root spec.View) map[string][]string {
	all := map[string][]string{}
	for i, kind := range []string{"head", "login", "compute"} {
		for _, v := range places(root, nodeGroups[i]) {
			for _, key := range []string{"Iam.InstanceRole", "Iam.InstanceProfile"} {
				if own := v.At(key); own.Given() && !slices.Contains(all[own.Text()], kind) {
					all[own.Text()] = append(all[own.Text()], kind)
				}
			}
		}
	}
	return all
}

// parts are what the cluster is made of, as far as rights differ.
func parts(root spec.View) []string {
	head, dns := root.Key("HeadNode"), root.At("Scheduling.SlurmSettings.Dns")
	all := storageParts(root)
	for _, p := range []struct {
		name string
		has  bool
	}{
		{"network", !head.At("Networking.SubnetId").Present()},
		{"bucket", !root.Key("CustomS3Bucket").Present()},
		{"address", head.At("Networking.ElasticIp").Present() && head.At("Networking.ElasticIp").Text() != "false"},
		{"key", !head.At("Ssh.KeyName").Present()},
		{"own-key", head.At("Ssh.KeyName").Present()},
		{"login", root.Key("LoginNodes").Present()},
		{"zone", !dns.Key("DisableManagedDns").Bool() && !dns.Key("HostedZoneId").Present()},
		{"own-zone", dns.Key("HostedZoneId").Present()},
		{"logs", root.At("Monitoring.Logs.CloudWatch.Enabled").Bool()},
		{"dashboard", root.At("Monitoring.Dashboards.CloudWatch.Enabled").Bool()},
		{"alarms", root.At("Monitoring.Alarms.Enabled").Bool()},
		{"nested", root.Key("AdditionalResources").Present()},
		{"placement", placed(root)},
		{"reservations", len(reservations(resources(root)).order) > 0},
		{"templates", len(subject{places: []string{"Scheduling.SlurmQueues[].ComputeResources[].LaunchTemplateOverrides.LaunchTemplateId"}}.named(root)) > 0},
		{"profiles", len(subject{places: ofNodes("Iam.InstanceProfile")}.named(root)) > 0},
	} {
		if p.has {
			all = append(all, p.name)
		}
	}
	return all
}

// placed says that a placement group is to be made.
func placed(root spec.View) bool {
	for _, place := range []string{"Scheduling.SlurmQueues[].Networking.PlacementGroup.Enabled", "Scheduling.SlurmQueues[].ComputeResources[].Networking.PlacementGroup.Enabled"} {
		if slices.ContainsFunc(places(root, place), func(v spec.View) bool { return v.Bool() }) {
			return true
		}
	}
	return false
}

// storageParts are the parts that file systems are.
func storageParts(root spec.View) []string {
	var all []string
	for _, s := range root.Key("SharedStorage").Items() {
		switch spec.KindOf(s) {
		case spec.EBS:
			all = append(all, "ebs")
		case spec.EFS:
			all = append(all, made(s.At("EfsSettings.FileSystemId"), "efs"))
		case spec.Lustre:
			all = append(all, made(s.At("FsxLustreSettings.FileSystemId"), "fsx"))
			if s.At("FsxLustreSettings.DataRepositoryAssociations").Present() {
				all = append(all, "links")
			}
		default:
			all = append(all, "own-fsx")
		}
	}
	return once(all)
}

// made is a part, or the part of what is there already.
func made(id spec.View, part string) string {
	if id.Present() {
		return "own-" + part
	}
	return part
}
