package slurm

import (
	"slices"
	"strconv"
	"strings"
)

// Resource is a compute resource of a queue: a group of equal nodes.
type Resource struct{ Queue, Name string }

// String is the resource as users name it: queue/resource.
func (r Resource) String() string { return r.Queue + "/" + r.Name }

// NodeName is the name that ParallelCluster gives to a node, in its parts:
// QUEUE-st-RESOURCE-N of a static node and QUEUE-dy-RESOURCE-N of a dynamic one.
type NodeName struct {
	Resource
	Static bool
	// Number counts from 1.
	Number int
}

const staticMark, dynamicMark = "-st-", "-dy-"

func (n NodeName) String() string { return n.prefix() + strconv.Itoa(n.Number) }

// prefix is the name without its number.
func (n NodeName) prefix() string {
	mark := dynamicMark
	if n.Static {
		mark = staticMark
	}
	return n.Queue + mark + n.Name + "-"
}

// ParseNodeName takes a node's name apart. Queues and compute resources may have -st-
// and -dy- in their own names, and the text alone leaves open where the queue's ends:
// known says whether a reading is one of the cluster's nodes. Of several that are, the
// one with the longest queue is taken, as ParallelCluster does (parse_nodename of
// aws-parallelcluster-node, whose pattern is greedy).
func ParseNodeName(name string, known func(NodeName) bool) (NodeName, bool) {
	text := strings.TrimRight(name, "0123456789")
	number, err := strconv.Atoi(name[len(text):])
	text, hyphen := strings.CutSuffix(text, "-")
	if err != nil || !hyphen {
		return NodeName{}, false
	}
	for i := len(text) - len(staticMark); i >= 0; i-- {
		mark := text[i : i+len(staticMark)]
		if mark != staticMark && mark != dynamicMark {
			continue
		}
		n := NodeName{Resource{text[:i], text[i+len(mark):]}, mark == staticMark, number}
		if n.String() == name && known(n) {
			return n, true
		}
	}
	return NodeName{}, false
}

// LooksManaged tells whether a name, or a host list, has what marks the nodes that
// ParallelCluster gives their names.
func LooksManaged(name string) bool {
	return strings.Contains(name, staticMark) || strings.Contains(name, dynamicMark)
}

// Resource is the node's compute resource. What its name leaves open, Slurm knows: the
// node's partition is the queue, its features say first whether it is static, and the
// resource is one of them. A node of the user's own has no queue.
func (n Node) Resource() Resource {
	queue := func(p NodeName) bool { return slices.Contains(n.Partitions, p.Queue) }
	kind := func(p NodeName) bool { return queue(p) && (slices.Index(n.Features, "static") == 0) == p.Static }
	feature := func(p NodeName) bool { return kind(p) && slices.Contains(n.Features, p.Name) }
	for _, known := range []func(NodeName) bool{feature, kind, queue, func(NodeName) bool { return true }} {
		if p, ok := ParseNodeName(n.Name, known); ok {
			return p.Resource
		}
	}
	return Resource{Name: strings.TrimSuffix(strings.TrimRight(n.Name, "0123456789"), "-")}
}
