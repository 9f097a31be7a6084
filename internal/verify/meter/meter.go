// Package meter reads what measuring programs print: nccl-tests, IOR, mdtest, fio, fi_info, nvidia-smi, DCGM and NCCL itself, in all
// forms of their versions. It never panics, and says of what it cannot read that it cannot. What it reads of an output is bounded:
// the first Limit bytes, WordLimit bytes of a word, RowLimit rows of a kind, and the first problems.
package meter

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Bounds of what is read.
const (
	// Limit is how many bytes of an output are read.
	Limit = 16 << 20
	// RowLimit is how many rows, devices or messages of one kind are kept.
	RowLimit = 65536
	// WordLimit is how many bytes of a name or a message are kept.
	WordLimit = 512
	// lineLimit is how many bytes of a line are read, problemLimit how many problems are kept.
	lineLimit    = 16 << 10
	problemLimit = 20
)

// Reading says how well an output was read.
type Reading struct {
	// Whole says that the output begins, ends, and could be read in between. What an output that is not whole has is as good as
	// its Problems let it be.
	Whole bool `json:"whole"`
	// Problems are what could not be read and what is missing, in plain sentences without end, at most 20.
	Problems []string `json:"problems,omitempty"`
}

// lack notes what keeps an output from being whole.
func (r *Reading) lack(format string, args ...any) {
	r.Whole = false
	if len(r.Problems) < problemLimit {
		r.Problems = append(r.Problems, clip(fmt.Sprintf(format, args...)))
	}
}

// line is one line of an output.
type line struct {
	number int // from 1
	// process is the rank that srun -l or mpirun wrote before the line, empty if none.
	process string
	// text is the line behind that, raw the whole of it, both without what ends a line and what only moves a cursor.
	text, raw string
}

// quoted is a line for a problem.
func (l line) quoted() string { return strconv.Quote(short(strings.TrimSpace(l.text), 80)) }

// ranked finds what srun -l ("0: ") and mpirun's tags of output ("[1,0]<stdout>:", "[prterun-node-1234@1,0]<stderr>: ") write before lines.
var ranked = pattern.New(`^(?:\[(?:[^\]\s]*@)?\d+,(\d+)\]<std(?:out|err)>: ?| *(\d{1,7}):(?: |$))`)

// escaped finds sequences for terminals.
var escaped = pattern.New("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[@-Z\\\\-_]")

// lines are those of an output, as far as it is read, without the last one if that is empty.
func lines(text []byte, r *Reading) []line {
	if len(text) > Limit {
		text = text[:Limit]
		r.lack("only the first %d MiB are read", Limit>>20)
	}
	all := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	out := make([]line, 0, len(all))
	for i, raw := range all {
		if len(raw) > lineLimit {
			raw = raw[:lineLimit]
			r.lack("line %d is longer than %d bytes", i+1, lineLimit)
		}
		out = append(out, newLine(i+1, tidy(raw)))
	}
	return out
}

func newLine(number int, raw string) line {
	l := line{number: number, text: raw, raw: raw}
	if raw == "" || !strings.ContainsAny(raw[:1], "[ 0123456789") {
		return l
	}
	if at := ranked().FindStringSubmatchIndex(raw); at != nil {
		l.text = raw[at[1]:]
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				l.process = raw[at[i]:at[i+1]]
			}
		}
	}
	return l
}

// tidy is a line as a terminal would have it: behind the last return of the cursor, without colours, and with ? for what is no character.
func tidy(raw string) string {
	raw = strings.TrimRight(raw, "\r")
	if i := strings.LastIndexByte(raw, '\r'); i >= 0 {
		raw = raw[i+1:]
	}
	if strings.IndexByte(raw, 0x1b) >= 0 {
		raw = escaped().ReplaceAllString(raw, "")
	}
	return strings.Map(func(c rune) rune {
		if c != '\t' && (c < ' ' || c == 0x7f || c == '\ufffd' || c >= 0x80 && c < 0xa0) {
			return '?'
		}
		return c
	}, raw)
}

// clip bounds a word or a message, and makes it fit for a terminal.
func clip(s string) string { return tidy(short(s, WordLimit)) }

func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// number is a finite number, and whether the word is one.
func number(word string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// whole is an integer, and whether the word is one.
func whole(word string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
	return n, err == nil
}

// keep appends if there is room.
func keep[T any](all []T, one T) []T {
	if len(all) >= RowLimit {
		return all
	}
	return append(all, one)
}
