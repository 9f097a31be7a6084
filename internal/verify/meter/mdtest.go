package meter

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Mdtest is what mdtest measured of a file system's metadata.
type Mdtest struct {
	Version    string       `json:"version,omitempty"` // such as "4.0.0"
	Tasks      int          `json:"tasks,omitempty"`
	Nodes      int          `json:"nodes,omitempty"`
	Path       string       `json:"path,omitempty"`
	Iterations int          `json:"iterations,omitempty"`
	Rates      []MdtestRate `json:"rates"`
	Warnings   []string     `json:"warnings,omitempty"`
	Reading
}

// MdtestRate is how many of one operation were done each second, by all tasks together. In mdtest 3.3 the figures are over tasks and
// iterations, in 4.0 over iterations.
type MdtestRate struct {
	Op     string  `json:"op"` // such as "File creation"
	Max    float64 `json:"max"`
	Min    float64 `json:"min"`
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"std_dev"`
}

var launched = pattern.New(`^mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node`)

var rated = pattern.New(`^((?:File|Directory|Tree) [a-z]+)\s*:?((?:\s+\S+)+)$`)

var iterations = pattern.New(`^SUMMARY rate.*\(of (\d+) iterations\)`)

// ReadMdtest reads what mdtest 3.3 to 4.1 prints.
func ReadMdtest(text []byte) Mdtest {
	m := Mdtest{Reading: Reading{Whole: true}}
	summary, finished := false, false
	for _, l := range lines(text, &m.Reading) {
		text := strings.TrimSpace(l.text)
		if at := iterations().FindStringSubmatch(text); at != nil {
			n, _ := whole(at[1])
			m.Iterations, summary = int(n), true
		}
		finished = finished || strings.HasPrefix(text, "-- finished at ")
		if summary && !finished {
			m.rate(l, text)
		} else {
			m.about(l, text)
		}
	}
	switch {
	case !summary:
		m.lack("there is no summary of mdtest")
	case len(m.Rates) == 0:
		m.lack("nothing was measured")
	}
	if !finished {
		m.lack("the end is missing")
	}
	return m
}

// about reads what stands before the summary.
func (m *Mdtest) about(l line, text string) {
	if at := launched().FindStringSubmatch(text); at != nil {
		tasks, _ := whole(at[2])
		nodes, _ := whole(at[3])
		m.Version, m.Tasks, m.Nodes = clip(at[1]), int(tasks), int(nodes)
		return
	}
	name, value, _ := strings.Cut(text, ":")
	switch name = strings.TrimSpace(name); {
	case name == "Path":
		m.Path = clip(strings.TrimSpace(value))
	case strings.HasPrefix(text, "ERROR") || strings.HasPrefix(text, "MPI_ABORT") || strings.Contains(text, ": FAILED in "):
		m.lack("line %d: %s", l.number, text)
	case strings.HasPrefix(text, "WARNING"):
		m.Warnings = keep(m.Warnings, clip(text))
	}
}

func (m *Mdtest) rate(l line, text string) {
	at := rated().FindStringSubmatch(text)
	if at == nil {
		m.about(l, text)
		return
	}
	words := strings.Fields(at[2])
	r := MdtestRate{Op: at[1]}
	ok := len(words) == 4
	for i, to := range []*float64{&r.Max, &r.Min, &r.Mean, &r.StdDev} {
		if ok {
			*to, ok = number(words[i])
		}
	}
	if !ok {
		m.lack("line %d is no whole row: %s", l.number, l.quoted())
		return
	}
	m.Rates = keep(m.Rates, r)
}
