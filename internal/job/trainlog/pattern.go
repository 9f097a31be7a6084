package trainlog

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pattern is a user's regular expression for lines of progress. Groups have the names of what they hold:
//
//	step=(?P<step>\d+) loss=(?P<loss>\S+) lr=(?P<lr>\S+)
type Pattern struct {
	exp    *regexp.Regexp
	groups []func(*Sample) *Value // by the group's index; nil is no value
	step   int                    // the group's index; 0 is none
	steps  int
	eval   int
	needle []byte // stands in every line that matches
}

// groupNames are the names that groups may have, and what they hold.
var groupNames = []struct {
	name  string
	value func(*Sample) *Value
}{
	{"step", nil},
	{"steps", nil},
	{"epoch", func(s *Sample) *Value { return &s.Epoch }},
	{"loss", func(s *Sample) *Value { return &s.Loss }},
	{"eval_loss", nil},
	{"lr", func(s *Sample) *Value { return &s.LearningRate }},
	{"grad_norm", func(s *Sample) *Value { return &s.GradNorm }},
	{"samples_per_second", func(s *Sample) *Value { return &s.SamplesPerSecond }},
	{"tokens_per_second", func(s *Sample) *Value { return &s.TokensPerSecond }},
	{"tokens_per_second_per_gpu", func(s *Sample) *Value { return &s.TokensPerSecondPerGPU }},
	{"tflops_per_gpu", func(s *Sample) *Value { return &s.TFLOPsPerGPU }},
	{"step_seconds", func(s *Sample) *Value { return &s.StepSeconds }},
}

// GroupNames are the names that groups of a pattern may have.
func GroupNames() []string {
	var names []string
	for _, g := range groupNames {
		names = append(names, g.name)
	}
	return names
}

// Compile reads a user's pattern. It needs at least one group with a known name, and has none with another.
func Compile(text string) (*Pattern, error) {
	exp, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{exp: exp, groups: make([]func(*Sample) *Value, exp.NumSubexp()+1), needle: []byte(needleOf(text))}
	known := 0
	for i, name := range exp.SubexpNames() {
		if name == "" {
			continue
		}
		at := slices.Index(GroupNames(), name)
		if at < 0 {
			return nil, fmt.Errorf("no group is named %q; names are %s", name, strings.Join(GroupNames(), ", "))
		}
		known++
		p.groups[i] = groupNames[at].value
		switch name {
		case "step":
			p.step = i
		case "steps":
			p.steps = i
		case "eval_loss":
			p.eval = i
		}
	}
	if known == 0 {
		return nil, fmt.Errorf("no group has a name, such as (?P<loss>\\S+); names are %s", strings.Join(GroupNames(), ", "))
	}
	return p, nil
}

// String is the expression.
func (p *Pattern) String() string { return p.exp.String() }

// match reads a line, first without the prefixes that srun and torchrun put before it: a sample, and one of an evaluation
// where it says both.
func (p *Pattern) match(u unit) []Sample {
	if !bytes.Contains(u.whole, p.needle) {
		return nil
	}
	all := p.read(u.text)
	if all == nil && u.origin.prefix > 0 {
		return p.read(u.whole)
	}
	return all
}

func (p *Pattern) read(line []byte) []Sample {
	at := p.exp.FindSubmatchIndex(line)
	if at == nil {
		return nil
	}
	s, eval, said := Sample{Format: User, Step: NoStep}, Value{}, false
	for i := 1; i < len(p.groups); i++ {
		if at[2*i] < 0 {
			continue
		}
		v := groupValue(line[at[2*i]:at[2*i+1]])
		counts := v.Float >= 0 && v.Float < 1e15
		switch {
		case !v.Known:
			continue
		case i == p.step && counts:
			s.Step = int64(math.Round(v.Float))
		case i == p.steps && counts:
			s.Steps = int64(math.Round(v.Float))
		case i == p.eval:
			eval = v
		case p.groups[i] != nil:
			*p.groups[i](&s) = v
		default:
			continue
		}
		said = true
	}
	return evaluated(s, eval, said)
}

// evaluated is a sample with the loss of an evaluation: one of that alone where the line says no other loss.
func evaluated(s Sample, eval Value, said bool) []Sample {
	switch {
	case !said:
		return nil
	case !eval.Known:
		return []Sample{s}
	case !s.Loss.Known:
		s.Loss, s.Eval = eval, true
		return []Sample{s}
	}
	return []Sample{s, {Format: User, Step: s.Step, Steps: s.Steps, Epoch: s.Epoch, Eval: true, Loss: eval}}
}

// groupValue reads what a group holds: a number, maybe with commas between thousands, with spaces or quotes around it and
// a comma or a percent sign behind.
func groupValue(text []byte) Value {
	text = bytes.Trim(text, " \t'\",;%[]()")
	v, n := numberAt(text, true)
	if n != len(text) {
		return Value{}
	}
	return v
}

// needleOf is the longest text that stands in everything that the expression matches, as far as that is easy to say.
func needleOf(text string) string {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return ""
	}
	return longest(tree.Simplify())
}

func longest(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		// Bytes that are no text match U+FFFD, which is not what they are.
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError) {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return longest(re.Sub[0])
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if s := longest(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	}
	return ""
}
