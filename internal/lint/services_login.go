package lint

import "github.com/muster-hpc/muster/internal/spec"

// maxPools is how many pools of login nodes ParallelCluster takes.
const maxPools = 10

// loginNodes holds ParallelCluster's MaxCountValidator, DuplicateNameValidator and
// DcvValidator for login nodes.
func loginNodes(root spec.View) {
	pools := root.At("LoginNodes.Pools").Items()
	if len(pools) > maxPools {
		pools[maxPools].Errorf("login/limit", "there are %d pools of login nodes; ParallelCluster takes %d", len(pools), maxPools).
			WithHint("raise Count of one pool instead of adding another")
	}
	first := map[string]spec.View{}
	for _, pool := range pools {
		desktop(pool.Key("Dcv"), pool.Key("InstanceType"))
		name := pool.Key("Name")
		if !filled(name) {
			continue
		}
		if before, twice := first[name.Text()]; twice {
			name.Errorf("login/duplicate", "the pool %s is here twice", quoted(name.Text())).
				WithHint("the first is in line %d; change or remove one of them", before.Line())
			continue
		}
		first[name.Text()] = name
	}
}
