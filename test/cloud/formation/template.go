package formation

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// template is a template as it was sent.
type template struct {
	AWSTemplateFormatVersion string
	Description              string
	Metadata                 map[string]any
	Parameters               map[string]*parameter
	Mappings                 map[string]map[string]map[string]any
	Conditions               map[string]any
	Resources                map[string]*declaration
	Outputs                  map[string]*output
}

// declaration is a resource of a template.
type declaration struct {
	Type                string
	Properties          map[string]any
	DependsOn           texts
	Condition           string
	DeletionPolicy      string
	UpdateReplacePolicy string
	UpdatePolicy        map[string]any
	Metadata            map[string]any
}

type output struct {
	Description string
	Value       any
	Condition   string
	Export      *struct{ Name any }
}

// texts is a list that may be written as one text.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// mostResources is a quota:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
const mostResources = 500

// parse reads a template and refuses what CloudFormation refuses before it makes anything.
func parse(body string) (*template, error) {
	t := &template{}
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, malformed(body, err)
	}
	switch {
	case len(t.Resources) == 0:
		return nil, invalid("Template format error: At least one Resources member must be defined.")
	case len(t.Resources) > mostResources:
		return nil, invalid("Template format error: Number of resources, %d, is greater than maximum allowed, %d", len(t.Resources), mostResources)
	}
	return t, t.check()
}

func malformed(body string, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := []byte(body)[:min(int(e.Offset), len(body))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - 1 - bytes.LastIndexByte(before, '\n')
		return invalid("Template format error: JSON not well-formed. (line %d, column %d)", line, column)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalid("Invalid template property or properties [%s]", strings.Trim(name, `"`))
	}
	return invalid("Template format error: %v", err)
}

// kindFacts is what AWS's schemas say of a type; see kinds.py.
type kindFacts struct {
	Properties, Required        []string
	CreateOnly, MaybeCreateOnly []string
	Attributes                  []string
}

//go:embed kinds.json
var kindsJSON []byte

var facts = func() map[string]kindFacts {
	var file struct{ Types map[string]kindFacts }
	if err := json.Unmarshal(kindsJSON, &file); err != nil {
		panic(err) // a file of our own
	}
	return file.Types
}()

var logicalID = func(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
}

func (t *template) check() error {
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		switch r := t.Resources[id]; {
		case !logicalID(id):
			return invalid("Template format error: Resource name %s is non alphanumeric.", id)
		case r.Type == "":
			return invalid("Template format error: [/Resources/%s] Every Resources object must contain a Type member.", id)
		case kinds[r.Type] == nil:
			if !slices.Contains(unknown, r.Type) {
				unknown = append(unknown, r.Type)
			}
		case !slices.Contains([]string{"", "Delete", "Retain", "Snapshot", "RetainExceptOnCreate"}, r.DeletionPolicy):
			return invalid("Template format error: Unrecognized DeletionPolicy %s for resource %s", r.DeletionPolicy, id)
		case r.Condition != "" && t.Conditions[r.Condition] == nil:
			return invalid("Template format error: Unresolved condition %s in resource %s", r.Condition, id) // our words
		}
	}
	if len(unknown) > 0 {
		return invalid("Template format error: Unrecognized resource types: [%s]", strings.Join(unknown, ", "))
	}
	for name, p := range t.Parameters {
		if p.Type == "" {
			return invalid("Template format error: Every Parameters object must contain a Type member. [/Parameters/%s]", name)
		}
	}
	if err := t.resolved(); err != nil {
		return err
	}
	_, err := t.order()
	return err
}

// resolved checks that everything that is referred to is there.
func (t *template) resolved() error {
	var missing []string
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		r := t.Resources[id]
		for _, ref := range references(r.Properties) {
			if err := t.attribute(ref); err != nil {
				return err
			}
			if !t.knows(ref) && !slices.Contains(missing, ref.id) {
				missing = append(missing, ref.id)
			}
		}
		for _, d := range r.DependsOn {
			if t.Resources[d] == nil {
				missing = append(missing, d)
			}
		}
	}
	if len(missing) > 0 {
		return invalid("Template format error: Unresolved resource dependencies [%s] in the Resources block of the template", strings.Join(missing, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		for _, ref := range references(t.Outputs[name].Value) {
			if err := t.attribute(ref); err != nil {
				return err
			}
			if !t.knows(ref) {
				missing = append(missing, ref.id)
			}
		}
	}
	if len(missing) > 0 {
		return invalid("Template format error: Unresolved resource dependencies [%s] in the Outputs block of the template", strings.Join(missing, ", "))
	}
	return nil
}

func (t *template) knows(r reference) bool {
	return t.Resources[r.id] != nil || r.attribute == "" && (t.Parameters[r.id] != nil || strings.HasPrefix(r.id, "AWS::"))
}

// attribute checks a GetAtt.
func (t *template) attribute(r reference) error {
	if r.attribute == "" {
		return nil
	}
	d := t.Resources[r.id]
	if d == nil {
		return invalid("Template error: instance of Fn::GetAtt references undefined resource %s", r.id)
	}
	if d.Type == stackType && strings.HasPrefix(r.attribute, "Outputs.") {
		return nil
	}
	if !slices.Contains(facts[d.Type].Attributes, r.attribute) && !slices.Contains(alsoAttributes[d.Type], r.attribute) {
		return invalid("Template error: resource %s does not support attribute type %s in Fn::GetAtt", r.id, r.attribute)
	}
	return nil
}

// needs are the resources that must be there before the given one is made.
func (t *template) needs(id string) []string {
	var out []string
	add := func(other string) {
		if t.Resources[other] != nil && other != id && !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	r := t.Resources[id]
	if r == nil {
		return nil
	}
	for _, ref := range references(r.Properties) {
		if ref.id == id {
			out = append(out, id) // a circle of one
		}
		add(ref.id)
	}
	for _, d := range r.DependsOn {
		add(d)
	}
	slices.Sort(out)
	return out
}

// order sorts the resources so that each comes after those that it needs.
func (t *template) order() ([]string, error) {
	var out []string
	done := map[string]bool{}
	for len(out) < len(t.Resources) {
		n := len(out)
		for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
			if !done[id] && !slices.ContainsFunc(t.needs(id), func(o string) bool { return !done[o] }) {
				done[id] = true
				out = append(out, id)
			}
		}
		if len(out) == n {
			var left []string
			for id := range t.Resources {
				if !done[id] {
					left = append(left, id)
				}
			}
			slices.Sort(left)
			return nil, invalid("Circular dependency between resources: [%s]", strings.Join(left, ", "))
		}
	}
	return out, nil
}

// capabilities are those that the template's resources of IAM ask for:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func (t *template) capabilities() []string {
	named := map[string]string{"AWS::IAM::Role": "RoleName", "AWS::IAM::InstanceProfile": "InstanceProfileName"}
	need := ""
	for _, r := range t.Resources {
		if !strings.HasPrefix(r.Type, "AWS::IAM::") {
			continue
		}
		if r.Properties[named[r.Type]] != nil {
			return []string{"CAPABILITY_NAMED_IAM"}
		}
		need = "CAPABILITY_IAM"
	}
	if need == "" {
		return nil
	}
	return []string{need}
}

// reference is a Ref, or a GetAtt with its attribute.
type reference struct{ id, attribute string }

func (r reference) String() string {
	if r.attribute == "" {
		return r.id
	}
	return fmt.Sprintf("%s.%s", r.id, r.attribute)
}
