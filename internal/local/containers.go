package local

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm/spank"
	"github.com/muster-hpc/muster/internal/spec"
)

// RegistryAddress is where a cluster's machines find its own registry of
// container images.
func RegistryAddress() string {
	return netip.AddrPortFrom(nodes.HeadAddress, services.RegistryPort).String()
}

// registryAccount is a new account of a user of the cluster's registry, as Docker's
// clients keep it.
func registryAccount(user string) string {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + secret(20)))
	return fmt.Sprintf("{\"auths\":{%q:{\"auth\":%q}}}\n", RegistryAddress(), auth)
}

// containers makes what steps in containers need: Slurm's plugin, and the
// directory of images, where every user may have some.
func (u *up) containers(ctx context.Context) (string, error) {
	if err := makeImageDir(StorageDir(u.layout, u.File, services.ImageStorage(u.File).MountDir)); err != nil {
		return "", err
	}
	by := "muster's own plugin"
	if u.config.pyxis != "" {
		by = "Pyxis, " + u.config.pyxis
	} else if err := u.installPlugin(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("srun --container-image is done by %s; images in %s, registry %s", by, services.ImageDir(u.File), RegistryAddress()), nil
}

func (u *up) installPlugin(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	packaged := filepath.Join(filepath.Dir(self), spank.Packaged(u.config.version))
	return spank.Install(ctx, u.layout.Path("bin", spank.Name), packaged, u.config.version)
}

// makeImageDir makes the directory of images below a file system. One that is
// there stays as it is, and a link that leads out of the file system is not followed.
func makeImageDir(storage string) error {
	root, err := os.OpenRoot(storage)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, d := range []directory{{path: "containers", mode: 0o755}, {path: "containers/images", mode: 0o777 | os.ModeSticky}} {
		if _, err := root.Stat(d.path); err == nil {
			continue
		}
		if err := root.Mkdir(d.path, 0o755); err != nil {
			return err
		}
		if err := root.Chmod(d.path, d.mode); err != nil {
			return err
		}
	}
	return nil
}

// stack is Slurm's plugin for containers.
func (c config) stack() spank.Stack {
	if c.pyxis != "" {
		return spank.Stack{Plugin: c.pyxis}
	}
	return spank.Own(services.Spank, services.Muster)
}

// hasEFA tells whether the nodes of a compute resource have EFA.
func hasEFA(r spec.ComputeResource) bool {
	t, _ := catalog.Lookup(r.InstanceTypes[0])
	return r.EFA || t.EFA > 0
}

// efaNodes are the names of the nodes that have EFA.
func efaNodes(c *spec.Cluster) []string {
	return nodesOf(c, func(_ spec.Queue, r spec.ComputeResource) bool { return hasEFA(r) })
}

// burnInNodes are the nodes that prove themselves before they are Slurm's.
func burnInNodes(c *spec.Cluster, w *spec.Workload) []string {
	return nodesOf(c, func(q spec.Queue, _ spec.ComputeResource) bool { return w.BurnInOf(q.Name) != nil })
}

// nodesOf are the nodes of some compute resources.
func nodesOf(c *spec.Cluster, is func(spec.Queue, spec.ComputeResource) bool) []string {
	with := *c
	with.Scheduling.Queues = slices.Clone(c.Scheduling.Queues)
	for i, q := range with.Scheduling.Queues {
		without := func(r spec.ComputeResource) bool { return !is(q, r) }
		with.Scheduling.Queues[i].ComputeResources = slices.DeleteFunc(slices.Clone(q.ComputeResources), without)
	}
	return plan.NodeNames(&with)
}
