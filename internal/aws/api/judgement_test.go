package api

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
)

// TestJudgement sorts results of simulations. A condition whose value is not known leaves a
// right open, whether IAM says so of the action or of the resource.
func TestJudgement(t *testing.T) {
	const action = "iam:CreateRole"
	missing := []string{"aws:PrincipalTag/team"}
	for name, row := range map[string]struct {
		result types.EvaluationResult
		own    bool
		want   judgement
	}{
		"allowed":           {types.EvaluationResult{EvalDecision: "allowed", MissingContextValues: missing}, true, judgement{}},
		"denied":            {types.EvaluationResult{EvalDecision: "implicitDeny"}, true, judgement{denied: []string{action}}},
		"narrow":            {types.EvaluationResult{EvalDecision: "implicitDeny"}, false, judgement{narrow: []string{action}}},
		"unsure":            {types.EvaluationResult{EvalDecision: "implicitDeny", MissingContextValues: missing}, false, judgement{unsure: []string{action}}},
		"unsure_of_its_own": {types.EvaluationResult{EvalDecision: "implicitDeny", ResourceSpecificResults: []types.ResourceSpecificResult{{MissingContextValues: missing}}}, true, judgement{unsure: []string{action}}},
	} {
		t.Run(name, func(t *testing.T) {
			row.result.EvalActionName = aws.String(action)
			var got judgement
			got.add(row.result, row.own)
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(judgement{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
