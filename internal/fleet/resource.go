package fleet

import "strings"

// Resource is a compute resource of a queue: a group of equal nodes.
type Resource struct{ Queue, Name string }

// String is the resource as users name it: queue/resource.
func (r Resource) String() string { return r.Queue + "/" + r.Name }

// ResourceOf reads a node's resource off its name, which is
// QUEUE-st-RESOURCE-N of a static node and QUEUE-dy-RESOURCE-N of a dynamic one.
// The partitions that the node is in tell where the queue's name ends.
func ResourceOf(node string, partitions []string) Resource {
	group := strings.TrimSuffix(strings.TrimRight(node, "0123456789"), "-")
	for _, kind := range []string{"-dy-", "-st-"} {
		for _, p := range partitions {
			if name, ok := strings.CutPrefix(group, p+kind); ok {
				return Resource{Queue: p, Name: name}
			}
		}
	}
	for _, kind := range []string{"-dy-", "-st-"} {
		if queue, name, ok := strings.Cut(group, kind); ok {
			return Resource{Queue: queue, Name: name}
		}
	}
	return Resource{Name: group}
}
