package slurm

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BatchScript is the script of a job that slurmctld knows, nil if it has none. Unlike Script it
// needs no accounting.
func (c Client) BatchScript(ctx context.Context, id int) ([]byte, error) {
	out, err := c.Runner.Run(ctx, "scontrol", "write", "batch_script", strconv.Itoa(id), "-")
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(out, []byte("#!")) {
		return nil, nil
	}
	return out, nil
}

// What follows is done to the job of a label. A number alone will not do: one task of each array has
// the array's, and Slurm takes that for all of its tasks.

// RequeueHeld puts a batch job that runs or has ended into the queue, where it waits until
// Release. A job that waits already is left as it is.
func (c Client) RequeueHeld(ctx context.Context, job string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "requeuehold", job)
	if err != nil && strings.Contains(lastStderr(err), "is pending execution") {
		return nil
	}
	return err
}

// Exclude says which nodes a job may not have; none lifts what was said before.
func (c Client) Exclude(ctx context.Context, job string, nodes []string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "update", "JobId="+job, "ExcNodeList="+Compress(nodes))
	return err
}

// Release lets a job go that is held.
func (c Client) Release(ctx context.Context, job string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "release", job)
	return err
}

// ReleaseAt lets a job go that is held, to start at a time at the earliest. Where that is past it may start at once.
func (c Client) ReleaseAt(ctx context.Context, job string, at time.Time) error {
	if seconds := int(time.Until(at).Round(time.Second).Seconds()); seconds > 0 {
		if _, err := c.Runner.Run(ctx, "scontrol", "update", "JobId="+job, fmt.Sprintf("StartTime=now+%d", seconds)); err != nil {
			return err
		}
	}
	return c.Release(ctx, job)
}

// Hold keeps a job that waits from starting, until Release.
func (c Client) Hold(ctx context.Context, job string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "hold", job)
	return err
}
