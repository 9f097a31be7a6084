package lint

import (
	"fmt"
	"math"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// image holds ParallelCluster's OsCustomAmiValidator.
func image(root spec.View) {
	system, own := root.At("Image.Os"), root.At("Image.CustomAmi")
	if !system.Given() || own.Present() {
		return
	}
	switch system.Text() {
	case "rocky8", "rocky9":
		// What is missing is an image: the system is as good as any for the other rules.
		own.Errorf("image/none", "there is no image of ParallelCluster for %s", system.Text()).At(system.Place()).
			WithHint("build one with `pcluster build-image` and write Image: {CustomAmi: ami-...}, or take another system")
	}
}

// headNode has the rules about the head node.
func headNode(root spec.View, level spec.Level) {
	head := root.Key("HeadNode")
	headMemory(root, level)
	keyPair(head.At("Ssh.KeyName"))
	intelPlatform(root.At("AdditionalPackages.IntelSoftware.IntelHpcPlatform"))
	settings, kind := head.Key("SharedStorageEfsSettings"), head.Key("SharedStorageType")
	if settings.Present() && kind.Sound() && kind.Text() != "Efs" {
		settings.Errorf("head/efs-settings", "SharedStorageEfsSettings is for SharedStorageType: Efs, and it is %s", kind.Text()).
			WithHint("write SharedStorageType: Efs, or remove SharedStorageEfsSettings")
	}
}

// The memory that a head node needs at least (ParallelCluster's
// HeadNodeMemorySizeValidator, since 3.13).
const (
	nodesPerGiB = 25
	systemGiB   = 0.6
	enoughGiB   = 16
)

func headMemory(root spec.View, level spec.Level) {
	kind := root.At("HeadNode.InstanceType")
	in, ok := catalog.Lookup(kind.Text())
	nodes, sound := mostNodes(root)
	if !kind.Given() || !ok || !sound {
		return
	}
	have := float64(in.MemoryMiB) / 1024
	need := min(float64(nodes)/nodesPerGiB+systemGiB, enoughGiB)
	if have >= need {
		return
	}
	hint := fmt.Sprintf("take a type with %d GiB or more", int(math.Ceil(need)))
	if level < 13 {
		kind.Warnf("head/memory", "%s has %.4g GiB of memory, and %d nodes need a head node with %.4g GiB", in.Type, have, nodes, need).
			WithHint("%s", hint)
		return
	}
	kind.Errorf("head/memory", "%s has %.4g GiB of memory, and %d nodes need a head node with %.4g GiB", in.Type, have, nodes, need).
		WithHint("%s", hint)
}

// keyPair says which key is used without a key pair. ParallelCluster's KeyPairValidator warns
// of that: without one, ParallelCluster's head node lets no user log in.
func keyPair(name spec.View) {
	if name.Sound() && name.Text() == "" {
		name.Infof("head/no-key", "without Ssh: {KeyName: ...} the head node takes your own public key of ~/.ssh, which `muster up` imports; ParallelCluster's head node takes none").
			WithHint("for ParallelCluster, add the name of a key pair of the region")
	}
}

// intelPlatform holds ParallelCluster's IntelHpcOsValidator, and with it
// IntelHpcArchitectureValidator: the one system that had the platform is no
// longer supported.
func intelPlatform(on spec.View) {
	if on.Given() && on.Bool() {
		on.Errorf("head/intel-platform", "IntelHpcPlatform is for CentOS 7, which ParallelCluster does not support any more").
			WithHint("remove AdditionalPackages; Intel's libraries come as modules or from Spack").WithFix(on.Replace("false"))
	}
}
