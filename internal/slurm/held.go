package slurm

import (
	"context"
	"strings"
	"time"
)

// Held is a run of a job with what accounting knows beyond a list's row: what it held nodes for.
type Held struct {
	Run
	Eligible time.Time
	// Suspended is how long Slurm had stopped it.
	Suspended time.Duration
	// Steps are its steps, in the order of accounting.
	Steps []Step
}

// Program says that something of the user's runs in the step. In extern there is nothing until somebody logs in.
func (s Step) Program() bool { return s.Name != "extern" }

// Tasks are the steps that srun started.
func (h Held) Tasks() (all []Step) {
	for _, s := range h.Steps {
		if s.Name != "" && strings.Trim(s.Name, "0123456789") == "" {
			all = append(all, s)
		}
	}
	return all
}

// heldFields are the columns that Held asks sacct for. All versions from 22.05 on have them.
const heldFields = historyColumns + ",Eligible,Suspended" + rowEnd

// Held are the runs of jobs with their steps, the oldest first. It takes several times as long as History.
func (c Client) Held(ctx context.Context, w Window) ([]Held, []Problem, error) {
	delimiter := newDelimiter()
	args := append(historyArgs(delimiter, heldFields), "--allusers", "--duplicates")
	out, err := c.Runner.Run(ctx, "sacct", append(args, w.args(c.Location)...)...)
	if err != nil {
		return nil, nil, err
	}
	runs, problems := ParseHeld(out, delimiter, c.Location)
	return runs, problems, nil
}

// ParseHeld reads sacct --parsable2 --duplicates with its header and the given delimiter, as ParseHistory does, with
// steps.
func ParseHeld(output []byte, delimiter string, loc *time.Location) ([]Held, []Problem) {
	records, problems := tableRecords(output, delimiter, loc)
	var runs []Held
	last := map[string]int{} // the place in runs of a job's latest run, by the job's number
	for i := range records {
		r := &records[i]
		job, _, isStep := strings.Cut(r.values["JobIDRaw"], ".")
		if !isStep {
			h := Held{Run: runOf(r), Eligible: r.time("Eligible"), Suspended: r.duration("Suspended")}
			if r.wrong == nil {
				last[job] = len(runs)
				runs = append(runs, h)
			}
		} else if at, ok := last[job]; ok {
			if s, ok := stepOf(r, job); ok {
				runs[at].Steps = append(runs[at].Steps, s)
			}
		}
		if r.wrong != nil {
			problems = append(problems, Problem{Row: shorten(r.row), Text: r.wrong.Error()})
		}
	}
	return runs, problems
}
