package stack

import (
	"slices"

	"github.com/muster-hpc/muster/internal/spec"
)

// Ignored are parts of a cluster file that ask for something which muster does not
// set up on AWS, each with what follows from that.
func Ignored(file spec.View) []string {
	var all []string
	add := func(v spec.View, what string) {
		if v.Present() && v.Text() != "false" {
			all = append(all, v.Path()+" of the cluster file has no effect: "+what)
		}
	}
	add(file.Key("DirectoryService"), "users come from no directory")
	add(file.At("AdditionalPackages.IntelSoftware"), "Intel's libraries are not installed")
	add(file.At("DevSettings.Cookbook.ChefCookbook"), "no cookbook is run")
	people := slices.Concat([]spec.View{file.Key("HeadNode")}, file.At("LoginNodes.Pools").Items())
	for _, v := range people {
		add(v.At("Dcv.Enabled"), "there is no remote desktop")
	}
	for _, v := range slices.Concat(people, file.At("Scheduling.SlurmQueues").Items()) {
		add(v.At("Networking.Proxy"), "machines reach AWS without it")
	}
	return all
}
