package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Problem is a row of a program's output that could not be read. The others
// were.
type Problem struct {
	// Row is the row, shortened.
	Row string `json:"row"`
	// Text says what is wrong with it.
	Text string `json:"text"`
	// Job and ArrayJob are the numbers of a job that there is, and of its array or itself, where that is known: see Proven.
	Job      int `json:"job,omitempty"`
	ArrayJob int `json:"array_job,omitempty"`
}

func (p Problem) Error() string { return fmt.Sprintf("%s, in %q", p.Text, p.Row) }

// record is one row of scontrol's, "Key=Value Key=Value ...". Values may have
// spaces, equal signs and line breaks in them, and nothing is quoted.
type record struct {
	row    string
	values map[string]string
	loc    *time.Location
	// wrong is the first thing that could not be read.
	wrong error
}

// grammar says how the records of one kind are cut.
type grammar struct {
	// first is the key that starts a record.
	first string
	// keys are the keys that may follow a value in free text.
	keys map[string]bool
	// free are the keys whose values are free text: in them, only what is in
	// keys ends the value.
	free map[string]bool
}

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// records cuts scontrol's output, one line a record or many. Text before the
// first record ("No jobs in the system") is dropped.
func (g grammar) records(output []byte, loc *time.Location) []record {
	var rows []string
	var row strings.Builder
	flush := func() {
		if row.Len() > 0 {
			rows = append(rows, row.String())
		}
		row.Reset()
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(output), "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, g.first+"="):
			flush()
			row.WriteString(line)
		case row.Len() == 0:
		case strings.HasPrefix(line, "   "):
			row.WriteString(" " + strings.TrimLeft(line, " "))
		default:
			row.WriteString("\n" + line)
		}
	}
	flush()
	list := make([]record, len(rows))
	for i, row := range rows {
		list[i] = record{row: row, values: g.cut(row), loc: loc}
	}
	return list
}

// cutAround cuts a row whose value of one key, which the row has at from:to, is
// known.
func (g grammar) cutAround(row, key string, from, to int) map[string]string {
	values := g.cut(row[:from] + row[to:])
	values[key] = row[from:to]
	return values
}

// cut finds the keys and values of a row. Of a key that comes twice, the first
// value counts.
func (g grammar) cut(row string) map[string]string {
	values := map[string]string{}
	key, start := "", 0
	keep := func(end int) {
		if _, twice := values[key]; key != "" && !twice {
			values[key] = strings.TrimRight(row[start:end], " \n")
		}
	}
	for at := 0; at < len(row); {
		if next, ok := g.keyAt(row[at:], g.free[key]); ok {
			keep(max(at-1, 0))
			key, start = next, at+len(next)+1
		}
		space := strings.IndexByte(row[at:], ' ')
		if space < 0 {
			break
		}
		at += space + 1
	}
	keep(len(row))
	return values
}

// keyAt is the key that text starts with.
func (g grammar) keyAt(text string, inFree bool) (string, bool) {
	end := strings.IndexAny(text, "= \n")
	if end <= 0 || text[end] != '=' {
		return "", false
	}
	key := text[:end]
	if g.keys[key] {
		return key, true
	}
	return key, !inFree && key[0] >= 'A' && key[0] <= 'Z' && !strings.ContainsAny(key, ",()[]")
}

// text is a value, with Slurm's words for nothing as "".
func (r *record) text(key string) string {
	switch v := r.values[key]; v {
	case "(null)", "N/A", "n/a":
		return ""
	default:
		return v
	}
}

// first is the first of the keys that has a value.
func (r *record) first(keys ...string) string {
	for _, key := range keys {
		if v := r.text(key); v != "" {
			return v
		}
	}
	return ""
}

// int is a whole number; of a range ("4-8") it is the lower end.
func (r *record) int(key string) int {
	v := r.text(key)
	if v == "" || v == "UNLIMITED" {
		return 0
	}
	low, _, _ := strings.Cut(v, "-")
	n, err := strconv.Atoi(low)
	if err != nil {
		r.fail(fmt.Errorf("%s=%q is no number", key, shorten(v)))
	}
	return n
}

func (r *record) time(key string) time.Time {
	t, err := parseTime(r.values[key], r.loc)
	if err != nil {
		r.fail(fmt.Errorf("%s: %w", key, err))
	}
	return t
}

func (r *record) duration(key string) time.Duration {
	d, err := parseDuration(r.values[key])
	if err != nil {
		r.fail(fmt.Errorf("%s: %w", key, err))
	}
	return d
}

func (r *record) fail(err error) {
	if r.wrong == nil {
		r.wrong = err
	}
}

// parsed reads all records. Those that cannot be read are problems.
func parsed[T any](records []record, of func(*record) T) (all []T, problems []Problem) {
	for i := range records {
		r := &records[i]
		value := of(r)
		if r.wrong != nil {
			problems = append(problems, Problem{Row: shorten(r.row), Text: r.wrong.Error()})
			continue
		}
		all = append(all, value)
	}
	return all, problems
}
