package templates

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// texts are one text or several, as policies have them.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]string)(t)) == nil {
		return nil
	}
	var one string
	err := json.Unmarshal(data, &one)
	*t = texts{one}
	return err
}

// roleStatement is one of a role's.
type roleStatement struct {
	Sid              string
	Action, Resource texts
	Condition        map[string]map[string]texts
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// TestRights_of_machines_mean_what_they_say holds the roles of head nodes, compute and
// login nodes against AWS's reference of rights: each action of a statement is about one
// of its resources, and has the keys of its conditions there.
func TestRights_of_machines_mean_what_they_say(t *testing.T) {
	seen := 0
	for _, name := range slices.Sorted(maps.Keys(clusterFiles(t))) {
		for id, r := range ours(t, name, "").resources {
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			for _, p := range list(r.Properties["Policies"]) {
				text, err := json.Marshal(at(p, "PolicyDocument.Statement"))
				if err != nil {
					t.Fatal(err)
				}
				var all []roleStatement
				if err := json.Unmarshal(variable.ReplaceAll(text, []byte("x")), &all); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				for _, s := range all {
					seen++
					holdStatement(t, name+": "+id, s)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d statements are seen", seen)
	}
}

func holdStatement(t *testing.T, where string, s roleStatement) {
	t.Helper()
	for _, pattern := range s.Action {
		of, name, _ := strings.Cut(pattern, ":")
		r := serviceOf(t, of)
		all := r.named(name)
		if len(all) == 0 {
			t.Errorf("%s: %s: there is no action %s", where, s.Sid, pattern)
		}
		if strings.Contains(name, "*") {
			continue // of a service's actions, not each is about a bucket or its objects
		}
		for _, a := range all {
			// The reference does not say so of fleets that start in reservations; nothing is lost if it is right.
			if wrong := r.never(a, s); wrong != "" && (s.Sid != "LaunchIntoReservations" || pattern != "ec2:CreateFleet") {
				t.Errorf("%s: %s: %s %s", where, s.Sid, pattern, wrong)
			}
		}
	}
}

// never is why a statement allows an action on none of its resources.
func (r service) never(a action, s roleStatement) string {
	why := "is about none of its resources"
	for _, resource := range s.Resource {
		about := r.about(a, resource)
		if resource != "*" && len(about) == 0 {
			continue
		}
		lacks := ""
		for _, keys := range s.Condition {
			for key := range keys {
				if key != "aws:RequestedRegion" && !r.has(a, about, key) { // that key is in every call
					lacks = "has no key " + key
				}
			}
		}
		if lacks == "" {
			return ""
		}
		why = lacks
	}
	return why
}
