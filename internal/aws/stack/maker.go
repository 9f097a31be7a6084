package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/spec"
)

// maker decides the stacks, one after the other.
type maker struct {
	file  *spec.Cluster
	work  *spec.Workload
	facts Facts
	// problems are why the cluster cannot be made.
	problems []error

	net      network
	groups   groups
	rules    map[opening]bool
	bucket   value
	logGroup value
	mounts   []mount
	// zone is the hosted zone of the nodes' names; absent where muster keeps none.
	zone     value
	zoneName string
}

// fail remembers why the cluster cannot be made. No stack is made if there is one
// reason; all of them are said at once.
func (m *maker) fail(format string, args ...any) {
	m.problems = append(m.problems, fmt.Errorf(format, args...))
}

// part is a stack in the making.
type part struct {
	*Stack
	m *maker
}

func (m *maker) part(name, description string) *part {
	return &part{Stack: &Stack{Name: name, Template: cfn.Template{Description: description}, Tags: m.stackTags()}, m: m}
}

// value is something that stacks refer to: a literal where it exists already, or
// an output of a stack.
type value struct {
	literal string
	// name is the output's and the later stacks' parameter's, expression what it is in
	// its own stack: a resource, or a resource and its attribute with a dot.
	name, expression string
	home             *part
}

// existing is a value that is known.
func existing(literal string) value { return value{literal: literal} }

// existingAll are values that are known.
func existingAll(literals []string) []value {
	var out []value
	for _, one := range literals {
		out = append(out, existing(one))
	}
	return out
}

// absent reports whether there is no such thing.
func (v value) absent() bool { return v.literal == "" && v.name == "" }

// add makes a resource and is a value of it under the resource's name.
func (p *part) add(r cfn.Resource) value {
	p.Template.Resources = append(p.Template.Resources, r)
	return value{expression: r.ID, home: p, name: r.ID}
}

// out is an output of the stack.
func (p *part) out(name, expression string) value {
	v := value{name: name, expression: expression, home: p}
	p.Template.Outputs = append(p.Template.Outputs, cfn.Output{Name: name, Value: p.text(v)})
	return v
}

// text is a value as this stack says it. One of an earlier stack becomes a
// parameter.
func (p *part) text(v value) cfn.Text {
	if v.home == nil {
		return cfn.Lit(v.literal)
	}
	name := p.local(v)
	if id, attribute, ok := strings.Cut(name, "."); ok {
		return cfn.Att(id, attribute)
	}
	return cfn.Ref(name)
}

func (p *part) texts(all []value) []cfn.Text {
	var out []cfn.Text
	for _, v := range all {
		out = append(out, p.text(v))
	}
	return out
}

// sub is a value as it stands within the text of a cfn.Sub.
func (p *part) sub(v value) string {
	if v.home == nil {
		return v.literal
	}
	return "${" + p.local(v) + "}"
}

// local is a value's name in this stack.
func (p *part) local(v value) string {
	if v.home == p {
		return v.expression
	}
	if !slices.Contains(p.Inputs, v.name) {
		p.Inputs = append(p.Inputs, v.name)
		p.Template.Parameters = append(p.Template.Parameters, cfn.Parameter{Name: v.name, Description: "Output of stack " + v.home.Name})
	}
	return v.name
}

// tags of something, with a name that people see. Those of the file come first;
// none of them can take muster's place.
func (m *maker) tags(name string, extra ...cfn.Tag) []cfn.Tag {
	return m.merged(m.file.Tags, append([]cfn.Tag{tag("Name", m.facts.Name+"-"+name)}, extra...))
}

// merged are tags of muster's and of the file. Of two with one key the later counts.
func (m *maker) merged(from []spec.Tag, own []cfn.Tag) []cfn.Tag {
	out := append([]cfn.Tag{tag("muster:cluster", m.facts.Name)}, own...)
	fixed := len(out)
	for _, t := range from {
		i := slices.IndexFunc(out, func(have cfn.Tag) bool { return have.Key == t.Key })
		switch {
		case i < 0:
			out = append(out, tag(t.Key, t.Value))
		case i >= fixed || t.Key == "Name":
			out[i] = tag(t.Key, t.Value)
		}
	}
	return out
}

func (m *maker) stackTags() map[string]string {
	out := map[string]string{}
	for _, t := range m.merged(m.file.Tags, nil) {
		out[t.Key], _ = t.Value.Literal()
	}
	return out
}

func tag(key, text string) cfn.Tag { return cfn.Tag{Key: key, Value: cfn.Lit(text)} }

// id is a logical name made of the words of names: GpuQueue of gpu-queue. Where
// different names could give the same words, a digest tells them apart.
func id(prefix string, names ...string) string {
	var b strings.Builder
	b.WriteString(prefix)
	plain := len(names) == 1
	for _, name := range names {
		upper := true
		for _, c := range name {
			letter := c >= 'a' && c <= 'z'
			switch {
			case letter && upper:
				b.WriteRune(c - 'a' + 'A')
			case letter || c >= '0' && c <= '9' && !upper:
				b.WriteRune(c)
			case c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
				plain = false
				b.WriteRune(c)
			case c != '-' || upper:
				plain = false
			}
			upper = !(letter || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z')
		}
		plain = plain && !upper
	}
	if !plain {
		sum := sha256.Sum256([]byte(strings.Join(names, "/")))
		b.WriteString(strings.ToUpper(hex.EncodeToString(sum[:3])))
	}
	return b.String()
}

// arn is an Amazon resource name of the cluster's account and region.
func (m *maker) arn(service, resource string) string {
	return "arn:" + m.facts.Partition + ":" + service + ":" + m.facts.Region + ":" + m.facts.Account + ":" + resource
}

// s3 is the name of a bucket, or of its objects.
func (m *maker) s3(resource string) string { return "arn:" + m.facts.Partition + ":s3:::" + resource }
