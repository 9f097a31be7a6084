package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
)

// verdict is what doubts come to.
type verdict int

const (
	_ verdict = iota
	// verdictDrain: no new job starts there, and the instance is replaced when it is
	// idle.
	verdictDrain
	// verdictLost: no job survives there.
	verdictLost
)

type graded struct {
	verdict verdict
	reason  string
}

// impairedCode is the doubt of an instance that fails EC2's status checks.
const impairedCode = "impaired"

// ending are the events after which the instance is no more.
var ending = []string{"instance-retirement", "instance-stop"}

// grade weighs the doubts about an instance of a node in service. A doubt costs a
// job nothing that it would not lose anyway.
func grade(w World, n Node, i provider.Instance) graded {
	var worst graded
	doubts := slices.Clone(i.Doubts)
	slices.SortFunc(doubts, func(a, b provider.Doubt) int { return strings.Compare(a.Code, b.Code) })
	for _, doubt := range doubts {
		g := gradeOne(w, n, i, doubt)
		if g.verdict > worst.verdict {
			worst = g
		}
	}
	return worst
}

func gradeOne(w World, n Node, i provider.Instance, doubt provider.Doubt) graded {
	if doubt.Code == impairedCode {
		reason := impaired(w, i)
		switch {
		case reason == "":
			return graded{}
		case n.Silent:
			return graded{verdictLost, reason}
		}
		return graded{verdictDrain, reason}
	}
	if slices.Contains(ending, doubt.Code) && !w.Now.Before(doubt.NotBefore) {
		return graded{verdictLost, doubt.Code + " is due" + tail(doubt.Text)}
	}
	reason := doubt.Code + " is announced" + when(doubt.NotBefore) + tail(doubt.Text)
	switch {
	case n.Busy && n.Until.IsZero():
		reason += "; it has a job that may run longer"
	case n.Busy && n.Until.After(doubt.NotBefore):
		reason += "; it has a job that may run until " + n.Until.UTC().Format(blockTime)
	}
	return graded{verdictDrain, reason}
}

// impaired is why an instance counts as impaired, empty if it does not, or not
// for long enough.
func impaired(w World, i provider.Instance) string {
	for _, doubt := range i.Doubts {
		if doubt.Code == impairedCode && since(w.Now, doubt.Since, w.Limits.Impaired) {
			return fmt.Sprintf("its instance has been impaired for %s%s", w.Limits.Impaired, tail(doubt.Text))
		}
	}
	return ""
}

func tail(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " for " + at.UTC().Format(blockTime)
}
