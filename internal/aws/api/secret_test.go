package api_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/test/cloud"
)

// TestSecret reads secrets that moto keeps, and says in words why there is none to be had.
func TestSecret(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	a, ctx := open(t, c), t.Context()
	client := secretsmanager.NewFromConfig(c.Config())
	arns := map[string]string{}
	for name, in := range map[string]*secretsmanager.CreateSecretInput{
		"text": {SecretString: aws.String("hf_1\n")}, "team/hf@1": {SecretString: aws.String(`{"token":"hf_2"}`)},
		"binary": {SecretBinary: []byte("hf_3")}, "deleted": {SecretString: aws.String("hf_4")}, "empty": {},
	} {
		in.Name = &name
		arns[name] = *must[*secretsmanager.CreateSecretOutput](t)(client.CreateSecret(ctx, in)).ARN
	}
	must[*secretsmanager.DeleteSecretOutput](t)(client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: aws.String("deleted"), RecoveryWindowInDays: aws.Int64(7)}))
	if got := api.RegionOf(arns["text"]); got != region {
		t.Errorf("%s is in %q", arns["text"], got)
	}
	for _, row := range []struct{ id, want, says string }{
		{"text", "hf_1\n", ""}, {arns["text"], "hf_1\n", ""}, {"team/hf@1", `{"token":"hf_2"}`, ""},
		{"binary", "", "secret binary in us-east-2 is binary, and a variable takes text"},
		{"none", "", "there is no secret none in us-east-2; `aws secretsmanager list-secrets --region us-east-2` lists them"},
		{"empty", "", "secret empty in us-east-2 has no value yet"},
		{"deleted", "", "read secret deleted in us-east-2: InvalidRequestException: "},
	} {
		got, err := a.Secret(ctx, row.id)
		if got != row.want || (err != nil) != (row.says != "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %q, %v", row.id, got, err)
		}
	}
}

// TestSecret_denied: AWS's words for a caller without the right to the secret, or to its key, and credentials that are old.
func TestSecret_denied(t *testing.T) {
	for _, row := range []struct {
		kind          cloud.Kind
		message, says string
	}{
		{cloud.Denied, "User: arn:aws:iam::1:user/ada is not authorized to perform: secretsmanager:GetSecretValue on resource: hf because no identity-based policy allows the secretsmanager:GetSecretValue action",
			"read secret hf in us-east-2: AccessDeniedException: arn:aws:iam::1:user/ada may not do secretsmanager:GetSecretValue on hf (no identity-based policy allows the secretsmanager:GetSecretValue action): " +
				"somebody who manages the account has to allow it, and kms:Decrypt where the secret has a key of its own"},
		{cloud.Denied, "Access to KMS is not allowed", "may not do GetSecretValue of Secrets Manager (Access to KMS is not allowed)"},
		{cloud.Expired, "", "the AWS credentials have expired"},
	} {
		c := cloud.Start(t, cloud.Options{Alone: true})
		c.Fail(cloud.Rule{Service: "secretsmanager", Kind: row.kind, Message: row.message})
		if got, err := open(t, c).Secret(t.Context(), "hf"); got != "" || err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestOpenOwn takes no credentials of the machine, whose role is not the user's.
func TestOpenOwn(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Alone: true})
	open(t, c) // its environment is the test's
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", c.URL)
	if _, err := api.OpenOwn(t.Context(), region); err != nil {
		t.Error(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := api.OpenOwn(t.Context(), region); err == nil || !strings.Contains(err.Error(), "there are no AWS credentials; run `aws configure sso`") {
		t.Error(err)
	}
	for _, call := range c.Calls() {
		t.Errorf("the machine was asked: %v", call)
	}
}
