package sheet

import (
	"bytes"
	"fmt"
	"html"
	"reflect"
	"text/template/parse"
)

// This file fills in the page's template. html/template would do it, but it calls methods by their names: with it, Go's linker
// keeps every exported method of every type, and muster, with the SDK of AWS, more than doubles. Here fields alone are reached,
// and all but the style is escaped; the template has values only between elements and in quoted attributes, for which that is
// enough.

// raw is a text that is written as it is: the style.
type raw string

// filling is a template while it is written.
type filling struct {
	trees map[string]*parse.Tree
	out   *bytes.Buffer
}

// scope is what names mean at one place of a template.
type scope struct {
	dot  reflect.Value
	vars map[string]reflect.Value
}

// fill writes a template with its values.
func fill(text string, v any) ([]byte, error) {
	trees, err := parse.Parse("page", text, "{{", "}}", map[string]any{"or": true, "gt": true, "not": true})
	if err != nil {
		return nil, err
	}
	f := filling{trees: trees, out: &bytes.Buffer{}}
	if err := f.list(trees["page"].Root, scope{reflect.ValueOf(v), map[string]reflect.Value{}}); err != nil {
		return nil, err
	}
	return f.out.Bytes(), nil
}

func (f filling) list(l *parse.ListNode, s scope) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := f.node(n, s); err != nil {
			return err
		}
	}
	return nil
}

func (f filling) node(n parse.Node, s scope) error {
	switch n := n.(type) {
	case *parse.TextNode:
		f.out.Write(n.Text)
		return nil
	case *parse.ActionNode:
		return f.action(n, s)
	case *parse.IfNode:
		v, err := s.pipe(n.Pipe)
		if err != nil {
			return err
		}
		if holds(v) {
			return f.list(n.List, s)
		}
		return f.list(n.ElseList, s)
	case *parse.RangeNode:
		return f.each(n, s)
	case *parse.TemplateNode:
		v, err := s.pipe(n.Pipe)
		if err != nil {
			return err
		}
		return f.list(f.trees[n.Name].Root, scope{v, map[string]reflect.Value{}})
	}
	return fmt.Errorf("the page's template has %s, which is not understood", n)
}

func (f filling) action(n *parse.ActionNode, s scope) error {
	v, err := s.pipe(n.Pipe)
	if err != nil {
		return err
	}
	for _, d := range n.Pipe.Decl {
		s.vars[d.Ident[0]] = v
		return nil
	}
	if text, ok := v.Interface().(raw); ok {
		f.out.WriteString(string(text))
		return nil
	}
	f.out.WriteString(html.EscapeString(fmt.Sprint(v.Interface())))
	return nil
}

func (f filling) each(n *parse.RangeNode, s scope) error {
	v, err := s.pipe(n.Pipe)
	if err != nil {
		return err
	}
	for i := range v.Len() {
		if err := f.list(n.List, scope{v.Index(i), s.vars}); err != nil {
			return err
		}
	}
	return nil
}

// holds says whether a value is none of zero, "", and no elements.
func holds(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	return !v.IsZero()
}

// pipe is the value of what stands between braces.
func (s scope) pipe(p *parse.PipeNode) (reflect.Value, error) {
	if len(p.Cmds) != 1 {
		return reflect.Value{}, fmt.Errorf("the page's template has %s, which is not understood", p)
	}
	args := p.Cmds[0].Args
	name, ok := args[0].(*parse.IdentifierNode)
	if !ok {
		return s.value(args[0])
	}
	var values []reflect.Value
	for _, a := range args[1:] {
		v, err := s.value(a)
		if err != nil {
			return v, err
		}
		values = append(values, v)
	}
	switch {
	case name.Ident == "or" && holds(values[0]):
		return values[0], nil
	case name.Ident == "or":
		return values[1], nil
	case name.Ident == "gt":
		return reflect.ValueOf(values[0].Int() > values[1].Int()), nil
	}
	return reflect.ValueOf(!holds(values[0])), nil
}

// value is what a word means.
func (s scope) value(n parse.Node) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return s.dot, nil
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NumberNode:
		return reflect.ValueOf(n.Int64), nil
	case *parse.FieldNode:
		return field(s.dot, n.Ident)
	case *parse.VariableNode:
		return field(s.vars[n.Ident[0]], n.Ident[1:])
	}
	return reflect.Value{}, fmt.Errorf("the page's template has %s, which is not understood", n)
}

func field(v reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		if v = v.FieldByName(name); !v.IsValid() {
			return v, fmt.Errorf("the page's template names the field %s, which there is not", name)
		}
	}
	return v, nil
}
