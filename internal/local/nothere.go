package local

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// installed refuses to begin without a program that the cluster needs.
func installed(programs []string) error {
	for _, p := range programs {
		if _, err := os.Stat(p); err != nil {
			return fmt.Errorf("%s is not installed; `muster doctor` says what is missing and installs it", p)
		}
	}
	return nil
}

// notHere names what the cluster file asks for and a local cluster lacks, so that users
// do not take it for tested. Its S3 server is in a region.
func notHere(c *spec.Cluster, region string, ssh bool) string {
	var missing []string
	if want := s3Region(c); region != want {
		missing = append(missing, fmt.Sprintf("the region %s (S3 stays in %s until `muster down` and `muster up`)", want, region))
	}
	gpus, efa := 0, false
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			t, _ := catalog.Lookup(r.InstanceTypes[0])
			gpus += r.MaxCount * t.GPU.Count
			efa = efa || hasEFA(r)
		}
	}
	if gpus > 0 {
		missing = append(missing, count.Of(gpus, "GPU")+" (Slurm counts them)")
	}
	if efa {
		missing = append(missing, "EFA (/dev/infiniband is empty)")
	}
	if c.HeadNode.CustomActions != nil || slices.ContainsFunc(c.Scheduling.Queues, func(q spec.Queue) bool { return q.CustomActions != nil }) {
		missing = append(missing, "custom actions (not run)")
	}
	if len(c.LoginPools) > 0 {
		missing = append(missing, "login nodes (the head node serves)")
	}
	if len(c.SharedStorage) > 0 {
		missing = append(missing, "the sizes of file systems (df shows this machine's disk)")
	}
	if !ssh {
		missing = append(missing, "SSH between machines (openssh-server is not installed)")
	}
	missing = append(missing, "the internet from nodes")
	return strings.Join(missing, ", ")
}

// roomBytes is what the run directory of a new cluster needs: its programs,
// MariaDB's files and a day's logs.
const roomBytes = 200 << 20

// room refuses to start a cluster where its daemons would soon find no space.
func (u *up) room() error {
	if _, alive := u.layout.Alive(); alive {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(u.Ref.Home, &fs); err != nil {
		return fmt.Errorf("look at the space in %s: %w", u.Ref.Home, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < roomBytes {
		return fmt.Errorf("not enough space: %s has %d MB free, a cluster needs %d MB; make room, or let MUSTER_HOME name another folder", u.Ref.Home, free>>20, roomBytes>>20)
	}
	return nil
}
