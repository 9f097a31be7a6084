package manifest

// MetricNamespace is CloudWatch's namespace of what the head node says of itself.
// Its metrics have the dimension MetricCluster with the cluster's name; the
// stack's alarms and its dashboard look at them.
const (
	MetricNamespace = "muster"
	MetricCluster   = "cluster"
	MetricMemory    = "memory_used_percent"
	MetricDisk      = "disk_used_percent"
)
