package slurm

import (
	"context"
	"strings"
	"time"
)

// NodeEvent is a time in which a node was down or drained, as accounting has it.
type NodeEvent struct {
	Node string
	// State is Slurm's word in capitals, with its flags: DOWN, DOWN*, DRAIN, IDLE+DRAIN.
	State      string
	Start, End time.Time
	Reason     string
	// User is who set it, empty where Slurm did.
	User string
}

// eventFields are the columns that NodeEvents asks sacctmgr for.
const eventFields = "NodeName,State,TimeStart,TimeEnd,User,Reason"

// NodeEvents are those that nodes had in a time, zero is open.
func (c Client) NodeEvents(ctx context.Context, w Window) ([]NodeEvent, []Problem, error) {
	loc := orLocal(c.Location)
	since := w.Since
	if since.IsZero() {
		since = beginning
	}
	args := []string{"--parsable2", "--readonly", "show", "event", "format=" + eventFields, "start=" + since.In(loc).Format(timeLayout)}
	if !w.Until.IsZero() {
		args = append(args, "end="+w.Until.In(loc).Format(timeLayout))
	}
	out, err := c.Runner.Run(ctx, "sacctmgr", args...)
	if err != nil {
		return nil, nil, err
	}
	events, problems := parseNodeEvents(out, c.Location)
	return events, problems, nil
}

// parseNodeEvents reads sacctmgr --parsable2 show event. A reason may have the delimiter in it: it is the last column.
// Events of the whole cluster have no node and are left out.
func parseNodeEvents(output []byte, loc *time.Location) ([]NodeEvent, []Problem) {
	columns := strings.Split(eventFields, ",")
	var records []record
	for i, line := range strings.Split(strings.ToValidUTF8(string(output), "\uFFFD"), "\n") {
		if i == 0 || line == "" {
			continue
		}
		r := record{row: line, values: map[string]string{}, loc: loc}
		for k, v := range strings.SplitN(line, "|", len(columns)) {
			r.values[columns[k]] = v
		}
		if r.values["NodeName"] != "" {
			records = append(records, r)
		}
	}
	return parsed(records, func(r *record) NodeEvent {
		user, _, _ := strings.Cut(r.values["User"], "(")
		return NodeEvent{
			Node: r.values["NodeName"], State: r.values["State"], Start: r.time("TimeStart"), End: r.time("TimeEnd"),
			Reason: r.text("Reason"), User: user,
		}
	})
}
