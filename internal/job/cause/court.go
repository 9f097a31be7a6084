package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job/message"
)

// court looks at the evidence of one run.
type court struct {
	Evidence
	all []finding
	// source is whose word is looked at.
	source Source
	// rows are what the table of messages says of each sign, said who says which, nodeOfRank where torchrun's tables have ranks,
	// and roots which of them they name as the first that failed.
	rows       []*message.Row
	said       map[string]*said
	nodeOfRank map[int]string
	roots      map[int]Sign
}

// finding is what one piece of evidence says.
type finding struct {
	class Class
	// detail goes on from what the class says; text is the finding by itself.
	detail, text string
	place        string
	// node is at fault, if there is one, for reason; drain as in Fault.
	node, reason string
	drain        bool
	source       Source
	// root says that the evidence itself says that this was first, at a time, if it says that.
	root bool
	time time.Time
	// alike is what further findings of its kind have in common, that are counted and not listed.
	alike string
	// weak findings explain only what nothing else does.
	weak bool
	// says, hint, blame and action take the place of what the class says, where they are not empty; later says that what follows
	// has to wait, guess that the class is likely and not certain.
	says, hint string
	blame      Blame
	action     Action
	later      bool
	guess      bool
}

func newCourt(e Evidence) *court {
	c := &court{Evidence: e}
	state, by, _ := strings.Cut(c.Run.State, " by ")
	c.Run.State = strings.ToUpper(strings.TrimSuffix(strings.TrimSpace(state), "+"))
	if c.Run.CancelledBy == "" {
		c.Run.CancelledBy = by
	}
	for _, look := range []struct {
		source Source
		at     func()
	}{{SourceSlurm, c.accounting}, {SourceKernel, c.kernel}, {SourceJob, c.log}, {SourceJob, c.hang}, {SourceSlurm, c.nodes}} {
		c.source = look.source
		look.at()
	}
	return c
}

func (c *court) add(f finding) {
	if f.text == "" {
		f.text = f.detail
	}
	f.source = c.source
	c.all = append(c.all, f)
}

// ranked are the cause and the other findings, in their order.
func (c *court) ranked() (finding, []finding) {
	order := slices.Clone(c.all)
	slices.SortStableFunc(order, func(a, b finding) int { return cmp.Or(c.weight(a)-c.weight(b), sooner(a, b)) })
	if len(order) == 0 {
		return finding{class: Unknown, detail: "nothing is known of its end"}, nil
	}
	return order[0], order[1:]
}

// sooner orders what says of itself that it was first, as each node's launcher does.
func sooner(a, b finding) int {
	if !a.root || !b.root || a.time.IsZero() || b.time.IsZero() {
		return 0
	}
	return a.time.Compare(b.time)
}

// weight orders findings: the class's place in the table, and of causes in a program what was
// first, as far as the evidence says so itself.
func (c *court) weight(f finding) int {
	const (
		each = 4
		weak = 1000
	)
	w := f.class.rank() * each
	switch { // a guess comes behind what is certain, and an outside service before connections that were lost with it
	case f.guess && f.class.hardware():
		w = Memory.rank()*each + 1
	case c.inProgram(f.class) && f.root:
		w = HostMemory.rank()*each + 1 + 2*boolInt(f.guess) // before all others of the program
	case f.guess:
		w += 2
	case f.blame == BlameService:
		w -= 2
	}
	if f.weak {
		w += weak
	}
	if f.root {
		w--
	}
	return w
}

// inProgram says that a class is about a process of the program, one of several that ended.
func (c *court) inProgram(class Class) bool {
	return class.rank() > HostMemory.rank() && class != Unknown
}

// faults are the nodes at fault, those that have to be drained first in each reason.
func (c *court) faults() []Fault {
	var all []Fault
	for _, f := range c.all {
		if f.node == "" || len(c.Run.Nodes) > 0 && !slices.Contains(c.Run.Nodes, f.node) {
			continue
		}
		i := slices.IndexFunc(all, func(o Fault) bool { return o.Node == f.node })
		if i < 0 {
			all = append(all, Fault{Node: f.node, Reason: f.reason, Drain: f.drain, Source: f.source})
			continue
		}
		if f.drain && !all[i].Drain {
			all[i].Reason, all[i].Drain = f.reason, true
		}
		if f.source.proven() && !all[i].Proven() {
			all[i].Source = f.source
		}
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// mostFindings are as many as anybody reads.
const mostFindings = 20

// findings are the cause and what else was found. Those that are alike are counted.
func findings(primary finding, rest []finding) []Finding {
	var all []Finding
	at, count := map[string]int{}, map[string]int{}
	for _, f := range slices.Concat([]finding{primary}, rest) {
		key := f.alike
		if key == "" {
			key = f.text + "\x00" + f.place
		}
		count[key]++
		if _, listed := at[key]; listed || len(all) == mostFindings || f.text == "" {
			continue
		}
		at[key] = len(all)
		all = append(all, Finding{Text: f.text, Place: f.place, Source: f.source, Follows: f.class.rank() > primary.class.rank()})
	}
	for key, i := range at {
		if n := count[key]; n > 1 {
			all[i].Text += fmt.Sprintf(" (%d times)", n)
		}
	}
	return all
}
