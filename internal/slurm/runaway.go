package slurm

import (
	"context"
	"fmt"
	"strings"
)

// EndRunaways ends, in the accounting alone, the jobs that have begun there, have no end,
// and that no slurmctld of this cluster knows. They get the state COMPLETED and their
// start as their end, as Slurm does when it is told to mend them. It returns their IDs.
//
// It is an error while slurmctld still has something to tell the accounting: a job that was
// queued again and whose first end is not there yet would be taken for one that is lost,
// because a job is known by its number and by when it was submitted.
func (c Client) EndRunaways(ctx context.Context) ([]string, error) {
	diag, err := c.Runner.Run(ctx, "sdiag")
	if err != nil {
		return nil, err
	}
	if n := untold(string(diag)); n != "0" {
		return nil, fmt.Errorf("slurmctld has not told the accounting all that it knows: messages that wait: %q", n)
	}
	// Without --immediate it asks for 30 seconds, even without a terminal.
	out, err := c.Runner.Run(ctx, "sacctmgr", "--immediate", "--noheader", "--parsable2", "show", "runawayjobs", "format=id")
	if err != nil {
		return nil, err
	}
	return runaways(string(out)), nil
}

// untold is how many messages slurmctld has for slurmdbd, as sdiag says.
func untold(diag string) string {
	_, rest, _ := strings.Cut(diag, "\nDBD Agent queue size:")
	n, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(n)
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
