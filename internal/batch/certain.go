package batch

import (
	"bytes"
	"slices"
	"strings"
)

// A rule reports an error only for what surely happens: not in a branch that the job may not take, not in a
// function that nothing calls, and not by a variable that has another value when it is read.

// certain tells whether something runs whenever the script does.
func (s *script) certain(c context) bool {
	return !c.maybe && (c.function == "" || s.calledFor(c.function, nil))
}

// calledFor tells whether a function is called outside of branches. within are the functions on the way to it.
func (s *script) calledFor(function string, within []string) bool {
	if slices.Contains(within, function) {
		return false
	}
	within = append(within, function)
	return slices.ContainsFunc(s.named(function), func(c *command) bool {
		return !c.maybe && (c.function == "" || s.calledFor(c.function, within))
	})
}

// uncalled tells whether something is in the body of a function whose name stands nowhere else.
func (s *script) uncalled(c context) bool {
	named := func(w word) bool { return w.function != c.function && strings.Contains(w.raw, c.function) }
	any := func(o *command) bool {
		return o.name == "" && !o.python() || slices.Contains([]string{"eval", "compgen"}, o.name)
	}
	exported := func(data []byte) bool {
		return bytes.Contains(data, []byte("export -f")) || bytes.Contains(data, []byte("declare -f"))
	}
	return c.function != "" && !slices.ContainsFunc(s.words, named) && !slices.ContainsFunc(s.commands, any) && !exported(s.file.data)
}

// stepsThatSee are the commands srun that may hand a variable on to their tasks.
func (s *script) stepsThatSee(v *variable) []*command {
	if v.task() {
		return []*command{v.srun}
	}
	var steps []*command
	for _, c := range s.named("srun") {
		scoped := v.scope == nil || v.scope == c || slices.Contains(c.outerCommands(), v.scope)
		follows := c.Line >= v.Line || c.function != "" || v.function != "" || c.looped
		if !c.task() && scoped && follows {
			steps = append(steps, c)
		}
	}
	return steps
}

// outerCommands are the commands that run a command, the innermost first.
func (c context) outerCommands() []*command {
	var all []*command
	for o := c.outer; o != nil; o = o.outer {
		all = append(all, o)
	}
	return all
}

// forOneNode tells whether all steps that see a variable have one node.
func (s *script) forOneNode(v *variable) bool {
	steps := s.stepsThatSee(v)
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(c *command) bool { return s.stepOf(c).nodes != 1 })
}

// overwritten tells whether a variable may get another value before a step sees it.
func (s *script) overwritten(v *variable) bool {
	return v.scope == nil && slices.ContainsFunc(s.variables, func(o *variable) bool {
		if o == v || o.name != v.name || o.bare || o.scope != nil || o.srun != v.srun {
			return false
		}
		if o.function != v.function {
			return true
		}
		return later(v, o) && !slices.ContainsFunc(s.stepsThatSee(v), func(c *command) bool { return c.Line < o.Line && c.function == v.function })
	})
}

// later tells whether an assignment stands behind another.
func later(v, o *variable) bool { return o.Line > v.Line || o.Line == v.Line && o.Column > v.Column }

// surelyUsed tells whether a command that surely runs has a variable's value, which is no other one by then.
func (s *script) surelyUsed(v *variable) bool {
	if s.overwritten(v) {
		return false
	}
	if s.readNames == nil {
		s.readNames = s.surelyRead()
	}
	return v.scope != nil || s.readNames[v.name]
}

// surelyRead are the variables that are in the words of commands that surely run, and those that they are put together from.
func (s *script) surelyRead() map[string]bool {
	read := map[string]bool{}
	var names []string
	add := func(raw string) {
		for _, e := range expansionsIn(raw) {
			if !read[e.name] {
				read[e.name], names = true, append(names, e.name)
			}
		}
	}
	runs := map[string]bool{"": true} // functions that surely do
	for _, name := range s.functions {
		runs[name] = s.calledFor(name, nil)
	}
	for _, w := range s.words {
		if w.role != assigned && w.role != operand && !w.maybe && runs[w.function] {
			add(w.raw)
		}
	}
	parts := map[string][]string{}
	for _, v := range s.variables {
		parts[v.name] = append(parts[v.name], v.raw)
		for _, w := range v.items {
			parts[v.name] = append(parts[v.name], w.raw)
		}
	}
	for i := 0; i < len(names); i++ {
		for _, raw := range parts[names[i]] {
			add(raw)
		}
	}
	return read
}
