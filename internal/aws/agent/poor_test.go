package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// TestBoot_without_accounting runs TestPoor in namespaces of its own.
func TestBoot_without_accounting(t *testing.T) { enter(t, "TestPoor") }

// broken is a head node whose image has a database that does not start, as MariaDB 10.3
// does not with a statement of its setup that it does not know.
const broken = `#!/bin/sh
printf '#!/bin/sh\necho "ERROR 1524: Plugin unix_socket is not loaded" >&2\nexit 1\n' >/usr/sbin/mariadbd.new
chmod 755 /usr/sbin/mariadbd.new
mv /usr/sbin/mariadbd.new /usr/sbin/mariadbd
`

// TestPoor: accounting that does not come up keeps no head node from being ready, and
// its status says so; a file system whose name comes late is waited for.
func TestPoor(t *testing.T) {
	c := inside(t, poorFile, "accounting=3s", 1)
	c.await(t, "ready", 2*time.Minute, func() bool { return c.head().Phase == manifest.Ready })
	c.await(t, "seen", time.Minute, func() bool { return c.head().Cluster != nil })
	s := c.head()
	for _, want := range []string{"there is no accounting", "mariadb does not answer after 3s (setup ended with exit code 1)"} {
		if !strings.Contains(strings.Join(s.Cluster.Look, "\n"), want) {
			t.Errorf("the status has nothing of %q: %q", want, s.Cluster.Look)
		}
	}
	for _, service := range s.Cluster.Services {
		if service.Name == "mariadb" || service.Name == "slurmdbd" || !service.Ready {
			t.Errorf("a service of the cluster without accounting: %+v", service)
		}
	}
	if log := c.file("i-0000000000000head", "var/log/muster/agent.log"); strings.Contains(log, "boot failed") {
		t.Errorf("the boot began again, where waiting would do:\n%s", log)
	}
	c.await(t, "able to run jobs", time.Minute, func() bool { return c.shared("poor") == "PARTITION gpu\n" })
}

// poorFile is a cluster that only has its head node.
const poorFile = `Region: us-east-2
Image:
  Os: alinux2023
HeadNode:
  InstanceType: c5.large
  Networking:
    SubnetId: subnet-0123456789abcdef0
  CustomActions:
    OnNodeStart:
      Script: s3://bucket/broken.sh
    OnNodeConfigured:
      Script: s3://bucket/poor.sh
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      ComputeResources:
        - Name: p5
          InstanceType: p5.48xlarge
          MinCount: 0
          MaxCount: 2
SharedStorage:
  - Name: fsx
    MountDir: /fsx
    StorageType: FsxLustre
    FsxLustreSettings:
      StorageCapacity: 1200
      DeploymentType: SCRATCH_2
`
