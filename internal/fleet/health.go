package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
)

// verdict is what health events come to.
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

// impairedCode is the event of an instance that fails EC2's status checks.
const impairedCode = "impaired"

// ending are the events after which the instance is no more.
var ending = []string{"instance-retirement", "instance-stop"}

// grade weighs the health events of an instance of a node in service. A verdict never ends
// a job that would survive the event.
func grade(w World, n Node, i provider.Instance) graded {
	var worst graded
	events := slices.Clone(i.Health)
	slices.SortStableFunc(events, func(a, b provider.HealthEvent) int { return strings.Compare(a.Code, b.Code) })
	for _, event := range events {
		g := gradeOne(w, n, i, event)
		if g.verdict > worst.verdict {
			worst = g
		}
	}
	return worst
}

func gradeOne(w World, n Node, i provider.Instance, event provider.HealthEvent) graded {
	if event.Code == impairedCode {
		reason := impaired(w, i)
		switch {
		case reason == "":
			return graded{}
		case n.Silent:
			return graded{verdictLost, reason}
		}
		return graded{verdictDrain, reason}
	}
	if slices.Contains(ending, event.Code) && !w.Now.Before(event.NotBefore) {
		return graded{verdictLost, event.Code + " is due" + tail(event.Text)}
	}
	reason := event.Code + " is announced" + when(event.NotBefore) + tail(event.Text)
	switch {
	case n.Busy && n.Until.IsZero():
		reason += "; it has a job that may run longer"
	case n.Busy && n.Until.After(event.NotBefore):
		reason += "; it has a job that may run until " + n.Until.UTC().Format(blockTime)
	}
	return graded{verdictDrain, reason}
}

// impaired is why an instance counts as impaired, empty if it does not, or not
// for long enough.
func impaired(w World, i provider.Instance) string {
	for _, event := range i.Health {
		if event.Code == impairedCode && since(w.Now, event.Since, w.Limits.Impaired) {
			return fmt.Sprintf("its instance has been impaired for %s%s", w.Limits.Impaired, tail(event.Text))
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
