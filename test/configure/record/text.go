package main

import (
	"regexp"
	"strings"
)

var (
	attribute = regexp.MustCompile(`node(?:\[['"][\w-]+['"]\])+`)
	key       = regexp.MustCompile(`\[['"]([\w-]+)['"]\]`)
	inserted  = regexp.MustCompile(`#\{([^{}]*)\}`)
	lazily    = regexp.MustCompile(`^(?:lazy|DelayedEvaluator\.new) ?\{(.*)\}$`)
	// unlikely are conditions of the cookbook's own tests and of another scheduler.
	unlikely = regexp.MustCompile(`docker|kitchen|awsbatch|scheduler'\] == 'slurm'|systemd\?`)
	spaces   = regexp.MustCompile(`\s+`)
)

// attributeName is an attribute of Chef's by its path: cluster.scheduler.
func attributeName(text string) string {
	var parts []string
	for _, m := range key.FindAllStringSubmatch(text, -1) {
		parts = append(parts, m[1])
	}
	return strings.Join(parts, ".")
}

// text is an expression's value, as far as assignments and attributes tell it: what is
// known only on the machine stays as <name>.
func (p *parser) text(expression string) string {
	t := strings.TrimSpace(expression)
	if m := lazily.FindStringSubmatch(t); m != nil {
		t = strings.TrimSpace(m[1])
	}
	quoted := strings.HasPrefix(t, `"`) || strings.HasPrefix(t, `'`)
	if !quoted {
		if v, ok := p.value(t); ok {
			return v
		}
		t = attribute.ReplaceAllStringFunc(t, func(a string) string { return "<" + attributeName(a) + ">" })
		return p.loops(clean(t))
	}
	t = strings.Trim(t, `"'`)
	t = inserted.ReplaceAllStringFunc(t, func(s string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(s, "#{"), "}")
		if v, ok := p.value(inner); ok {
			return v
		}
		if attribute.MatchString(inner) {
			inner = attributeName(attribute.FindString(inner))
		}
		return "<" + inner + ">"
	})
	return clean(t)
}

// value is that of a variable or an attribute, if it is known.
func (p *parser) value(name string) (string, bool) {
	if attribute.FindString(name) == name {
		name = attributeName(name)
	}
	for _, f := range p.frames {
		if f.loop != "" && f.loop == name {
			return f.items, true
		}
	}
	v, ok := p.values[name]
	return v, ok
}

// loops puts the things in for a loop's variable.
func (p *parser) loops(t string) string {
	for _, f := range p.frames {
		if f.loop == t && t != "" {
			return f.items
		}
	}
	return t
}

func clean(t string) string {
	t = spaces.ReplaceAllString(strings.NewReplacer("\t", " ", "%w(", "", "%i(", "").Replace(t), " ")
	return strings.TrimSpace(strings.TrimRight(t, ")"))
}

// condition is one that is about the cluster, in few words; others are empty.
func condition(text string) string {
	if text == "" || unlikely.MatchString(text) {
		return ""
	}
	t := attribute.ReplaceAllStringFunc(text, func(a string) string { return strings.TrimPrefix(attributeName(a), "cluster.") })
	t = strings.NewReplacer(`'`, "", `"`, "", "::File.", "").Replace(t)
	t = spaces.ReplaceAllString(strings.TrimSpace(t), " ")
	if t == "do" || t == "not do" {
		return "a block"
	}
	return strings.ReplaceAll(t, "not not ", "")
}

// join puts conditions or details together.
func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "" || a == b:
		return a
	}
	return a + "; " + b
}
