package meter

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// FabricLog is what the log of NVIDIA's fabric manager has: /var/log/fabricmanager.log.
type FabricLog struct {
	// Entries is how many entries there are; First and Last are their times as the log writes them, in the machine's own time zone.
	Entries int    `json:"entries"`
	First   string `json:"first,omitempty"`
	Last    string `json:"last,omitempty"`
	// Errors and Warnings are the entries of those levels, the first ones.
	Errors   []FabricEntry `json:"errors,omitempty"`
	Warnings []FabricEntry `json:"warnings,omitempty"`
	Reading
}

// FabricEntry is an entry of the log.
type FabricEntry struct {
	Time string `json:"time"`
	Text string `json:"text"`
}

var entered = pattern.New(`^\[([A-Z][a-z]{2} \d+ \d{4} [0-9:]+)\] \[([A-Z]+)\] \[tid \d+\] (.*)$`)

// ReadFabricLog reads the fabric manager's log, or the end of it. Lines of an entry behind its first are skipped.
func ReadFabricLog(text []byte) FabricLog {
	f := FabricLog{Reading: Reading{Whole: true}}
	for _, l := range lines(text, &f.Reading) {
		m := entered().FindStringSubmatch(strings.TrimSpace(l.text))
		if m == nil {
			if strings.HasPrefix(l.text, "[") {
				f.lack("line %d cannot be read: %s", l.number, l.quoted())
			}
			continue
		}
		f.Entries++
		if f.First == "" {
			f.First = m[1]
		}
		f.Last = m[1]
		one := FabricEntry{Time: m[1], Text: clip(m[3])}
		switch m[2] {
		case "ERROR", "FATAL", "CRITICAL":
			f.Errors = keep(f.Errors, one)
		case "WARNING", "WARN":
			f.Warnings = keep(f.Warnings, one)
		}
	}
	if f.Entries == 0 {
		f.lack("there are no entries")
	}
	return f
}
