package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Queued is a job that has not ended: what it waits for or has, without what its user
// chose to write.
type Queued struct {
	ID int
	// Partition is where it runs, or where it may run while it waits ("cpu,gpu").
	Partition string
	// State is Slurm's word in capitals.
	State string
	// NodeList are its nodes, empty while it waits.
	NodeList string
}

// queueStates are those of jobs that have not ended.
const queueStates = "PENDING,CONFIGURING,RUNNING,SUSPENDED,STOPPED,COMPLETING"

// Queue are all jobs that have not ended. No user's text is in what is asked for, so it
// is the whole picture or an error: see Jobs.
func (c Client) Queue(ctx context.Context) ([]Queued, error) {
	out, err := c.Runner.Run(ctx, "squeue", "--noheader", "--all", "--states="+queueStates, "--format=%A %P %T %N")
	if err != nil {
		return nil, err
	}
	return parseQueue(out)
}

// parseQueue reads what Queue asks for. Jobs that wait have no fourth word.
func parseQueue(output []byte) ([]Queued, error) {
	var all []Queued
	for line := range strings.Lines(string(output)) {
		f := strings.Fields(line)
		if len(f) != 3 && len(f) != 4 {
			return nil, fmt.Errorf("squeue said %q instead of a job", shorten(strings.TrimSpace(line)))
		}
		id, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, fmt.Errorf("squeue said %q instead of a job's number", shorten(f[0]))
		}
		all = append(all, Queued{ID: id, Partition: f[1], State: f[2], NodeList: strings.Join(f[3:], "")})
	}
	return all, nil
}
