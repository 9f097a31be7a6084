package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// found are all matches of a pattern in the sources of folders, tests and files that
// begin with one of some words left out.
func found(t *testing.T, pattern *regexp.Regexp, without []string, folders ...string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			base := filepath.Base(path)
			if strings.HasSuffix(path, "_test.go") || slices.ContainsFunc(without, func(w string) bool { return strings.HasPrefix(base, w) }) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				all[strings.Join(m[1:], ":")] = true
			}
		}
	}
	return all
}

func everything() []string {
	return actionsOf(append(slices.Collect(maps.Keys(typesOf)), slices.Collect(maps.Keys(ofMore))...))
}

// names are IAM's names where they are not the SDK's.
var names = map[string]string{
	"tagging": "tag", "efs": "elasticfilesystem", "cloudwatchlogs": "logs",
	"s3:ListObjectVersions": "s3:ListBucketVersions", "s3:HeadBucket": "s3:ListBucket", "s3:DeleteObjects": "s3:DeleteObject",
	"s3:ListMultipartUploads": "s3:ListBucketMultipartUploads",
}

// free are calls that need no right, or are not made by `up`, `status` and `down`: secrets are read for whoever submits a
// job, who needs the right to those alone.
var free = []string{"sts:GetCallerIdentity", "ssm:StartSession", "secretsmanager:GetSecretValue"}

// TestRightsForCalls holds that what muster calls is asked for.
func TestRightsForCalls(t *testing.T) {
	have := everything()
	calls := found(t, regexp.MustCompile(`\b([a-z0-9]+)\.([A-Z][A-Za-z]+)Input\{`), []string{"survey", "adopt", "types"}, "api", "cloudformation", ".")
	for call := range calls {
		if slices.Contains(free, call) {
			continue
		}
		if other, ok := names[call]; ok {
			call = other
		}
		service, operation, _ := strings.Cut(call, ":")
		if other, ok := names[service]; ok {
			service = other
		}
		if !slices.Contains(have, service+":"+operation) {
			t.Errorf("nobody asks for the right to %s:%s", service, operation)
		}
	}
	if len(calls) < 20 {
		t.Errorf("only %d calls are found", len(calls))
	}
}

// TestRightsForResources holds that every type of resource has a part and rights.
func TestRightsForResources(t *testing.T) {
	types := found(t, regexp.MustCompile(`"(AWS::[A-Za-z0-9]+::[A-Za-z0-9]+)"`), nil, "cfn")
	for kind := range types {
		if len(ofType[kind]) == 0 {
			t.Errorf("nothing says which rights %s needs", kind)
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(typesOf)), func(list []string) bool { return slices.Contains(list, kind) }) {
			t.Errorf("%s is of no part of a cluster", kind)
		}
	}
	if len(types) < 20 {
		t.Errorf("only %d types are found", len(types))
	}
}

// TestPolicy holds docs/aws-policy.json to the list of rights, those of `check --online`
// and of sessions among them. IAM takes 6,144 characters of a policy, white space not
// counted.
func TestPolicy(t *testing.T) {
	actions := append(everything(), "ssm:StartSession", "ssm:DescribeParameters", "ec2:DescribeInstanceTypes")
	asked := regexp.MustCompile(`(?:of[A-Z][A-Za-z]+, |[0-9], )"([a-z0-9]+:[A-Z][A-Za-z]+)"`)
	for name := range found(t, asked, []string{"rights"}, "api") {
		actions = append(actions, name)
	}
	slices.Sort(actions)
	actions = slices.Compact(actions)
	policy := map[string]any{"Version": "2012-10-17", "Statement": statements(actions)}
	want, err := json.MarshalIndent(policy, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	const page = "../../../docs/aws-policy.json"
	if golden.Updating() {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not the list of rights (%v); -update writes it", page, err)
	}
	if small, _ := json.Marshal(policy); len(small) > 6144 {
		t.Errorf("the policy has %d characters", len(small))
	}
}

// conditional are rights that only some files need, and names that are no rights.
var conditional = []string{
	"ec2:CreateAction", "ec2:LaunchTemplate", "iam:AWSServiceName", "iam:PassedToService", "iam:CreateServiceLinkedRole", "cloudwatch:namespace", "s3:prefix",
	"elasticfilesystem:ClientMount", "elasticfilesystem:ClientRootAccess", "elasticfilesystem:ClientWrite", "resource-groups:ListGroupResources",
	"secretsmanager:GetSecretValue", "ssm:GetParameter", "s3:DeleteObject", "s3:ListMultipartUploadParts",
}

// TestRightsOfMachines holds that the roles of files are asked for what muster's own
// roles allow.
func TestRightsOfMachines(t *testing.T) {
	text, err := os.ReadFile("../stack/rights.go")
	if err != nil {
		t.Fatal(err)
	}
	matches := regexp.MustCompile(`"([a-z0-9-]+:[A-Za-z]+)"`).FindAllStringSubmatch(string(text), -1)
	for _, m := range matches {
		if strings.HasPrefix(m[1], "aws:") || slices.Contains(conditional, m[1]) || slices.Contains(onMachines["head"], m[1]) {
			continue
		}
		t.Errorf("%s is not asked for", m[1])
	}
	if len(matches) < 20 {
		t.Errorf("only %d rights are found", len(matches))
	}
}

func TestSoldIn(t *testing.T) {
	product := func(value string) string { return `{"product":{"attributes":{"usagetype":"` + value + `"}}}` }
	tests := map[string]struct {
		list, wanted []string
		sold, why    string
	}{
		"all":            {[]string{product("Lustre-SCRATCH_2"), product("Persistent-2 SSD")}, []string{"PERSISTENT_2", "SCRATCH_2"}, "PERSISTENT_2 SCRATCH_2", ""},
		"one_is_missing": {[]string{product("x:Persistent_1:y")}, []string{"PERSISTENT_2"}, "PERSISTENT_1", ""},
		"no_family":      {[]string{product("Persistent_1")}, []string{"SCRATCH_2"}, "PERSISTENT_1", "AWS's price list does not say it of SCRATCH_2"},
		"throughput":     {[]string{product("PERSISTENT_125")}, []string{"PERSISTENT_1"}, "", "AWS's price list does not say it of PERSISTENT_1"},
		"nothing":        {nil, []string{"SCRATCH_2"}, "", "AWS's price list does not say it of SCRATCH_2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sold, why := soldIn(tt.list, tt.wanted)
			if strings.Join(sold, " ") != tt.sold || why != tt.why {
				t.Errorf("got %v, %q", sold, why)
			}
		})
	}
}

// TestRightsForCallsOfMachines holds that what the head node and other machines call is
// within the roles that muster gives them.
func TestRightsForCallsOfMachines(t *testing.T) {
	text, err := os.ReadFile("../stack/rights.go")
	if err != nil {
		t.Fatal(err)
	}
	calls := found(t, regexp.MustCompile(`\b([a-z0-9]+)\.([A-Z][A-Za-z]+)Input\{`), nil, "agent", "boot", "join", "nodes")
	for call := range calls {
		service, operation, _ := strings.Cut(call, ":")
		if service == "imds" {
			continue // every machine may ask about itself
		}
		if other, ok := names[service]; ok {
			service = other
		}
		if !strings.Contains(string(text), `"`+service+":"+operation+`"`) {
			t.Errorf("no role allows %s:%s", service, operation)
		}
	}
	if len(calls) < 10 {
		t.Errorf("only %d calls are found: %v", len(calls), calls)
	}
}
