package status

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// LookAtFleet asks the controller whether nodes start.
func (c *Cluster) LookAtFleet(ctx context.Context, control client.Client) {
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	fleet, err := control.Status(ctx)
	if err != nil {
		c.Unseen("fleet: %v", err)
		return
	}
	if fleet.Fleet != "running" {
		c.Needs("the fleet is %s: %s", fleet.Fleet, fleet.Why)
	}
}

// ExportsUnknown is the text about exports where the controller cannot be asked.
const ExportsUnknown = "it is unknown which files still have to be exported"

// LookAtExports asks the controller how far its exports are.
func (c *Cluster) LookAtExports(ctx context.Context, control client.Client) {
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	found, err := control.Exports(ctx)
	if err != nil {
		c.Unseen("exports: ask the controller: %v", err)
		return
	}
	c.Exports = found
	for i, e := range found {
		found[i].Progress = 0 // a counter that means nothing to users
		if e.Error != "" {
			c.Needs("%s: %s", TitleOf(e), e.Error)
		}
		if e.Blocked > 0 {
			c.Needs("%s", blockedOf(e))
		}
	}
}

// blockedOf says which files cannot be exported.
func blockedOf(e client.ExportStatus) string {
	var first []string
	for _, f := range e.BlockedFiles[:min(3, len(e.BlockedFiles))] {
		first = append(first, f.Path+": "+f.Reason)
	}
	if more := e.Blocked - len(first); more > 0 {
		first = append(first, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s: %s cannot be exported: %s", TitleOf(e), count.Of(e.Blocked, "file"), strings.Join(first, "; "))
}

// TitleOf says which directory is tied to which place.
func TitleOf(e client.ExportStatus) string {
	arrow := "--"
	switch {
	case e.Export && e.Import:
		arrow = "<->"
	case e.Export:
		arrow = "->"
	case e.Import:
		arrow = "<-"
	}
	return fmt.Sprintf("%s %s s3://%s/%s", e.Path, arrow, e.Bucket, e.Prefix)
}
