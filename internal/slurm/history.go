package slurm

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Run is one run of a job, from the accounting database. A job that was
// requeued has several.
type Run struct {
	// ID is the job's own number; Label is what users write, such as 9_3.
	ID    int    `json:"id"`
	Label string `json:"label"`
	Name  string `json:"name"`
	User  string `json:"user,omitempty"`
	// UID is the user's number, -1 if it is not known.
	UID       int    `json:"-"`
	Partition string `json:"partition"`
	Account   string `json:"account,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// State is Slurm's word in capitals; of a run that was requeued it is
	// REQUEUED, of one that goes on with other nodes RESIZING.
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

// Ended says that this run is over. That of a job that lost a node and goes on without it
// has the state RESIZING, and another run follows it.
func (r Run) Ended() bool {
	return stateEnded(r.State) || r.State == "REQUEUED" || r.State == "RESIZING"
}

// historyColumns are what History reads.
const historyColumns = "JobIDRaw,JobID,JobName,User,UID,Partition,State,ExitCode,Submit,Start,End,ElapsedRaw,NNodes,NodeList,AllocTRES,Account,QOS,Reason,WorkDir"

// rowEnd ends each row with what it begins with: users choose names and directories, which may have line breaks, and a
// row that ended with one of them would end too early.
const rowEnd = ",JobIDRaw"

// historyFields are the columns that History asks sacct for.
const historyFields = historyColumns + rowEnd

// newDelimiter parts the columns of one answer. Nobody who chose a name could know it: a name makes no row, and spoils none. sacct
// writes any text between its columns, however long.
//
// https://github.com/SchedMD/slurm/blob/master/src/common/print_fields.c
func newDelimiter() string { return "\x1f" + rand.Text() + "\x1f" }

// ParseHistory reads sacct --parsable2 with its header and the given delimiter.
// Only whole jobs are kept, not their steps. A value with a line break is put
// together again; a row that still does not fit its header is a Problem. Times
// are in loc, nil is local.
func ParseHistory(output []byte, delimiter string, loc *time.Location) ([]Run, []Problem) {
	rows, problems := tableRecords(output, delimiter, loc)
	records := slices.DeleteFunc(rows, func(r record) bool { return strings.Contains(r.values["JobIDRaw"], ".") })
	runs, odd := parsed(records, runOf)
	return runs, append(problems, odd...)
}

// tableRecords reads a table with its header.
func tableRecords(output []byte, delimiter string, loc *time.Location) ([]record, []Problem) {
	text := strings.ToValidUTF8(string(bytes.TrimRight(output, "\n")), "\uFFFD")
	header, body, _ := strings.Cut(text, "\n")
	columns := strings.Split(header, delimiter)
	join := joinRows
	if n := len(columns); n > 1 && columns[0] == columns[n-1] {
		join = closedRows
	}
	rows, problems := join(body, delimiter, len(columns))
	records := make([]record, len(rows))
	for i, row := range rows {
		records[i] = record{row: row, values: make(map[string]string, len(columns)), loc: loc}
		for k, value := range strings.Split(row, delimiter) {
			records[i].values[columns[k]] = value
		}
	}
	return records, problems
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
		Account:     r.text("Account"),
		QOS:         r.text("QOS"),
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
	var err error
	if run.UID, err = strconv.Atoi(r.text("UID")); err != nil {
		run.UID = -1
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
