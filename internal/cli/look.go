package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// onHost refuses, inside a cluster, commands that look at clusters from outside.
func onHost() error {
	if inside() {
		return errors.New("this looks at the cluster from outside; leave the cluster's shell first")
	}
	return nil
}

// noCluster says that a cluster does not exist, and names those that do.
func noCluster(home, name string) error {
	said := name
	if name == os.Getenv(clusterVariable) {
		said += ", which " + clusterVariable + " names"
	}
	for _, k := range keptIn(home, places) {
		if k.Name == name {
			return fault.Coded(fault.CodeUnknown, "there is no cluster %s; %s; %s", said, makesOne, sayKept(k))
		}
	}
	names, _ := knownNames(home, nil)
	if near := diag.Nearest(name, names); near != "" {
		return fault.Coded(fault.CodeUnknown, "there is no cluster %s; did you mean %s?", said, near)
	}
	if len(names) > 0 {
		return fault.Coded(fault.CodeUnknown, "there is no cluster %s; there is %s", said, strings.Join(names, ", "))
	}
	return fault.Coded(fault.CodeUnknown, "there is no cluster %s; %s", said, makesOne)
}
