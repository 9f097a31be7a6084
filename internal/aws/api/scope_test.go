package api_test

import (
	"os"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/test/cloud"
)

// TestPolicy_is_enough asks as somebody who has docs/aws-policy.json and nothing else:
// nothing of a cluster is refused, and nothing is left open but a path of its own.
func TestPolicy_is_enough(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region})
	client := iam.NewFromConfig(c.Config())
	text := must[[]byte](t)(os.ReadFile("../../../docs/aws-policy.json"))
	must[*iam.CreateRoleOutput](t)(client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("operator"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`)}))
	policy := must[*iam.CreatePolicyOutput](t)(client.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("muster"), PolicyDocument: aws.String(string(text))}))
	must[*iam.AttachRolePolicyOutput](t)(client.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{RoleName: aws.String("operator"), PolicyArn: policy.Policy.Arn}))
	open(t, c)
	out := must[*sts.AssumeRoleOutput](t)(sts.NewFromConfig(c.Config()).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::" + cloud.Account + ":role/operator"), RoleSessionName: aws.String("me"),
	}))
	for name, value := range map[string]*string{
		"AWS_ACCESS_KEY_ID": out.Credentials.AccessKeyId, "AWS_SECRET_ACCESS_KEY": out.Credentials.SecretAccessKey, "AWS_SESSION_TOKEN": out.Credentials.SessionToken,
	} {
		t.Setenv(name, *value)
	}
	a := must[*api.Account](t)(api.Open(t.Context(), region))
	every := []string{
		"key", "own-key", "reservations", "templates", "profiles", "own-zone", "own-fsx", "own-efs", "links", "bucket", "network", "address", "placement", "fsx", "efs",
		"ebs", "zone", "logs", "dashboard", "alarms", "login", "nested",
	}
	i := must[inventory.Inventory](t)(a.Survey(t.Context(), inventory.Wanted{Parts: every, Cluster: "train"}))
	if len(i.Denied)+len(i.Narrow)+len(i.Unsure) > 0 || i.Unasked["aws/rights"] != "" {
		t.Errorf("denied %v, narrow %v, unsure %v, %s", i.Denied, i.Narrow, i.Unsure, i.Unasked["aws/rights"])
	}
	i = must[inventory.Inventory](t)(a.Survey(t.Context(), inventory.Wanted{RolePath: "/other/"}))
	if len(i.Denied) == 0 || i.Denied[0] != "iam:AddRoleToInstanceProfile" {
		t.Errorf("denied %v with roles below a path that the policy does not name", i.Denied)
	}
	own := "arn:aws:iam::" + cloud.Account + ":role/other/own"
	i = must[inventory.Inventory](t)(a.Survey(t.Context(), inventory.Wanted{Names: map[string][]string{"aws/role": {own}}}))
	if !slices.Equal(i.Denied, []string{"iam:PassRole"}) {
		t.Errorf("denied %v with a role of the file", i.Denied)
	}
}
