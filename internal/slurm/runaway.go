package slurm

import (
	"context"
	"strings"
)

// EndRunaways ends, in the accounting alone, the jobs that have begun there, have no end,
// and that no slurmctld of this cluster knows. They get the state COMPLETED and their
// start as their end, as Slurm does when it is told to mend them. It returns their IDs.
func (c Client) EndRunaways(ctx context.Context) ([]string, error) {
	// Without --immediate it asks, and asks on where nobody can answer, for 30 seconds.
	out, err := c.Runner.Run(ctx, "sacctmgr", "--immediate", "--noheader", "--parsable2", "show", "runawayjobs", "format=id")
	if err != nil {
		return nil, err
	}
	return runaways(string(out)), nil
}

// runaways are the IDs among what sacctmgr says.
func runaways(out string) (ids []string) {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && strings.Trim(line, "0123456789") == "" {
			ids = append(ids, line)
		}
	}
	return ids
}
