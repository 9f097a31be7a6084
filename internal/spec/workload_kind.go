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
