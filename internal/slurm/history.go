package slurm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Run is one run of a job, from the accounting database. A job that was
// requeued has several.
type Run struct {
	// ID is the job's own number; Label is what users write, such as 9_3.
	ID        int    `json:"id"`
	Label     string `json:"label"`
	Name      string `json:"name"`
	User      string `json:"user,omitempty"`
	Partition string `json:"partition"`
	// State is Slurm's word in capitals; of a run that was requeued it is
	// REQUEUED.
	State string `json:"state"`
	// CancelledBy is the number of the user who cancelled the job.
	CancelledBy string        `json:"cancelled_by,omitempty"`
	ExitCode    ExitCode      `json:"exit_code"`
	Submit      time.Time     `json:"submit,omitzero"`
	Start       time.Time     `json:"start,omitzero"`
	End         time.Time     `json:"end,omitzero"`
	Elapsed     time.Duration `json:"elapsed,omitempty"`
	NumNodes    int           `json:"num_nodes"`
	NodeList    string        `json:"node_list,omitempty"`
	TRES        string        `json:"tres,omitempty"`
	WorkDir     string        `json:"work_dir,omitempty"`
	Reason      string        `json:"reason,omitempty"`
}

// Ended says that this run is over.
func (r Run) Ended() bool { return stateEnded(r.State) || r.State == "REQUEUED" }

// historyFields are the columns that History asks sacct for.
const historyFields = "JobIDRaw,JobID,JobName,User,Partition,State,ExitCode,Submit,Start,End,ElapsedRaw,NNodes,NodeList,AllocTRES,Reason,WorkDir"

// historyDelimiter parts the columns: no name of a job should have it.
const historyDelimiter = "\x1f"

// ParseHistory reads sacct --parsable2 with its header and the given delimiter.
// Only whole jobs are kept, not their steps. A value with a line break is put
// together again; a row that still does not fit its header is a Problem. Times
// are in loc, nil is local.
func ParseHistory(output []byte, delimiter string, loc *time.Location) ([]Run, []Problem) {
	text := strings.ToValidUTF8(string(bytes.TrimRight(output, "\n")), "\uFFFD")
	header, body, _ := strings.Cut(text, "\n")
	columns := strings.Split(header, delimiter)
	rows, problems := joinRows(body, delimiter, len(columns))
	var records []record
	for _, row := range rows {
		r := record{row: row, values: map[string]string{}, loc: loc}
		for i, value := range strings.Split(row, delimiter) {
			r.values[columns[i]] = value
		}
		if !strings.Contains(r.values["JobIDRaw"], ".") {
			records = append(records, r)
		}
	}
	runs, odd := parsed(records, runOf)
	return runs, append(problems, odd...)
}

// maxRow is the longest row that is put together from several lines, in bytes.
const maxRow = 1 << 20

// joinRows cuts the body into rows of the given number of columns.
func joinRows(body, delimiter string, columns int) (rows []string, problems []Problem) {
	var lines []string // of a row that is not complete
	delimiters, size := 0, 0
	give := func() {
		if len(lines) == 0 {
			return
		}
		row := strings.Join(lines, "\n")
		if delimiters+1 == columns {
			rows = append(rows, row)
		} else {
			problems = append(problems, Problem{Row: shorten(row),
				Text: fmt.Sprintf("a row of %d columns instead of %d", delimiters+1, columns)})
		}
		lines, delimiters, size = nil, 0, 0
	}
	for line := range strings.SplitSeq(body, "\n") {
		if len(lines) == 0 && line == "" {
			continue
		}
		count := strings.Count(line, delimiter)
		if count+1 == columns || size > maxRow {
			give()
		}
		lines, delimiters, size = append(lines, line), delimiters+count, size+len(line)+1
		if delimiters+1 >= columns {
			give()
		}
	}
	give()
	return rows, problems
}

func runOf(r *record) Run {
	state, by, _ := strings.Cut(r.values["State"], " by ")
	run := Run{
		ID:          r.int("JobIDRaw"),
		Label:       r.text("JobID"),
		Name:        r.values["JobName"],
		User:        r.text("User"),
		Partition:   r.text("Partition"),
		State:       strings.TrimSuffix(state, "+"),
		CancelledBy: by,
		Submit:      r.time("Submit"),
		Start:       r.time("Start"),
		End:         r.time("End"),
		NumNodes:    r.int("NNodes"),
		NodeList:    r.text("NodeList"),
		TRES:        r.text("AllocTRES"),
		WorkDir:     r.text("WorkDir"),
		Reason:      r.text("Reason"),
	}
	r.runRest(&run)
	return run
}

// runRest reads what is not one value in one field, and what must be there.
func (r *record) runRest(run *Run) {
	if run.NodeList == "None assigned" {
		run.NodeList = ""
	}
	if run.Reason == "None" {
		run.Reason = ""
	}
	if seconds := r.text("ElapsedRaw"); seconds != "" {
		n, err := strconv.ParseInt(seconds, 10, 32)
		if err != nil {
			r.fail(fmt.Errorf("ElapsedRaw %q is no number", shorten(seconds)))
		}
		run.Elapsed = time.Duration(n) * time.Second
	}
	var err error
	if run.ExitCode, err = parseExitCode(r.text("ExitCode")); err != nil {
		r.fail(err)
	}
	if run.ID <= 0 || run.State == "" {
		r.fail(fmt.Errorf("a job without a number or a state"))
	}
}
