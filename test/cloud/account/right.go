package account

import (
	"context"
	"encoding/xml"
	"path"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Deny takes rights from every caller, as far as SimulatePrincipalPolicy tells:
// patterns of actions such as ec2:Run* or fsx:*. Calls themselves are not refused;
// for that there are faults.
func (s *Service) Deny(actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = append(s.denied, actions...)
}

func (s *Service) isDenied(action string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pattern := range s.denied {
		if ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(action)); ok {
			return true
		}
	}
	return false
}

type evaluation struct {
	Action   string `xml:"EvalActionName"`
	Resource string `xml:"EvalResourceName"`
	Decision string `xml:"EvalDecision"`
}

// simulate is SimulatePrincipalPolicy for roles and users of IAM, by their policies.
// Who is not there may everything, but for what Deny took: an administrator. Without
// permissions boundaries and policies of organisations.
func (s *Service) simulate(ctx context.Context, c *wire.Call) (*wire.Answer, *wire.Error) {
	arn := c.Form.Get("PolicySourceArn")
	if !strings.Contains(arn, ":iam::") {
		// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
		return nil, wire.Errorf("InvalidInput", "Invalid Entity Arn: %s does not clearly define entity type and name.", arn)
	}
	policies, there, err := s.policies(ctx, arn)
	if err != nil {
		return nil, err
	}
	resources := members(c, "ResourceArns")
	if resources == nil {
		resources = []string{"*"}
	}
	keys := contextOf(c)
	var results []evaluation
	for _, action := range members(c, "ActionNames") {
		for _, resource := range resources {
			decision := "allowed"
			switch {
			case s.isDenied(action):
				decision = "implicitDeny"
			case there:
				if decision, err = decide(policies, action, resource, keys); err != nil {
					return nil, err
				}
			}
			results = append(results, evaluation{action, resource, decision})
		}
	}
	return wire.XML(struct {
		XMLName   xml.Name     `xml:"SimulatePrincipalPolicyResponse"`
		Results   []evaluation `xml:"SimulatePrincipalPolicyResult>EvaluationResults>member"`
		Truncated bool         `xml:"SimulatePrincipalPolicyResult>IsTruncated"`
	}{Results: results}), nil
}

// members are the texts of a list of the query protocol.
func members(c *wire.Call, name string) []string {
	var all []string
	for n := 1; ; n++ {
		values, ok := c.Form[name+".member."+strconv.Itoa(n)]
		if !ok {
			return all
		}
		all = append(all, values...)
	}
}

// contextOf are the context keys that a call gives, in lower case.
func contextOf(c *wire.Call) map[string][]string {
	keys := map[string][]string{}
	for n := 1; ; n++ {
		at := "ContextEntries.member." + strconv.Itoa(n)
		name := c.Form.Get(at + ".ContextKeyName")
		if name == "" {
			return keys
		}
		keys[strings.ToLower(name)] = members(c, at+".ContextKeyValues")
	}
}
