package slurm

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Step is a step of one run of a job, from the accounting database. The run's own row is the step
// with no name.
type Step struct {
	// Name is what follows the job's number: batch, extern, 0, 1.
	Name     string   `json:"name,omitempty"`
	State    string   `json:"state"`
	ExitCode ExitCode `json:"exit_code"`
	// NodeList is a host list.
	NodeList string    `json:"node_list,omitempty"`
	Start    time.Time `json:"start,omitzero"`
	End      time.Time `json:"end,omitzero"`
	// Command is the program's name.
	Command string `json:"command,omitempty"`
	// Tasks is how many it had, Layout how they were spread over its nodes: Block, Cyclic, Plane and so on.
	Tasks  int    `json:"tasks,omitempty"`
	Layout string `json:"layout,omitempty"`
	// What follows is the run's own row's: the highest exit code of its steps, the job's
	// reason, the number of the user who cancelled it.
	Derived     ExitCode `json:"derived,omitzero"`
	Reason      string   `json:"reason,omitempty"`
	CancelledBy string   `json:"cancelled_by,omitempty"`
}

// stepFields are the columns that Steps asks sacct for.
const stepFields = "JobIDRaw,JobName,State,ExitCode,DerivedExitCode,Start,End,NodeList,Reason,NTasks,Layout" + rowEnd

// Steps are those of the runs of a job that began at a time or later, each run's own row before
// those of its steps.
func (c Client) Steps(ctx context.Context, id int, since time.Time) ([]Step, error) {
	delimiter := newDelimiter()
	args := append(historyArgs(delimiter, stepFields), "--allusers", "--duplicates")
	out, err := c.Runner.Run(ctx, "sacct", append(args, Window{Since: since, Jobs: []int{id}}.args(c.Location)...)...)
	if err != nil {
		return nil, err
	}
	return parseSteps(out, delimiter, id, since, c.Location), nil
}

// parseSteps reads what Steps asks for. Rows that cannot be read are left out: what they would
// say is only lost as evidence.
func parseSteps(output []byte, delimiter string, id int, since time.Time, loc *time.Location) []Step {
	records, _ := tableRecords(output, delimiter, loc)
	var all []Step
	for i := range records {
		if s, ok := stepOf(&records[i], strconv.Itoa(id)); ok && !s.Start.Before(since.Truncate(time.Second)) {
			all = append(all, s)
		}
	}
	return all
}

func stepOf(r *record, id string) (Step, bool) {
	job, name, _ := strings.Cut(r.values["JobIDRaw"], ".")
	state, by, _ := strings.Cut(r.values["State"], " by ")
	s := Step{Name: name, State: strings.TrimSuffix(state, "+"), NodeList: r.text("NodeList"), Start: r.time("Start"), End: r.time("End"), Command: r.values["JobName"]}
	s.Reason, s.CancelledBy = r.text("Reason"), by
	s.Tasks, _ = strconv.Atoi(r.text("NTasks")) // the run's own row has none
	s.Layout = r.text("Layout")
	var err error
	if s.Derived, err = parseExitCode(r.text("DerivedExitCode")); err != nil {
		r.fail(err)
	}
	if s.ExitCode, err = parseExitCode(r.text("ExitCode")); err != nil {
		r.fail(err)
	}
	for _, text := range []*string{&s.NodeList, &s.Reason} {
		if *text == "None assigned" || *text == "None" {
			*text = ""
		}
	}
	return s, job == id && s.State != "" && r.wrong == nil
}
