package account

import (
	"context"
	"encoding/xml"
	"path"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Deny takes rights from the caller, as far as SimulatePrincipalPolicy tells:
// patterns of actions such as ec2:Run* or fsx:*. Calls themselves are not refused;
// for that there are faults.
func (s *Service) Deny(actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = append(s.denied, actions...)
}

type evaluation struct {
	Action   string `xml:"EvalActionName"`
	Resource string `xml:"EvalResourceName"`
	Decision string `xml:"EvalDecision"`
}

// simulate is SimulatePrincipalPolicy. It answers by what Deny took, not by policies.
func (s *Service) simulate(_ context.Context, c *wire.Call) (*wire.Answer, *wire.Error) {
	if arn := c.Form.Get("PolicySourceArn"); !strings.Contains(arn, ":iam::") {
		// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
		return nil, wire.Errorf("InvalidInput", "Invalid Entity Arn: %s does not clearly define entity type and name.", arn)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var results []evaluation
	for n := 1; ; n++ {
		action := c.Form.Get("ActionNames.member." + strconv.Itoa(n))
		if action == "" {
			break
		}
		e := evaluation{Action: action, Resource: "*", Decision: "allowed"}
		if r := c.Form.Get("ResourceArns.member.1"); r != "" {
			e.Resource = r
		}
		for _, pattern := range s.denied {
			if ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(action)); ok {
				e.Decision = "implicitDeny"
			}
		}
		results = append(results, e)
	}
	return wire.XML(struct {
		XMLName   xml.Name     `xml:"SimulatePrincipalPolicyResponse"`
		Results   []evaluation `xml:"SimulatePrincipalPolicyResult>EvaluationResults>member"`
		Truncated bool         `xml:"SimulatePrincipalPolicyResult>IsTruncated"`
	}{Results: results}), nil
}
