//go:build linux

package cli

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/verify/suite"
)

// verifyAlone verifies this machine, without Slurm.
func (a *app) verifyAlone(ctx context.Context, o proofOptions) error {
	if err := reportPlace(o.report); err != nil {
		return err
	}
	w, err := a.aloneWorld()
	if err != nil {
		return err
	}
	return a.verifyIn(ctx, w, o)
}

// aloneWorld is what this machine knows of itself.
func (a *app) aloneWorld() (suite.World, error) {
	self, err := os.Executable()
	if err != nil {
		return suite.World{}, err
	}
	w := suite.World{Muster: self, Alone: cmp.Or(strings.Join(strings.Fields(nodeName()), "-"), "here"), Type: ownType(), Version: runningVersion(), Tell: func(line string) { a.note("%s", line) }}
	if inside() && !guest() {
		w.Place = "aws"
		if !onCloudHead() { // a node of a cluster on this machine only stands for an instance
			w.Place, w.Type = "local", ""
		}
		w.File, w.Workload = filesHere()
	}
	return w, nil
}

// ownType is the instance type of this machine where its firmware names one of EC2 that the catalogue knows, else empty.
func ownType() string {
	text, err := os.ReadFile("/sys/devices/virtual/dmi/id/product_name")
	if t, known := catalog.Lookup(strings.TrimSpace(string(text))); err == nil && known {
		return t.Type
	}
	return ""
}
