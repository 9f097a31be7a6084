package ras

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Lines of the text (src/ras/client_support.cc).
var patterns = sync.OnceValue(func() *struct{ version, note, rank, process, many, silent, dead, timeouts, different *regexp.Regexp } {
	compile := regexp.MustCompile
	return &struct{ version, note, rank, process, many, silent, dead, timeouts, different *regexp.Regexp }{
		version:   compile(`^NCCL version (\S+)`),
		note:      compile(`^#([0-9]+-[0-9]+) \(([0-9a-f]+)\) ([A-Z]+)$`),
		rank:      compile(`^Rank ([0-9]+)( has launched up to operation ([0-9]+)| has not launched any operations| has status (\S+)| reported .{1,80}?)? -- (?:GPUs? (.{1,80}?) managed by process ([0-9]+) on node (\S+)|\[process information not found\])$`),
		process:   compile(`^Process ([0-9]+) on node (\S+) managing GPUs? (.{1,400})$`),
		many:      compile(`^([0-9]+) ranks have (?:launched up to operation ([0-9]+)|not launched any operations|status (\S+))$`),
		silent:    compile(`^Missing communicator data from ([0-9]+) job process`),
		dead:      compile(`^([0-9]+) job process(?:es are| is) considered dead`),
		timeouts:  compile(`^Encountered ([0-9]+) communication timeout`),
		different: compile(`^Communicator ranks have different (?:(\S+) operation counts|collective operation counts|status)$`),
	}
})

// textReader reads the text.
type textReader struct {
	report Report
	// note is the one that lines are of.
	note *Note
	// processes is where the next processes belong.
	processes *[]Process
	// status and launched are those of the ranks that follow.
	status   string
	launched uint64
	known    bool
}

// parseText reads an answer in text, whole or in parts.
func parseText(text []byte) (Report, error) {
	r := &textReader{}
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "\uFFFD")) {
		line = strings.TrimRight(line, " \r\n")
		if !r.head(line) && !r.group(line) {
			r.detail(strings.TrimSpace(line))
		}
	}
	r.close()
	if !r.known {
		return Report{}, errors.New("read NCCL's report: this is none")
	}
	return r.report, nil
}

// head reads what begins something.
func (r *textReader) head(line string) bool {
	p := patterns()
	if m := p.version.FindStringSubmatch(line); m != nil {
		r.report.Version, r.known = m[1], true
		return true
	}
	if m := p.note.FindStringSubmatch(line); m != nil {
		r.close()
		r.note, r.status, r.processes, r.known = &Note{Name: "#" + m[1], Hash: m[2], Kind: m[3]}, "", nil, true
		r.launched = 0
		return true
	}
	switch strings.TrimSpace(line) {
	case "Errors", "Warnings", "INCOMPLETE", "DEAD", "TIMEOUT", "Job summary":
		r.close()
		r.processes, r.known = nil, true
		return true
	}
	return false
}

// close puts the note away that lines were of.
func (r *textReader) close() {
	if r.note != nil {
		r.report.Notes = append(r.report.Notes, *r.note)
	}
	r.note = nil
}

// group reads a line of the table.
func (r *textReader) group(line string) bool {
	const columns = 8
	cells := strings.Fields(line)
	if len(cells) != columns {
		return false
	}
	var n [5]int
	for i, at := range []int{0, 1, 2, 4, 5} {
		var err error
		if n[i], err = strconv.Atoi(cells[at]); err != nil || n[i] < 0 {
			return false
		}
	}
	r.report.Groups = append(r.report.Groups, Group{Number: n[0], Comms: n[1], Nodes: n[2], RanksPerNode: cells[3], Size: n[3], Ranks: n[4], Status: cells[6], Problem: cells[7]})
	r.known = true
	return true
}

// detail reads a line below a note or a heading.
func (r *textReader) detail(line string) {
	p := patterns()
	switch {
	case line == "" || strings.Trim(line, "=") == "":
	case r.process(p.process.FindStringSubmatch(line)):
	case r.count(line):
	case r.note == nil:
	case r.rank(p.rank.FindStringSubmatch(line)):
	case r.many(p.many.FindStringSubmatch(line)):
	default:
		if m := p.different.FindStringSubmatch(line); m != nil {
			r.different(m[1])
			return
		}
		const most = 100
		if len(r.note.Lines) < most {
			r.note.Lines = append(r.note.Lines, line)
		}
	}
}

// different begins another comparison: a communicator may have several.
func (r *textReader) different(operation string) {
	n := *r.note
	if n.Operation != "" || n.Many > 0 || len(n.Odd) > 0 {
		r.report.Notes = append(r.report.Notes, n)
		r.note = &Note{Name: n.Name, Hash: n.Hash, Kind: n.Kind}
	}
	r.note.Operation, r.status, r.launched = operation, "", 0
}

// count reads how many processes are missing or dead, and how often NCCL waited in vain.
func (r *textReader) count(line string) bool {
	p := patterns()
	if m := p.silent.FindStringSubmatch(line); m != nil {
		r.report.SilentCount, _ = strconv.Atoi(m[1]) // digits
		r.processes = &r.report.Silent
		return true
	}
	if m := p.dead.FindStringSubmatch(line); m != nil {
		r.report.DeadCount, _ = strconv.Atoi(m[1])
		r.processes = &r.report.Dead
		return true
	}
	if m := p.timeouts.FindStringSubmatch(line); m != nil {
		r.report.Timeouts, _ = strconv.Atoi(m[1])
		return true
	}
	return false
}

func (r *textReader) process(m []string) bool {
	if m == nil || r.processes == nil {
		return false
	}
	pid, _ := strconv.Atoi(m[1])
	*r.processes = append(*r.processes, Process{Rank: -1, PID: pid, Host: m[2], GPU: m[3]})
	return true
}

// rank reads a rank that differs.
func (r *textReader) rank(m []string) bool {
	if m == nil {
		return false
	}
	rank, err := strconv.Atoi(m[1])
	if err != nil {
		return false
	}
	o := Odd{Process: Process{Rank: rank, GPU: m[5], Host: m[7]}, Status: m[4]}
	o.PID, _ = strconv.Atoi(m[6])
	o.Launched, _ = strconv.ParseUint(m[3], 10, 64)
	if m[2] == "" {
		o.Status, o.Launched = r.status, r.launched
	}
	r.note.Odd = append(r.note.Odd, o)
	return true
}

// many reads what several ranks have in common. The first such line is about most of them; the
// ranks below a later one are named one by one.
func (r *textReader) many(m []string) bool {
	if m == nil {
		return false
	}
	count, err := strconv.Atoi(m[1])
	if err != nil {
		return false
	}
	r.status = m[3]
	r.launched, _ = strconv.ParseUint(m[2], 10, 64)
	if r.note.Many == 0 {
		r.note.Many, r.note.Most = count, r.launched
	}
	return true
}
