package errand

import (
	"slices"
	"strings"
)

const (
	// mostText is the most of a text of an answer that is taken, mostPath of a path, in bytes: no
	// longer one can be opened.
	mostText = 1000
	mostPath = 4096
	// mostCheckpoints is how many of the newest checkpoints are taken.
	mostCheckpoints = 1000
)

// bounded is what is taken of an answer: the process is its user's, and may say anything.
func (a answer) bounded() answer {
	long := func(path string) bool { return len(path) > mostPath || strings.ContainsRune(path, 0) }
	a.Checkpoints = slices.DeleteFunc(a.Checkpoints[:min(len(a.Checkpoints), mostCheckpoints)], func(c Checkpoint) bool { return long(c.Dir) })
	for i := range a.Checkpoints {
		c := &a.Checkpoints[i]
		c.Layout, c.Torn, c.Doubt = clip(c.Layout), clip(c.Torn), clip(c.Doubt)
	}
	if d := a.Diagnosis; d != nil {
		d.Stuck, d.Repairs = clip(d.Stuck), bounded(d.Repairs)
	}
	return a
}

func bounded(all []Repair) []Repair {
	all = slices.DeleteFunc(all[:min(len(all), mostRepairs)], func(r Repair) bool {
		return max(len(r.Path), len(r.Now), len(r.Was)) > mostPath
	})
	for i := range all {
		all[i].Why, all[i].Left = clip(all[i].Why), clip(all[i].Left)
	}
	return all
}

// clip cuts a text that is too long.
func clip(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "..."
}
