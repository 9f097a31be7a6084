package controller

import (
	"context"
	"fmt"
	"time"
)

// introduce has all nodes register with a slurmctld that was started while this
// controller ran: it knows of jobs what was written down up to five seconds before
// the end of the one before it, and would ask their nodes only minutes later. It takes
// their word for a batch job that is not there only when Trust is over (its
// BatchStartTimeout and ten seconds, seen with 22.05), so they register
// once more then.
func (c *Controller) introduce(ctx context.Context) error {
	if c.Slurmctld == nil {
		return nil
	}
	now := c.Slurmctld()
	fresh := now != 0 && now != c.slurmctld && c.slurmctld != 0
	late := !c.registerAt.IsZero() && !time.Now().Before(c.registerAt)
	if fresh || late {
		if err := c.Register(ctx); err != nil {
			return fmt.Errorf("have the nodes register with a new slurmctld: %w", err)
		}
	}
	switch {
	case now != 0 && c.slurmctld == 0: // perhaps it began just before us, as after the machine's death
		c.registerAt = time.Now().Add(c.Trust)
	case fresh:
		c.Log.Info("slurmctld has started again: all nodes register", "process", now)
		c.registerAt = time.Now().Add(c.Trust)
	case late:
		c.registerAt = time.Time{}
	}
	if now != 0 {
		c.slurmctld = now
	}
	return nil
}
