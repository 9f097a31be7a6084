package source

import (
	"strings"
	"testing"
)

func TestAWSCommand(t *testing.T) {
	for text, want := range map[string]string{
		"$(aws ecr get-login-password)":                       "-",
		"$(aws ecr get-login-password --region us-east-1)":    "us-east-1",
		"$(aws ecr get-login-password --region=eu-central-1)": "eu-central-1",
	} {
		region, err := awsCommand(text)
		if err != nil || region != strings.TrimSuffix(want, "-") && want != "-" {
			t.Errorf("%s: got %q, %v", text, region, err)
		}
	}
	for _, text := range []string{
		"$(aws ecr get-login-password; id)", "$(aws ecr get-login-password --region $(id))", "$(aws ecr get-login-password --region a|id)",
		"$(aws ecr get-login-password) x", "$(id)", "$X", "$", "$(aws  ecr get-login-password --profile x)",
	} {
		if _, err := awsCommand(text); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// FuzzCredentials holds that no password begins with $ unless it goes to the end
// of its line, and that only the known command is accepted.
func FuzzCredentials(f *testing.F) {
	f.Add("machine a login b password c\n machine d login $e password $(aws ecr get-login-password --region x) \n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range parseCredentials(text) {
			if l.line < 1 || l.machine == "" || l.login == "" || strings.ContainsAny(l.machine+l.login+l.password, "\n") {
				t.Errorf("got %+v", l)
			}
			if _, err := awsCommand(l.password); err == nil && !strings.HasPrefix(l.password, "$(aws ecr get-login-password") && !strings.HasPrefix(l.password, "$( aws ecr get-login-password") {
				t.Errorf("%q was accepted", l.password)
			}
		}
	})
}

func TestECRHost(t *testing.T) {
	for host, want := range map[string]string{
		"123456789012.dkr.ecr.us-east-1.amazonaws.com":               "us-east-1",
		"123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com":      "us-gov-west-1",
		"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn":           "cn-north-1",
		"123456789012.dkr-ecr.eu-west-1.on.aws":                      "eu-west-1",
		"public.ecr.aws":                                             "",
		"123456789012.dkr.ecr.us-east-1.amazonaws.com.evil.example":  "",
		"x123456789012.dkr.ecr.us-east-1.amazonaws.com":              "",
		"123456789012.dkr.ecr.us-east-1.evil.example#.amazonaws.com": "",
	} {
		if at, ok := ecrHost(host); ok != (want != "") || at.region != want {
			t.Errorf("%s: got %+v, %v, want region %q", host, at, ok, want)
		}
	}
}
