package formation

import (
	"maps"
	"slices"
	"strings"
)

// difference is one property that changes.
type difference struct {
	attribute string // Properties, Tags, DeletionPolicy, ...
	name      string // of the property
	// recreation is Never, Conditionally or Always.
	recreation string
	dynamic    []reference // what the value hangs on, and is not known yet
}

func (d difference) replaces() bool { return d.recreation == "Always" }

// alsoCreateOnly are properties below those of a schema's createOnlyProperties that
// cannot be changed in place, as the template reference says of each:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-fsx-filesystem-lustreconfiguration.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-fsx-filesystem-openzfsconfiguration.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-fsx-filesystem.html
var alsoCreateOnly = map[string][]string{
	"AWS::FSx::FileSystem": {"LustreConfiguration/DeploymentType", "LustreConfiguration/ImportPath", "LustreConfiguration/ExportPath",
		"LustreConfiguration/ImportedFileChunkSize", "LustreConfiguration/DriveCacheType", "OpenZFSConfiguration/DeploymentType", "StorageType"},
	"AWS::EC2::PlacementGroup": {"GroupName"},
}

// recreation says whether a change of a property needs a new resource, as the
// schemas' createOnlyProperties and conditionalCreateOnlyProperties have it; see
// kinds.py. The double makes no new resource for a change that may need one.
func recreation(kind, path string) string {
	f := facts[kind]
	only := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return p == path || strings.HasPrefix(path, p+"/") })
	}
	switch {
	case only(f.CreateOnly) || only(alsoCreateOnly[kind]):
		return "Always"
	case only(f.MaybeCreateOnly):
		return "Conditionally"
	}
	return "Never"
}

// differences are the properties of a resource that change.
func differences(have *resource, props map[string]any, tags map[string]string) []difference {
	var out []difference
	names := map[string]bool{}
	for name := range have.props {
		names[name] = true
	}
	for name := range props {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, after := have.props[name], props[name]
		if canon(before) == canon(after) {
			continue
		}
		out = append(out, difference{attribute: "Properties", name: name, recreation: strictest(have.kind, name, before, after)})
	}
	if canon(tagValue(have.tags)) != canon(tagValue(tags)) && slices.Contains(facts[have.kind].Properties, "Tags") {
		out = append(out, difference{attribute: "Tags", recreation: recreation(have.kind, "Tags")})
	}
	return out
}

func tagValue(tags map[string]string) any {
	out := map[string]any{}
	for k, v := range tags {
		out[k] = v
	}
	return out
}

// strictest is the strictest rule of those parts of a property that change.
func strictest(kind, path string, before, after any) string {
	worst := recreation(kind, path)
	b, ok := before.(map[string]any)
	a, ok2 := after.(map[string]any)
	if !ok && !ok2 {
		return worst
	}
	for key := range merged(b, a) {
		if canon(b[key]) == canon(a[key]) {
			continue
		}
		if got := strictest(kind, path+"/"+key, b[key], a[key]); got == "Always" || got == "Conditionally" && worst == "Never" {
			worst = got
		}
	}
	return worst
}

func merged(a, b map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// change is what a change set would do to one resource.
type change struct {
	action, logical, physical, kind string
	replacement                     string
	details                         []difference
	scope                           []string
}

// later stands for a value that is known only when the change set was executed:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-changesets-view.html
const later = "{{changeSet:KNOWN_AFTER_APPLY}}"

// planner works out what a new template would change.
type planner struct {
	st      *stack
	sc      *scope
	tags    map[string]string
	changes map[string]*change
}

// plan says what a template would change in a stack.
func (s *Service) plan(st *stack, t *template, g given, tags map[string]string) ([]*change, *scope, error) {
	params, err := s.values(s.ctx, t, g)
	if err != nil {
		return nil, nil, err
	}
	p := &planner{st: st, tags: tags, changes: map[string]*change{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.sc = s.scope(st, t, params, p.lookup)
	p.sc.export = func(name string) (string, error) { return later, nil }
	ids, err := p.sc.wanted()
	if err != nil {
		return nil, nil, err
	}
	var out []*change
	for _, id := range ids {
		c, err := p.one(id)
		if err != nil {
			return nil, nil, err
		}
		if c != nil {
			p.changes[id] = c
			out = append(out, c)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(st.resources)) {
		if r := st.resources[id]; !slices.Contains(ids, id) && r.status != "DELETE_COMPLETE" {
			out = append(out, &change{action: "Remove", logical: id, physical: r.physical, kind: r.kind})
		}
	}
	return out, p.sc, nil
}

// lookup gives a resource's value, or the mark for one that is not known yet.
func (p *planner) lookup(r reference) (any, error) {
	if p.uncertain(r) {
		return later, nil
	}
	return p.st.lookup(r)
}

// uncertain says that a reference's value will or may change.
func (p *planner) uncertain(r reference) bool {
	c := p.changes[r.id]
	return c != nil && (c.action == "Add" || c.replacement != "False" || r.attribute != "")
}

func (p *planner) one(id string) (*change, error) {
	d := p.sc.t.Resources[id]
	props, err := p.sc.properties(id)
	if err != nil {
		return nil, err
	}
	have := p.st.resources[id]
	if have == nil || have.physical == "" || have.status == "CREATE_FAILED" {
		return &change{action: "Add", logical: id, kind: d.Type}, nil
	}
	c := &change{action: "Modify", logical: id, physical: have.physical, kind: d.Type, replacement: "False",
		details: differences(have, props, p.tags)}
	if have.declared.DeletionPolicy != d.DeletionPolicy {
		c.details = append(c.details, difference{attribute: "DeletionPolicy", recreation: "Never"})
	}
	if len(c.details) == 0 && have.status != "UPDATE_FAILED" {
		return nil, nil
	}
	for i, diff := range c.details {
		if diff.attribute == "Properties" {
			for _, r := range references(d.Properties[diff.name]) {
				if p.uncertain(r) {
					c.details[i].dynamic = append(c.details[i].dynamic, r)
				}
			}
		}
		if !slices.Contains(c.scope, diff.attribute) {
			c.scope = append(c.scope, diff.attribute)
		}
		c.replacement = worse(c.replacement, p.replacement(c.details[i]))
	}
	return c, nil
}

// replacement follows the rules for ResourceChange:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html
func (p *planner) replacement(d difference) string {
	static := len(d.dynamic) == 0 || slices.ContainsFunc(d.dynamic, func(r reference) bool {
		return r.attribute == "" && p.changes[r.id].replacement == "True"
	})
	switch {
	case d.recreation == "Always" && static:
		return "True"
	case d.recreation != "Never":
		return "Conditional"
	}
	return "False"
}

func worse(a, b string) string {
	rank := []string{"False", "Conditional", "True"}
	return rank[max(slices.Index(rank, a), slices.Index(rank, b))]
}
