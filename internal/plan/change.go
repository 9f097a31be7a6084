package plan

import (
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// Change is a key that differs between the file of a cluster that exists and a new
// one, and what the change needs by ParallelCluster's update policies.
type Change struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
	Need Need   `json:"need"`
	// Why is ParallelCluster's rule in words, Instead what to do where it stands
	// against the change.
	Why     string `json:"why"`
	Instead string `json:"instead,omitempty"`
}

// Values are what the key was and is to be.
func (c Change) Values() string {
	switch {
	case c.Old == "":
		return "new: " + c.New
	case c.New == "":
		return "was: " + c.Old
	}
	return c.Old + " -> " + c.New
}

// Need is what a change needs.
type Need string

// Needs of changes.
const (
	// Nothing: the change takes place while jobs run.
	Nothing Need = "nothing"
	// Replaced: nodes are drained or ended, as QueueUpdateStrategy says, and come back new.
	Replaced Need = "nodes replaced"
	// Stopped: no compute node may run.
	Stopped Need = "fleet stopped"
	// Login: no login node may run.
	Login Need = "login nodes stopped"
	// Never: it takes a new cluster.
	Never Need = "never"
)

// stopFleet is how to stop the fleet.
const stopFleet = "stop the fleet with `muster fleet stop`, or set QueueUpdateStrategy under Scheduling/SlurmSettings"

// Changes compares the file of a cluster with a new one.
func Changes(before, after *spec.File) []Change {
	was, is := before.Model(), after.Model()
	c := comparison{
		differences: spec.Differences(before, after), strategy: is.Scheduling.Slurm.UpdateStrategy,
		before: was.SharedStorage, after: is.SharedStorage,
	}
	var all []Change
	for _, d := range c.differences {
		change := Change{Path: d.Path, Old: d.Old, New: d.New, Why: "it can be changed " + d.Key.Change()}
		change.Need, change.Instead = c.judge(d)
		all = append(all, change)
	}
	return all
}

type comparison struct {
	differences   []spec.Difference
	strategy      spec.UpdateStrategy
	before, after []spec.SharedStorage
}

// judge says what a change needs. The rules are those of ParallelCluster 3.16.1,
// pcluster/config/update_policy.py.
func (c comparison) judge(d spec.Difference) (need Need, instead string) {
	switch d.Key.UpdatePolicy {
	case "SUPPORTED", "IGNORED", "SUPPORTED_UNLESS_ADC", "EXTRA_CHEF_ATTRIBUTES":
		return Nothing, ""
	case "UNSUPPORTED":
		return Never, "take the cluster down and up again with the new file; its file systems stay"
	case "READ_ONLY_RESOURCE_BUCKET":
		return Never, "leave it as it was"
	case "COMPUTE_FLEET_STOP", "COMPUTE_AND_LOGIN_NODES_STOP":
		return Stopped, "stop the fleet with `muster fleet stop`"
	case "LOGIN_NODES_STOP", "LOGIN_NODES_POOL_STOP":
		return Login, "set Count: 0 for the pool first"
	case "LOGIN_NODES_POOLS_UPDATE_POLICY":
		if d.Added() {
			return Nothing, ""
		}
		return Login, "set Count: 0 for the pool first"
	case "COMPUTE_FLEET_STOP_ON_REMOVE":
		if d.Added() {
			return Nothing, ""
		}
		return Stopped, "stop the fleet with `muster fleet stop`"
	case "SHARED_STORAGE_UPDATE_POLICY":
		return c.storage(d)
	}
	return c.nodes(d)
}

// nodes are the policies that QueueUpdateStrategy can meet.
func (c comparison) nodes(d spec.Difference) (need Need, instead string) {
	inQueue := strings.HasPrefix(d.Path, "Scheduling.SlurmQueues")
	switch d.Key.UpdatePolicy {
	case "MANAGED_FSX":
		if name := c.lustre(); name != "" {
			return Never, "leave it: ParallelCluster would make the file system " + name + " anew"
		}
		if grown(d) {
			return Nothing, ""
		}
	case "MANAGED_PLACEMENT_GROUP":
		if c.strategy != spec.UpdateStopped && d.Old != "true" {
			return Replaced, ""
		}
		return Stopped, "stop the fleet with `muster fleet stop`"
	case "RESIZE_UPDATE_STRATEGY_ON_REMOVE":
		switch {
		case d.Added(), c.larger(d):
			return Nothing, ""
		case c.strategy == spec.UpdateTerminate && inQueue:
			return Replaced, ""
		}
		return Stopped, "stop the fleet with `muster fleet stop`, or set QueueUpdateStrategy: TERMINATE, which ends jobs on the nodes that go"
	}
	if inQueue && c.strategy != spec.UpdateStopped {
		return Replaced, ""
	}
	return Stopped, stopFleet
}

// larger says that MaxCount grows, or MinCount with it.
func (c comparison) larger(d spec.Difference) bool {
	by := growth(d)
	if strings.HasSuffix(d.Path, ".MaxCount") {
		return by >= 0
	}
	beside := strings.TrimSuffix(d.Path, ".MinCount") + ".MaxCount"
	for _, other := range c.differences {
		if other.Path == beside {
			return growth(other) >= by
		}
	}
	return false
}

func growth(d spec.Difference) int {
	was, _ := strconv.Atoi(d.Old) // the files were checked
	is, _ := strconv.Atoi(d.New)
	return is - was
}

// grown says that all entries of the old list are in the new one.
func grown(d spec.Difference) bool {
	for item := range strings.SplitSeq(strings.Trim(d.Old, "[]"), ", ") {
		if item != "" && !strings.Contains(d.New, item) {
			return false
		}
	}
	return d.Old != ""
}

// lustre is a Lustre that the cluster makes and keeps.
func (c comparison) lustre() string {
	made := map[string]bool{}
	for _, s := range c.before {
		made[s.Name] = s.Kind == spec.Lustre && s.ExistingID == ""
	}
	for _, s := range c.after {
		if made[s.Name] {
			return s.Name
		}
	}
	return ""
}

// storage is the policy of SharedStorage: what was made elsewhere comes and goes at
// any time, /home never changes.
func (c comparison) storage(d spec.Difference) (need Need, instead string) {
	if !d.Entry {
		return Never, "leave the mount directory as it was"
	}
	from, name := c.after, d.New
	if d.Removed() {
		from, name = c.before, d.Old
	}
	for _, s := range from {
		switch {
		case s.Name != name:
		case s.MountDir == "/home":
			return Never, "/home cannot be changed: take the cluster down and up again with the new file"
		case s.Kind != spec.EBS && (!s.Kind.Makeable() || s.ExistingID != ""):
			return Nothing, ""
		}
	}
	if c.strategy != spec.UpdateStopped {
		return Replaced, ""
	}
	return Stopped, stopFleet
}
