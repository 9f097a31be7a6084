package spec

// changes say what ParallelCluster's update policies need, each as the end of
// "it can be changed ...".
var changes = map[string]string{
	"COMPUTE_AND_LOGIN_NODES_STOP":     "with the compute and the login nodes stopped",
	"COMPUTE_FLEET_STOP":               "with the compute nodes stopped",
	"COMPUTE_FLEET_STOP_ON_REMOVE":     "by adding at any time, else with the compute nodes stopped",
	"EXTRA_CHEF_ATTRIBUTES":            "in a few attributes (reconfigure_timeout, cluster_readiness_check_...)",
	"IGNORED":                          "at any time",
	"LOGIN_NODES_POOLS_UPDATE_POLICY":  "by adding at any time, else with the login nodes stopped",
	"LOGIN_NODES_POOL_STOP":            "with the pool's login nodes stopped",
	"LOGIN_NODES_STOP":                 "with the login nodes stopped",
	"MANAGED_FSX":                      "with the compute nodes stopped or a QueueUpdateStrategy, unless ParallelCluster made an FSx for Lustre",
	"MANAGED_PLACEMENT_GROUP":          "with the compute nodes stopped, or with a QueueUpdateStrategy if no group that ParallelCluster made goes away",
	"QUEUE_UPDATE_STRATEGY":            "with the compute nodes stopped, or with QueueUpdateStrategy DRAIN or TERMINATE",
	"READ_ONLY_RESOURCE_BUCKET":        "never; the first value stays",
	"RESIZE_UPDATE_STRATEGY_ON_REMOVE": "upwards at any time, downwards with the compute nodes stopped or with QueueUpdateStrategy TERMINATE",
	"SHARED_STORAGE_UPDATE_POLICY":     "for EFS and FSx made elsewhere at any time; else with login and compute nodes stopped, or a QueueUpdateStrategy for the latter; never for /home",
	"SUPPORTED":                        "at any time",
	"SUPPORTED_UNLESS_ADC":             "at any time, but not in isolated regions (us-iso...)",
	"UNSUPPORTED":                      "never: it takes a new cluster",
}

// Change says when the key can be changed in a cluster that exists: the end of
// "it can be changed ...".
func (k Key) Change() string {
	text, ok := changes[k.UpdatePolicy]
	if !ok {
		panic("schema table: update policy " + k.UpdatePolicy)
	}
	return text
}

// Since says which levels have the key, if not all do: "from 3.15 on".
func (k Key) Since() string { return parseRange(k.Levels).String() }

// String is the range in words; empty for all levels.
func (r levelRange) String() string {
	switch {
	case r.first != 0 && r.last != 0:
		return "from " + r.first.String() + " to " + r.last.String()
	case r.first != 0:
		return "from " + r.first.String() + " on"
	case r.last != 0:
		return "up to " + r.last.String()
	}
	return ""
}
