package spec

// otherKind reports, and says, that a file which is read as a cluster file is a workload file: all keys of its
// top level are that one's. What else is wrong with it as a cluster file is of no use to anybody then.
func (d *document) otherKind() bool {
	if d.root.kind != mapping || len(d.root.entries) == 0 {
		return false
	}
	keys := workloadSchema().root
	for _, e := range d.root.entries {
		if keys.children[e.key] == nil {
			return false
		}
	}
	d.errorAt(d.at(d.root.line, d.root.column), "file/kind", "", "this is a workload file, not a cluster file").
		WithHint("give the cluster file: the muster.yaml beside it is read with it, another one by --workload")
	return true
}

// isCluster reports, and says, that a file which is read by another schema is a cluster file: it has the two keys that each of these has.
func (d *document) isCluster(read *schema) bool {
	if d.root.kind != mapping {
		return false
	}
	for _, key := range []string{"HeadNode", "Scheduling"} {
		if d.root.entry(key) == nil || read.root.children[key] != nil {
			return false
		}
	}
	d.errorAt(d.at(d.root.line, d.root.column), "file/kind", "", "this is a cluster file").
		WithHint("`muster check` and `muster up` take it")
	return true
}
