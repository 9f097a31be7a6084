package trainlog

import (
	"bytes"
	"strings"
)

// signs reads what went wrong, and how NCCL reaches other nodes. A line may be several signs: an exception that says that
// the GPU has no memory left is both.
func (r *Reader) signs(u unit) {
	if r.blocks(u) || sampled(u.text) {
		return
	}
	ended := false
	for _, f := range [...]struct {
		about topics
		read  func(text []byte, s *Sign) bool
	}{
		{aboutTorch, workerFailed},
		{aboutCUDA, cuda},
		{aboutNCCL, nccl},
		{aboutNetwork, network},
		{aboutSlurm, slurm},
		{aboutSrun, srun},
		{aboutKernel, kernel},
		{aboutHost, host},
		{aboutShown, shown},
		{aboutPython, interpreter},
		{aboutShell, shell},
		{aboutEarly, early},
		{aboutStepd | aboutSrun, ofSlurm},
		{aboutUsage, usage},
		{aboutMessage, beginning},
	} {
		if u.about&f.about == 0 || f.about == aboutHost && ended {
			continue
		}
		s := u.sign()
		if !f.read(u.text, &s) {
			continue
		}
		ended = ended || s.Kind == TaskEnded
		r.sign(u, s)
	}
}

// sampled reports whether a line shows a text that a program trains on or has written, whatever that says.
func sampled(text []byte) bool {
	label, _, ok := bytes.Cut(text, []byte(": "))
	if !ok || len(label) > len("a generation") {
		return false
	}
	switch strings.ToLower(string(label)) {
	case "prompt", "generated", "generation", "response", "completion", "question", "answer", "prediction", "reference":
		return true
	}
	return false
}

// sign is one with what the line's prefixes say.
func (u unit) sign() Sign {
	return Sign{Rank: u.origin.rank, Task: u.origin.task, LocalRank: u.origin.localRank}
}

// sign adds a sign, with where and when the line says it. Of a flood of them the first will do.
func (r *Reader) sign(u unit, s Sign) {
	if r.state.floods.of(s.Kind, r.next.Line) {
		return
	}
	s.Place = r.next
	if s.Time.IsZero() {
		s.Time = stamp(u.text)
	}
	if s.Rank == NoRank {
		s.Rank = rankIn(u.text)
	}
	if s.Text == "" {
		s.Text = clip(u.text)
	}
	r.found.Signs = append(r.found.Signs, s)
}

// floods counts signs: of a kind there are at most so many in so many lines.
type floods map[Kind]*struct{ from, count int64 }

const (
	mostSigns = 1000
	signLines = 20000
)

// of says whether this one is too many.
func (f *floods) of(k Kind, line int64) bool {
	if *f == nil {
		*f = floods{}
	}
	n := (*f)[k]
	if n == nil || line-n.from >= signLines {
		n = &struct{ from, count int64 }{from: line}
		(*f)[k] = n
	}
	n.count++
	return n.count > mostSigns
}

// rankIn finds the rank in "[Rank 3]", "[PG ID 0 PG GUID 0(default_pg) Rank 3]" or "[rank3]".
func rankIn(text []byte) int {
	for _, word := range [...]string{"Rank ", "[rank"} {
		at := bytes.Index(text, []byte(word))
		if at < 0 {
			continue
		}
		n, end := digits(text, at+len(word))
		if end > at+len(word) && end-at < 14 && end < len(text) && text[end] == ']' {
			return n
		}
	}
	return NoRank
}

// between is the text behind before, up to the first of the bytes in ends, or to the end.
func between(text []byte, before, ends string) (string, bool) {
	_, rest, ok := bytes.Cut(text, []byte(before))
	if !ok {
		return "", false
	}
	if n := bytes.IndexAny(rest, ends); n >= 0 {
		rest = rest[:n]
	}
	return clip(rest), true
}

// countAfter is the number behind before; 0 if there is none.
func countAfter(text []byte, before string) int {
	at := bytes.Index(text, []byte(before))
	if at < 0 {
		return 0
	}
	n, end := digits(text, at+len(before))
	if end-at-len(before) > 9 {
		return 0
	}
	return n
}

// signals are strsignal's words of Linux, as srun and bash print them.
var signals = []struct {
	word   string
	number int
}{
	{"Hangup", 1}, {"Interrupt", 2}, {"Quit", 3}, {"Illegal instruction", 4}, {"Trace/breakpoint trap", 5}, {"Aborted", 6},
	{"Bus error", 7}, {"Floating point exception", 8}, {"Killed", 9}, {"User defined signal 1", 10}, {"Segmentation fault", 11},
	{"User defined signal 2", 12}, {"Broken pipe", 13}, {"Alarm clock", 14}, {"Terminated", 15},
}

// signalOf is the signal that a text begins with; 0 if it is none.
func signalOf(text string) int {
	for _, s := range signals {
		if strings.HasPrefix(text, s.word) {
			return s.number
		}
	}
	return 0
}
