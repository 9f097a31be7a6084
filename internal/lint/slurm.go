package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// slurmRules are the rules about Slurm's settings that the check of a file's form does
// not have. They are ParallelCluster's.
func slurmRules(scheduling spec.View) {
	settings := scheduling.Key("SlurmSettings")
	for _, line := range settings.Key("CustomSlurmSettings").Items() {
		if !accountingSetting(settings, line) {
			ownSetting(line)
		}
		nodeName(line)
		otherFile(line)
	}
	for _, q := range scheduling.Key("SlurmQueues").Items() {
		priorities(q)
	}
}

// accountingSetting finds settings that follow from Database, and tells whether it did
// (CustomSlurmSettingsValidator). Lines of several settings define nodes and partitions,
// and are not looked at.
func accountingSetting(settings, line spec.View) bool {
	if !settings.Key("Database").Present() || len(line.Entries()) != 1 {
		return false
	}
	switch e := line.Entries()[0]; strings.ToLower(e.Key) {
	case "accountingstoragetype", "accountingstoragehost", "accountingstorageport", "accountingstorageuser", "jobacctgathertype":
		e.Value.Errorf("slurm/accounting", "%s cannot be set beside Database", e.Key).
			WithHint("it follows from Database; remove it").WithFix(line.Remove())
		return true
	}
	return false
}

// ownSetting says of settings that ParallelCluster passes on, and a cluster on one machine
// has of its own.
func ownSetting(line spec.View) {
	if len(line.Entries()) != 1 {
		return
	}
	if e := line.Entries()[0]; spec.OwnSetting(e.Key) {
		e.Value.Infof("slurm/own", "ParallelCluster takes %s, and a rehearsal does not: clusters on one machine have their own", e.Key).
			WithHint("remove it from a copy of the file for `muster up --on local`")
	}
}

// otherFiles are settings of Slurm's other files (cgroup.conf(5), job_container.conf(5)), which slurm.conf refuses.
var otherFiles = map[string]string{
	"allowedramspace": "cgroup.conf", "allowedswapspace": "cgroup.conf", "cgroupautomount": "cgroup.conf", "cgroupmountpoint": "cgroup.conf",
	"cgroupplugin": "cgroup.conf", "constraincores": "cgroup.conf", "constraindevices": "cgroup.conf", "constrainramspace": "cgroup.conf",
	"constrainswapspace": "cgroup.conf", "maxrampercent": "cgroup.conf", "maxswappercent": "cgroup.conf", "memoryswappiness": "cgroup.conf",
	"minramspace": "cgroup.conf", "signalchildrenprocesses": "cgroup.conf",
	"autobasepath": "job_container.conf", "basepath": "job_container.conf", "initscript": "job_container.conf",
}

// otherFile finds settings that slurmctld does not start with.
func otherFile(line spec.View) {
	for _, e := range line.Entries() {
		if file := otherFiles[strings.ToLower(e.Key)]; file != "" && len(line.Entries()) == 1 {
			e.Value.Errorf("slurm/other-file", "slurmctld does not start with %s, which is a setting of %s", e.Key, file).
				WithHint("remove it: these settings go into slurm.conf").WithFix(line.Remove())
		}
	}
}

// nodeName finds names of the user's own nodes that ParallelCluster's daemons
// would take for theirs (CustomSlurmNodeNamesValidator).
func nodeName(line spec.View) {
	for _, e := range line.Entries() {
		name := e.Value.Text()
		if strings.EqualFold(e.Key, "NodeName") && slurm.LooksManaged(name) {
			e.Value.Errorf("slurm/node-name", "%q looks like the name of one of ParallelCluster's nodes", name).
				WithHint("choose a name without -st- and -dy-")
		}
	}
}

// priorities finds static nodes that Slurm takes after dynamic ones of the same
// queue, so that nodes are started while others are idle
// (SlurmNodePrioritiesWarningValidator). Low numbers are taken first.
func priorities(q spec.View) {
	var static, dynamic []spec.View
	for _, r := range q.Key("ComputeResources").Items() {
		low, high := r.Key("MinCount"), r.Key("MaxCount")
		if low.Int() > 0 {
			static = append(static, r.Key("StaticNodePriority"))
		}
		if high.Int() > low.Int() {
			dynamic = append(dynamic, r.Key("DynamicNodePriority"))
		}
	}
	if len(static) == 0 || len(dynamic) == 0 {
		return
	}
	byNumber := func(a, b spec.View) int { return a.Int() - b.Int() }
	last, first := slices.MaxFunc(static, byNumber), slices.MinFunc(dynamic, byNumber)
	if last.Int() < first.Int() {
		return
	}
	at := last
	if !at.Present() {
		at = first
	}
	at.Warnf("slurm/priority", "queue %s has static nodes of priority %d and dynamic ones of %d: idle nodes wait while others are started",
		q.Key("Name").Text(), last.Int(), first.Int()).
		WithHint("low numbers are taken first: give static nodes lower ones than dynamic nodes")
}
