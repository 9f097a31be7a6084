package meter

import (
	"strings"
)

// Clock is how well a machine's clock is kept.
type Clock struct {
	// Synchronised says that the clock follows a source.
	Synchronised bool `json:"synchronised"`
	// Source is the server's name or address, Stratum its distance from a reference clock, 0 where they are not said.
	Source  string `json:"source,omitempty"`
	Stratum int    `json:"stratum,omitempty"`
	// OffsetS is by how many seconds the clock is ahead of the source, nil where that is not said: timedatectl does not.
	OffsetS *float64 `json:"offset_s,omitempty"`
	// BoundS is by how many seconds the clock may be wrong at most: half the delay to the reference clock, the dispersion, and the offset.
	BoundS *float64 `json:"bound_s,omitempty"`
	Reading
}

// ReadChrony reads what `chronyc -c tracking` prints: https://chrony-project.org/doc/4.3/chronyc.html#tracking
func ReadChrony(text []byte) Clock {
	c := Clock{Reading: Reading{Whole: true}}
	for _, l := range lines(text, &c.Reading) {
		text := strings.TrimSpace(l.text)
		cells := strings.Split(text, ",")
		if len(cells) != 14 {
			if text != "" {
				c.lack("%s", text)
			}
			continue
		}
		c.tracking(l, cells)
		return c
	}
	c.lack("chrony gave no answer")
	return c
}

func (c *Clock) tracking(l line, cells []string) {
	stratum, ok1 := number(cells[2])
	offset, ok2 := number(cells[4])
	delay, ok3 := number(cells[10])
	dispersion, ok4 := number(cells[11])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		c.lack("line %d cannot be read: %s", l.number, l.quoted())
		return
	}
	c.Source, c.Stratum, c.Synchronised = clip(cells[1]), int(stratum), cells[13] != "Not synchronised"
	if c.Source == "" && c.Synchronised {
		c.Source = clip(cells[0])
	}
	if !c.Synchronised {
		return
	}
	offset = 0 - offset // chrony says by how much the clock is slow
	bound := max(offset, -offset) + delay/2 + dispersion
	c.OffsetS, c.BoundS = &offset, &bound
}

// ReadTimedatectl reads what `timedatectl show` prints.
func ReadTimedatectl(text []byte) Clock {
	c := Clock{Reading: Reading{Whole: true}}
	said := false
	for _, l := range lines(text, &c.Reading) {
		name, value, ok := strings.Cut(strings.TrimSpace(l.text), "=")
		if !ok && name != "" {
			c.lack("%s", name)
		}
		if name == "NTPSynchronized" && (value == "yes" || value == "no") {
			said, c.Synchronised = true, value == "yes"
		}
	}
	if !said {
		c.lack("timedatectl does not say whether the clock is synchronised")
	}
	return c
}
