package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/aws"
)

// guest tells whether this muster was brought to a head node that ParallelCluster made.
func guest() bool {
	self, err := os.Executable()
	return err == nil && strings.HasSuffix(filepath.Dir(filepath.Dir(self)), "/"+aws.GuestDir)
}

// errTheirs is that muster does not run a cluster's fleet.
var errTheirs = errors.New("ParallelCluster runs the fleet of this cluster: `pcluster update-compute-fleet` starts and stops it, " +
	"and /var/log/parallelcluster/clustermgtd on the head node says what it did")
