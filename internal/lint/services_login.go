package lint

import (
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// maxPools is how many pools of login nodes ParallelCluster takes.
const maxPools = 10

// loginNodes holds ParallelCluster's MaxCountValidator and DuplicateNameValidator
// for login nodes.
func loginNodes(root spec.View, level spec.Level) {
	pools := root.At("LoginNodes.Pools").Items()
	if len(pools) > maxPools {
		pools[maxPools].Errorf("login/limit", "there are %d pools of login nodes; ParallelCluster takes %d", len(pools), maxPools).
			WithHint("raise Count of one pool instead of adding another")
	}
	first := map[string]spec.View{}
	for _, pool := range pools {
		poolArchitecture(root, pool)
		poolKey(pool.At("Ssh.KeyName"), level)
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

// poolArchitecture holds that login nodes can run their image. Without an image of
// their own they have the cluster's, which is for the head node's architecture.
// ParallelCluster does not look; such nodes do not start.
func poolArchitecture(root, pool spec.View) {
	kind := pool.Key("InstanceType")
	if pool.At("Image.CustomAmi").Present() || root.At("HeadNode.Image.CustomAmi").Present() && root.At("Image.CustomAmi").Present() {
		return
	}
	head, ok := catalog.Lookup(root.At("HeadNode.InstanceType").Text())
	in, found := catalog.Lookup(kind.Text())
	if ok && found && kind.Present() && head.Arch != in.Arch {
		kind.Errorf("login/architecture", "%s is %s, and the head node's %s is %s", in.Type, processor(in.Arch), head.Type, processor(head.Arch)).
			WithHint("take a type of the head node's architecture, or give the pool Image: {CustomAmi: ami-...}")
	}
}

// poolKey holds the LoginNodesSshKeyNameDeprecatedValidator of level 3.14. Later
// levels do not have the key any more.
func poolKey(name spec.View, level spec.Level) {
	if level == 14 && filled(name) {
		name.Warnf("login/key-name", "login nodes have the head node's key; KeyName is not read").
			WithHint("remove it").WithFix(name.Remove())
	}
}
