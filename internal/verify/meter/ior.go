package meter

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// IOR is what IOR measured of a file system: https://ior.readthedocs.io
type IOR struct {
	// Version is such as "4.0.0". API is such as "POSIX", Access "file-per-process" or "single-shared-file".
	Version string `json:"version,omitempty"`
	API     string `json:"api,omitempty"`
	Access  string `json:"access,omitempty"`
	// Path is the file of the test; further processes' files have a number behind that.
	Path  string `json:"path,omitempty"`
	Nodes int    `json:"nodes,omitempty"`
	Tasks int    `json:"tasks,omitempty"`
	// Transfer, Block and Aggregate are sizes as IOR writes them, such as "1 MiB".
	Transfer  string `json:"transfer,omitempty"`
	Block     string `json:"block,omitempty"`
	Aggregate string `json:"aggregate,omitempty"`
	// Runs are the single measurements, Summary what each operation comes to over all repetitions. CSV has no summary.
	Runs    []IORRun     `json:"runs"`
	Summary []IORSummary `json:"summary,omitempty"`
	// Incorrect are warnings that data were not what had been written.
	Incorrect []string `json:"incorrect,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Reading
}

// IORRun is one measurement. What a version does not say is 0.
type IORRun struct {
	// Op is "write" or "read"; IOR 3.3 has rows "remove" besides, without a bandwidth, which are left out.
	Op        string  `json:"op"`
	Iteration int     `json:"iteration"` // from 0; in JSON, the how manyth measurement of the operation it is
	MiBps     float64 `json:"mibps"`
	IOPS      float64 `json:"iops"`
	LatencyS  float64 `json:"latency_s"`
	OpenS     float64 `json:"open_s"`
	MoveS     float64 `json:"move_s"` // reading or writing
	CloseS    float64 `json:"close_s"`
	TotalS    float64 `json:"total_s"`
}

// IORSummary is what an operation came to over all repetitions.
type IORSummary struct {
	Op        string  `json:"op"`
	MaxMiBps  float64 `json:"max_mibps"`
	MinMiBps  float64 `json:"min_mibps"`
	MeanMiBps float64 `json:"mean_mibps"`
	StdDev    float64 `json:"std_dev"`
	MeanS     float64 `json:"mean_s"`
}

// ReadIOR reads what IOR 3.3 to 4.1 prints: text, JSON or CSV (-O summaryFormat=). IOR 3.3's CSV has no numbers.
func ReadIOR(text []byte) IOR {
	if o, ok := iorJSON(text); ok {
		return o
	}
	t := iorText{IOR: IOR{Reading: Reading{Whole: true}}}
	all := lines(text, &t.Reading)
	for _, l := range all {
		t.line(l)
	}
	t.end(len(text) > 0 && text[len(text)-1] == '\n')
	return t.IOR
}

// iorText is a text or CSV that is being read.
type iorText struct {
	IOR
	runs, summary []string // names of columns, once they were there
	csv, finished bool
}

// options finds "name : value".
var options = pattern.New(`^([A-Za-z][A-Za-z ]*?)\s*: +(\S.*)$`)

func (t *iorText) line(l line) {
	text := strings.TrimSpace(l.text)
	words := strings.Fields(text)
	switch {
	case text == "":
	case strings.HasPrefix(text, "IOR-"):
		t.Version = clip(strings.TrimPrefix(strings.TrimSuffix(words[0], ":"), "IOR-"))
	case strings.HasPrefix(text, "access,"):
		t.runs, t.csv = strings.Split(text, ","), true
	case words[0] == "access" && len(words) > 3 && strings.HasPrefix(words[1], "bw("):
		t.runs = words
	case words[0] == "Operation" && len(words) > 5:
		t.summary = words
	case t.trouble(l, text):
	case t.csv:
		t.run(l, strings.Split(text, ","))
	case t.summary != nil && isOperation(words[0]):
		t.sum(l, words)
	case t.runs != nil && isOperation(words[0]):
		t.run(l, words)
	default:
		t.option(text)
	}
}

func isOperation(word string) bool { return word == "write" || word == "read" || word == "remove" }

// trouble tells lines about what went wrong.
func (t *iorText) trouble(l line, text string) bool {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(text, "ERROR") || strings.HasPrefix(text, "ior ERROR") || strings.HasPrefix(text, "MPI_ABORT"):
		t.lack("line %d: %s", l.number, text)
	case strings.HasPrefix(lower, "warning: incorrect data"):
		t.Incorrect = keep(t.Incorrect, clip(text))
	case strings.HasPrefix(text, "WARNING") || strings.HasPrefix(text, "ior WARNING"):
		t.Warnings = keep(t.Warnings, clip(text))
	default:
		return false
	}
	return true
}

func (t *iorText) option(text string) {
	m := options().FindStringSubmatch(text)
	if m == nil {
		return
	}
	n, _ := whole(m[2])
	switch to := t.place(m[1]); {
	case m[1] == "Finished":
		t.finished = true
	case m[1] == "nodes":
		t.Nodes = int(n)
	case m[1] == "tasks":
		t.Tasks = int(n)
	case to != nil:
		*to = clip(m[2])
	}
}

// place is where an option's words go, nil if nowhere.
func (t *IOR) place(option string) *string {
	switch option {
	case "api":
		return &t.API
	case "access":
		return &t.Access
	case "test filename":
		return &t.Path
	case "xfersize":
		return &t.Transfer
	case "blocksize":
		return &t.Block
	case "aggregate filesize":
		return &t.Aggregate
	}
	return nil
}

func (t *iorText) run(l line, words []string) {
	r := IORRun{Op: words[0]}
	if r.Op == "remove" {
		return
	}
	if len(words) != len(t.runs) || !isOperation(r.Op) {
		t.lack("line %d is no whole row: %s", l.number, l.quoted())
		return
	}
	for i, name := range t.runs {
		to := r.column(name)
		if to == nil {
			continue
		}
		n, ok := number(words[i])
		if !ok && words[i] != "-" && words[i] != "NA" {
			t.lack("line %d: the column %s has no number: %s", l.number, name, l.quoted())
			return
		}
		*to = n
	}
	if n, ok := whole(words[len(words)-1]); ok {
		r.Iteration = int(n)
	}
	t.Runs = keep(t.Runs, r)
}

func (r *IORRun) column(name string) *float64 {
	name, _, _ = strings.Cut(name, "(")
	switch name {
	case "bw":
		return &r.MiBps
	case "IOPS":
		return &r.IOPS
	case "Latency":
		return &r.LatencyS
	case "open":
		return &r.OpenS
	case "wr/rd":
		return &r.MoveS
	case "close":
		return &r.CloseS
	case "total":
		return &r.TotalS
	}
	return nil
}

func (t *iorText) sum(l line, words []string) {
	s := IORSummary{Op: words[0]}
	if len(words) < len(t.summary) {
		t.lack("line %d is no whole row: %s", l.number, l.quoted())
		return
	}
	for i, to := range []*float64{&s.MaxMiBps, &s.MinMiBps, &s.MeanMiBps, &s.StdDev} {
		n, ok := number(words[1+i])
		if !ok {
			t.lack("line %d: no number: %s", l.number, l.quoted())
			return
		}
		*to = n
	}
	for i, name := range t.summary {
		if name == "Mean(s)" {
			s.MeanS, _ = number(words[i])
		}
	}
	t.Summary = keep(t.Summary, s)
}

func (t *iorText) end(newline bool) {
	switch {
	case t.runs == nil:
		t.lack("there is no table of IOR")
	case len(t.Runs) == 0:
		t.lack("nothing was measured")
	case t.csv && !newline:
		t.lack("the last line has no end")
	case !t.csv && (!t.finished || len(t.Summary) == 0):
		t.lack("the end is missing")
	}
}
