package batch

import (
	"slices"
	"strings"
)

// constraint is what --constraint and --prefer ask of nodes. Slurm evaluates it from
// left to right, where & and , are "and" (sbatch(1); tried with Slurm 22.05).
type constraint struct {
	// names are the features in their order.
	names []string
	// broken says that every Slurm refuses it: a bracket is open, or a name is missing.
	broken bool
	// hard says that it has counts or brackets, about which versions of Slurm differ, or
	// which are about several nodes together. Then only the names are looked at.
	hard bool
	// terms are the parts between & and |, and operators those in front of each but
	// the first.
	terms     []term
	operators []byte
}

// term is a name, or in parentheses a constraint.
type term struct {
	name  string
	group *constraint
}

// maxConstraint is far longer than a constraint gets.
const maxConstraint = 4096

// parseConstraint reads the value of --constraint.
func parseConstraint(text string) constraint {
	if len(text) > maxConstraint {
		return constraint{hard: true}
	}
	p := constraintParser{text: text}
	c := p.list(0)
	c.names, c.hard = p.names, p.hard
	c.broken = p.broken || p.at < len(text)
	return c
}

type constraintParser struct {
	text         string
	at           int
	names        []string
	broken, hard bool
}

// next is the character that comes, 0 at the end.
func (p *constraintParser) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// list reads terms up to the end or to a closing bracket. An operator behind the last
// term is no mistake to Slurm.
func (p *constraintParser) list(depth int) constraint {
	var c constraint
	for {
		c.terms = append(c.terms, p.term(depth))
		op := p.next()
		if p.broken || op == 0 || !strings.ContainsRune("&|,", rune(op)) {
			return c
		}
		if p.at++; p.next() == 0 {
			return c
		}
		c.operators = append(c.operators, op)
	}
}

func (p *constraintParser) term(depth int) term {
	closing := map[byte]byte{'(': ')', '[': ']'}[p.next()]
	if closing == 0 {
		return term{name: p.name()}
	}
	// Slurm up to 22.05 takes no brackets in each other, later ones take some.
	p.hard = p.hard || closing == ']' || depth > 0
	p.at++
	inside := p.list(depth + 1)
	if p.next() != closing {
		p.broken = true
		return term{}
	}
	p.at++
	p.count()
	return term{group: &inside}
}

// name reads a feature and how many nodes are to have it.
func (p *constraintParser) name() string {
	end := strings.IndexAny(p.text[p.at:], "&|,()[]*")
	if end < 0 {
		end = len(p.text) - p.at
	}
	name := p.text[p.at : p.at+end]
	if name == "" {
		p.broken = true
		return ""
	}
	p.at += end
	p.names = append(p.names, name)
	p.count()
	return name
}

// count reads *N, how many nodes are to have what stands before it.
func (p *constraintParser) count() {
	if p.next() != '*' {
		return
	}
	p.hard = true
	rest := p.text[p.at+1:]
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if number(rest[:digits]) == 0 {
		p.broken = true
	}
	p.at += 1 + digits
}

// holds reports whether a node with some features fits. That is not known if the
// constraint is hard, or if "and before or" gives another answer than "from left to
// right".
func (c constraint) holds(features []string) (holds, known bool) {
	if c.hard || c.broken {
		return false, false
	}
	left, known := c.terms[0].holds(features)
	any, all := false, left
	for i, op := range c.operators {
		next, sure := c.terms[i+1].holds(features)
		known = known && sure
		if op == '|' {
			left, any, all = left || next, any || all, next
			continue
		}
		left, all = left && next, all && next
	}
	return left, known && left == (any || all)
}

func (t term) holds(features []string) (holds, known bool) {
	if t.group != nil {
		return t.group.holds(features)
	}
	return slices.Contains(features, t.name), true
}
