package fleet

// Addresses are the nodes of which Slurm has another address than their instances,
// and the one that it should have. A node that is off answers nowhere: its own
// name stands for that.
func Addresses(w World) map[string]string {
	has := make(map[string]string, len(w.Instances))
	for _, i := range w.Instances {
		if i.Address.IsValid() {
			has[i.Node] = i.Address.String()
		}
	}
	change := map[string]string{}
	for _, n := range w.Nodes {
		at, alive := has[n.Name]
		switch {
		case n.Address == "":
		case alive && at != n.Address && (n.State == PoweringUp || n.State == Up):
			change[n.Name] = at
		case !alive && n.State == PoweredDown && n.Address != n.Name:
			change[n.Name] = n.Name
		}
	}
	return change
}
