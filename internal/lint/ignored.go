package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// ignored is a part of a cluster file that asks for something which muster does not
// set up on AWS, and what follows from that.
type ignored struct {
	view spec.View
	what string
}

// allIgnored are the parts of a file that have no effect on AWS.
func allIgnored(root spec.View) []ignored {
	var all []ignored
	add := func(v spec.View, what string) {
		if v.Present() && v.Text() != "false" {
			all = append(all, ignored{v, what})
		}
	}
	add(root.Key("DirectoryService"), "users come from no directory")
	add(root.At("AdditionalPackages.IntelSoftware"), "Intel's libraries are not installed")
	add(root.At("DevSettings.Cookbook.ChefCookbook"), "no cookbook is run")
	add(root.At("DevSettings.Cookbook.ExtraChefAttributes"), "no cookbook is run")
	add(root.At("DevSettings.NodePackage"), "ParallelCluster's daemons do not run")
	add(root.At("DevSettings.ClusterTemplate"), "the templates are muster's own")
	add(root.At("Scheduling.SlurmSettings.Dns.UseEc2Hostnames"), "machines have the names of their nodes")
	people := slices.Concat([]spec.View{root.Key("HeadNode")}, root.At("LoginNodes.Pools").Items())
	for _, v := range people {
		add(v.At("Dcv.Enabled"), "there is no remote desktop")
	}
	for _, v := range slices.Concat(people, root.At("Scheduling.SlurmQueues").Items()) {
		add(v.At("Networking.Proxy"), "machines reach AWS without it")
	}
	return all
}

// Ignored says in words which parts of a file have no effect on AWS.
func Ignored(f *spec.File) []string {
	root, ok := f.Root()
	if !ok {
		return nil
	}
	var all []string
	for _, i := range allIgnored(root) {
		all = append(all, i.view.Path()+" of the cluster file has no effect: "+i.what)
	}
	return all
}

// noEffect warns of what ParallelCluster sets up and muster does not.
func noEffect(root spec.View) {
	for _, i := range allIgnored(root) {
		i.view.Warnf("file/no-effect", "muster does not set this up: %s", i.what).WithHint("remove it, or set it up yourself by CustomActions")
	}
}

// Why muster cannot make what a file asks for.
const (
	oldSystemd = "its systemd (219) knows no way to give slurmd a control group that may be divided among jobs, and its MariaDB (5.5) no users without passwords"
	oneDomain  = "nothing sets up its NVLink domain (IMEX) and Slurm's blocks of nodes, without which GPUs of different nodes do not reach each other"
)

// notMade refuses what ParallelCluster makes and muster would make into nodes that never
// run a job.
func notMade(root spec.View, all []resource) {
	if os := root.At("Image.Os"); os.Given() && os.Text() == "alinux2" {
		os.Errorf("file/not-made", "muster does not run alinux2 on AWS: %s", oldSystemd).WithHint("write Os: alinux2023, and check your scripts on it")
	}
	for _, x := range all {
		for _, item := range append(x.list.Items(), x.view) {
			at := item.Key("InstanceType")
			if at.Given() && strings.HasPrefix(at.Text(), "p6e-gb200.") {
				at.Errorf("file/not-made", "muster does not run %s: %s", at.Text(), oneDomain).WithHint("write p6-b200.48xlarge, or use ParallelCluster for it")
			}
		}
	}
}
