package controller

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// introduce makes all nodes register with a slurmctld that was started while this
// controller ran: its knowledge of jobs may end five seconds before its predecessor did,
// and it would ask their nodes only minutes later. It believes a node that a batch job is
// gone only when Trust is over (its BatchStartTimeout and ten seconds, seen with 22.05),
// so the nodes register once more then.
func (c *Controller) introduce(ctx context.Context) error {
	if c.Slurmctld == nil {
		return nil
	}
	now := c.Slurmctld()
	fresh := now != 0 && now != c.slurmctld && c.slurmctld != 0
	late := !c.registerAt.IsZero() && !time.Now().Before(c.registerAt)
	if (fresh || late) && c.Register != nil {
		if err := c.Register(ctx); err != nil {
			return fmt.Errorf("have the nodes register with a new slurmctld: %w", err)
		}
	}
	switch {
	case now != 0 && c.slurmctld == 0: // perhaps it began just before us, as after the machine's death
		c.registerAt, c.settleAt = time.Now().Add(c.Trust), time.Now()
	case fresh:
		c.Log.Info("slurmctld has started again: all nodes register", "process", now)
		c.registerAt, c.settleAt = time.Now().Add(c.Trust), time.Now()
	case late:
		c.registerAt = time.Time{}
	}
	if now != 0 {
		c.slurmctld = now
	}
	if !c.settleAt.IsZero() && !time.Now().Before(c.settleAt) {
		c.settleAccounts(ctx)
	}
	return nil
}

// settleLimit is how long the accounting may take to answer.
const settleLimit = 10 * time.Second

// settleAccounts ends in the accounting the jobs that an earlier slurmctld had reported
// there but not saved. Without that they count as running for ever. If it fails, the round
// goes on, and it is tried again.
func (c *Controller) settleAccounts(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	lost, err := c.EndRunaways(ctx)
	if err != nil {
		c.Log.Warn("end in the accounting the jobs that slurmctld has lost", "error", err)
		c.settleAt = time.Now().Add(c.Trust)
		return
	}
	if len(lost) > 0 {
		c.Log.Info("slurmctld has lost jobs: they are ended in the accounting", "jobs", strings.Join(lost, ","))
	}
	c.settleAt = time.Time{}
}
