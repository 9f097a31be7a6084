package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/place/placetest"
	"github.com/muster-hpc/muster/test/cloud"
)

// keptByAWS has moto keep secrets in a region, and returns the ARN of the last.
func keptByAWS(t *testing.T, c *cloud.Cloud, region string, secrets map[string]string) (arn string) {
	t.Helper()
	config := c.Config()
	config.Region = region
	for name, text := range secrets {
		out, err := secretsmanager.NewFromConfig(config).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String(text)})
		if err != nil {
			t.Fatal(err)
		}
		arn = *out.ARN
	}
	return arn
}

// TestSecretsOutside_of_AWS fetches secrets of Secrets Manager: those of a name in the cluster's region, those of an ARN in
// its own, each once.
func TestSecretsOutside_of_AWS(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	for _, setting := range c.Env() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	keptByAWS(t, c, "us-west-2", map[string]string{
		"hf": "hf_12345678\n", "all": `{"hf":"hf_pair\n","n":12,"deep":{"a":1},"nothing":null}`, "large": strings.Repeat("x", 65536), "blank": "\n",
	})
	arn := keptByAWS(t, c, "eu-west-1", map[string]string{"hf": "abroad"})
	keptByAWS(t, c, c.Region(), map[string]string{"hf": "of the environment"})
	moon, err := placetest.Moon{}.Open(t.TempDir(), "u", nil)
	if err != nil {
		t.Fatal(err)
	}
	w := where{Cluster: clusterWithS3{moon, place.S3{Region: "us-west-2"}}}
	for _, row := range []struct{ secrets, want, says string }{
		{"  A: {SecretsManager: hf}\n  B: {SecretsManager: '" + arn + "'}\n", `{"A":"hf_12345678","B":"abroad"}`, ""},
		{"  A: {SecretsManager: all, Key: hf}\n  B: {SecretsManager: all, Key: n}\n", `{"A":"hf_pair","B":"12"}`, ""},
		{"  A: {SecretsManager: all, Key: n}\n  B: {SecretsManager: all}\n", `{"A":"12","B":"{\"hf\":\"hf_pair\\n\",\"n\":12,\"deep\":{\"a\":1},\"nothing\":null}"}`,
			":7:3: warning: B becomes a JSON object: secret all has pairs of keys and values [job/secret]"},
		{"  A: {SecretsManager: nosuch}\n", "", ":6:3: error: the value of A cannot be read: there is no secret nosuch in us-west-2"},
		{"  A: {SecretsManager: all, Key: hg}\n", "", `error: the value of A cannot be read: secret all has no key "hg"; did you mean hf?`},
		{"  A: {SecretsManager: all, Key: wandb_api_key}\n", "", `secret all has no key "wandb_api_key" among its 4`},
		{"  A: {SecretsManager: all, Key: deep}\n", "", `key "deep" of secret all is neither a text nor a number`},
		{"  A: {SecretsManager: all, Key: nothing}\n", "", `key "nothing" of secret all is neither a text nor a number`},
		{"  A: {SecretsManager: hf, Key: x}\n", "", `secret hf is no JSON object, of which Key "x" could be a part`},
		{"  A: {SecretsManager: blank}\n", "", "error: A is empty: secret blank"},
		{"  A: {SecretsManager: large}\n", "{\"A\":\"" + strings.Repeat("x", 65536) + "\"}", ""},
	} {
		file, data := secretJob(t, row.secrets)
		var said bytes.Buffer
		got, err := (&app{err: &said}).secretsOutside(t.Context(), w, file, data)
		texts := secretValues{}
		if err == nil {
			err = json.Unmarshal(got, &texts)
		}
		have := map[string]string{}
		for name, value := range texts {
			have[name] = string(value)
		}
		want := map[string]string{}
		if row.want != "" {
			if err := json.Unmarshal([]byte(row.want), &want); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := json.Marshal(have)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) || (err != nil) != (row.want == "") || !strings.Contains(said.String(), row.says) {
			t.Errorf("%s: got %.200s, %v\n%s", row.secrets, a, err, &said)
		}
		if strings.Contains(said.String(), "hf_") {
			t.Errorf("%s: a secret is said:\n%s", row.secrets, &said)
		}
	}
	calls := 0
	for _, call := range c.Calls() {
		if call.Operation == "GetSecretValue" {
			calls++
		}
	}
	if calls != 12 {
		t.Errorf("%d calls", calls)
	}
}

// TestSecretsOutside_without_credentials says what is missing, and asks nobody.
func TestSecretsOutside_without_credentials(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Alone: true})
	for _, setting := range append(c.Env(), "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=") {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	moon, err := placetest.Moon{}.Open(t.TempDir(), "u", nil)
	if err != nil {
		t.Fatal(err)
	}
	file, data := secretJob(t, "  A: {SecretsManager: hf}\n")
	var said bytes.Buffer
	if _, err := (&app{err: &said}).secretsOutside(t.Context(), where{Cluster: clusterWithS3{moon, place.S3{Region: "us-west-2"}}}, file, data); err == nil ||
		!strings.Contains(said.String(), "error: the value of A cannot be read: there are no AWS credentials; run `aws configure sso`") {
		t.Errorf("%v\n%s", err, &said)
	}
}
