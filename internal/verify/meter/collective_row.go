package meter

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// preamble finds how a row begins: size, count and type.
var preamble = pattern.New(`^\s*\d+\s+\d+\s+[a-z]`)

// row reads a line that may be a row, the begin of one that NCCL's first message cut, or its rest.
func (t *table) row(l line) {
	text := l.raw
	switch fields := strings.Fields(l.text); {
	case strings.Contains(l.text, " NCCL "):
		if len(text) > t.left && preamble().MatchString(l.text) {
			t.waits = text[:t.left]
		}
		return
	case t.waits != "" && len(fields) >= t.width && numeric(fields[0]) && numeric(fields[2]):
		text = t.waits + " " + strings.TrimPrefix(text, text[:len(l.raw)-len(l.text)])
	case preamble().MatchString(l.text):
	case numeric(fields[0]) && len(fields) < 3 && len(l.text)-len(strings.TrimLeft(l.text, " ")) > 0:
		t.lack("line %d is cut off: %s", l.number, l.quoted())
		return
	default:
		return
	}
	t.waits = ""
	r, ok := t.newRow(newLine(l.number, text))
	if !ok {
		t.lack("line %d is no whole row: %s", l.number, l.quoted())
		return
	}
	t.Rows = keep(t.Rows, r)
}

func numeric(word string) bool { _, ok := number(word); return ok }

// newRow takes a row's words from its end, as which of redop and root a row has differs between versions and collectives.
func (t *table) newRow(l line) (r Row, ok bool) {
	words := strings.Fields(l.text)
	if t.stamped && len(words) > 2 {
		words = words[:len(words)-2]
	}
	both := true
	if n := len(words) - 2*t.width; n < 3 {
		both = false
	}
	measures := t.width
	if both {
		measures *= 2
	}
	left := len(words) - measures
	if left < 3 || left > 5 || !r.begin(words[:left]) {
		return r, false
	}
	first := t.measure(words[left : left+t.width])
	if both {
		r.OutOfPlace, r.InPlace = first, t.measure(words[left+t.width:])
		return r, r.OutOfPlace != nil && r.InPlace != nil
	}
	if at := len(l.raw) - len(strings.TrimLeft(l.raw[min(t.left, len(l.raw)):], " ")); at > t.middle {
		r.InPlace = first
	} else {
		r.OutOfPlace = first
	}
	return r, first != nil
}

func (r *Row) begin(words []string) bool {
	bytes, ok1 := whole(words[0])
	count, ok2 := whole(words[1])
	r.Bytes, r.Count, r.Type, r.Root = bytes, count, clip(words[2]), -1
	for _, word := range words[3:] {
		if root, ok := whole(word); ok {
			r.Root = int(root)
		} else {
			r.RedOp = clip(word)
		}
	}
	return ok1 && ok2 && !numeric(words[2])
}

// measure is nil if the words are none.
func (t *table) measure(words []string) *Measure {
	var m Measure
	for i, to := range []*float64{&m.TimeUs, &m.AlgGBps, &m.BusGBps} {
		n, ok := number(words[i])
		if !ok {
			return nil
		}
		*to = n
	}
	if words[3] == "N/A" {
		return &m
	}
	n, ok := number(words[3])
	switch {
	case !ok:
		return nil
	case t.counts:
		wrong := int64(n)
		m.Wrong = &wrong
	default:
		m.Deviation = &n
	}
	return &m
}
