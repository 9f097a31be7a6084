// Package cfn has CloudFormation's words: a template and its resources as typed
// values, so that a misspelt property does not compile. Only properties that
// muster uses are here. A template is written in a fixed order: the same values
// give the same bytes.
package cfn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Limits of a template.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
const (
	MaxResources   = 500
	MaxBytes       = 1_000_000
	MaxInlineBytes = 51_200
	MaxParameters  = 200
	MaxOutputs     = 200
)

// Template is what a stack is made of. Its parts are written in their order.
type Template struct {
	Description string
	Parameters  []Parameter
	Resources   []Resource
	Outputs     []Output
}

// Parameter is a value that is given when the stack is made or changed.
type Parameter struct {
	Name        string
	Description string
}

// Resource is something that CloudFormation makes.
type Resource struct {
	// ID is its logical name: letters and digits.
	ID         string
	Properties Properties
	// DependsOn are resources that have to be there before, and that nothing in
	// Properties refers to.
	DependsOn []string
	// Policy says what becomes of it when it leaves the stack, or is replaced. Empty
	// is Delete.
	Policy Policy
}

// Properties are those of one type of resource.
type Properties interface {
	// Type is CloudFormation's, such as AWS::EC2::VPC.
	Type() string
}

// Policy is a DeletionPolicy.
type Policy string

// Policies.
const (
	Delete   Policy = "Delete"
	Retain   Policy = "Retain"
	Snapshot Policy = "Snapshot"
)

// Output is a value that the stack tells the world.
type Output struct {
	Name  string
	Value Text
}

// JSON is the template, compact, as it is sent.
func (t Template) JSON() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	top := object{{"AWSTemplateFormatVersion", "2010-09-09"}, {"Description", t.Description}}
	var parameters, resources, outputs object
	for _, p := range t.Parameters {
		parameters.set(p.Name, parameterJSON{"String", p.Description})
	}
	for _, r := range t.Resources {
		resources.set(r.ID, resourceJSON{r.Properties.Type(), r.DependsOn, r.Policy, r.Policy, r.Properties})
	}
	for _, o := range t.Outputs {
		outputs.set(o.Name, outputJSON{o.Value})
	}
	if len(parameters) > 0 {
		top.set("Parameters", parameters)
	}
	top.set("Resources", resources)
	if len(outputs) > 0 {
		top.set("Outputs", outputs)
	}
	body, err := marshal(top)
	if err == nil && len(body) > MaxBytes {
		err = fmt.Errorf("the template has %d bytes, and CloudFormation takes %d", len(body), MaxBytes)
	}
	return body, err
}

// Resource finds a resource by its logical name.
func (t Template) Resource(id string) (Resource, bool) {
	for _, r := range t.Resources {
		if r.ID == id {
			return r, true
		}
	}
	return Resource{}, false
}

// check holds CloudFormation's limits.
func (t Template) check() error {
	var problems []error
	for _, limit := range []struct {
		what      string
		have, max int
	}{
		{"resources", len(t.Resources), MaxResources},
		{"parameters", len(t.Parameters), MaxParameters},
		{"outputs", len(t.Outputs), MaxOutputs},
	} {
		if limit.have > limit.max {
			problems = append(problems, fmt.Errorf("the template has %d %s, and CloudFormation takes %d", limit.have, limit.what, limit.max))
		}
	}
	var resources, parameters, outputs []string
	for _, r := range t.Resources {
		resources = append(resources, r.ID)
	}
	for _, p := range t.Parameters {
		parameters = append(parameters, p.Name)
	}
	for _, o := range t.Outputs {
		outputs = append(outputs, o.Name)
	}
	return errors.Join(append(problems, once("resources", append(resources, parameters...)), once("outputs", outputs))...)
}

// once holds that names are told apart.
func once(what string, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("two %s of the template are called %s", what, name)
		}
		seen[name] = true
	}
	return nil
}

type parameterJSON struct {
	Type        string
	Description string `json:",omitempty"`
}

type resourceJSON struct {
	Type                string
	DependsOn           []string `json:",omitempty"`
	DeletionPolicy      Policy   `json:",omitempty"`
	UpdateReplacePolicy Policy   `json:",omitempty"`
	Properties          Properties
}

type outputJSON struct{ Value Text }

// object is a JSON object whose members stay in their order.
type object []member

type member struct {
	name  string
	value any
}

func (o *object) set(name string, value any) { *o = append(*o, member{name, value}) }

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", m.name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
