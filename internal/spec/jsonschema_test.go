package spec_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/spec"
)

// compile reads the JSON Schema of a level as an editor does.
func compile(t *testing.T, l spec.Level) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.JSONSchema(l)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("cluster.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// values are those of a YAML text as JSON has them.
func values(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJSONSchema_takes_good_files(t *testing.T) {
	files := []string{"testdata/base.yaml", "../lint/testdata/base.yaml"}
	err := filepath.WalkDir("../../examples", func(path string, d fs.DirEntry, err error) error {
		if filepath.Base(path) == "cluster.yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, l := range spec.Levels() {
		s := compile(t, l)
		for _, path := range files {
			if err := s.Validate(values(t, read(t, path))); err != nil {
				t.Errorf("%s: %s: %v", l, path, err)
			}
		}
	}
}

// TestJSONSchema_and_the_check_agree changes a good file in one place, and wants
// the same answer of both.
func TestJSONSchema_and_the_check_agree(t *testing.T) {
	s := compile(t, spec.Newest)
	for _, row := range []struct{ name, old, new string }{
		{"as_it_is", "Region:", "Region:"},
		{"unknown_key", "Region:", "Colour: red\nRegion:"},
		{"misspelt_key", "  InstanceType: c6i.4xlarge", "  Instancetype: c6i.4xlarge"},
		{"missing_key", "  Os: alinux2023", "  CustomAmi: ami-01234567"},
		{"system", "alinux2023", "ubuntu2404"},
		{"system_that_is_gone", "alinux2023", "alinux2"},
		{"text_for_a_number", "MaxCount: 4", "MaxCount: four"},
		{"number_in_quotes", "MaxCount: 4", "MaxCount: '4'"},
		{"number_out_of_range", "MaxCount: 4", "MaxCount: 0"},
		{"truth_in_a_word", "MaxCount: 4", "MaxCount: 4\n          DisableSimultaneousMultithreading: 'Yes'"},
		{"truth_that_is_none", "MaxCount: 4", "MaxCount: 4\n          DisableSimultaneousMultithreading: maybe"},
		{"map_for_a_list", "      ComputeResources:\n        - Name: small\n", "      ComputeResources:\n          Name: small\n"},
		{"number_for_a_text", "Region: us-east-1", "Region: 12"},
		{"nothing_for_a_map", "  SlurmSettings:\n    ScaledownIdletime: 5", "  SlurmSettings:"},
		{"key_of_a_later_level", "MaxCount: 4", "MaxCount: 4\n          LaunchTemplateOverrides: {LaunchTemplateId: lt-1, Version: 1}"},
		{"key_of_an_earlier_level", "Region:", "LoginNodes: {Pools: [{Name: p, InstanceType: t3.large, Count: 1, Ssh: {KeyName: k}}]}\nRegion:"},
		{"id", "subnet-0123456789abcdef0", "subnet-01234567"},
		{"id_that_is_none", "subnet-0123456789abcdef0", "subnet-yyy"},
		{"pattern", "Region:", "Iam: {PermissionsBoundary: boundary}\nRegion:"},
		{"retention", "Region:", "Monitoring: {Logs: {CloudWatch: {RetentionInDays: 14}}}\nRegion:"},
		{"retention_that_is_none", "Region:", "Monitoring: {Logs: {CloudWatch: {RetentionInDays: 15}}}\nRegion:"},
		{"network", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Ssh: {AllowedIps: 10.0.0.0/8}"},
		{"prefix_list", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Ssh: {AllowedIps: pl-0123}"},
		{"network_that_is_none", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Ssh: {AllowedIps: 10.0.0.1}"},
		{"price", "MaxCount: 4", "MaxCount: 4\n          SpotPrice: 1.5"},
		{"price_below_nothing", "MaxCount: 4", "MaxCount: 4\n          SpotPrice: -1"},
		{"list_too_long", "DataRepositoryPath: s3://bucket/prefix", "DataRepositoryPath: s3://bucket/prefix\n          AutoExportPolicy: [NEW, NEW, NEW, NEW]"},
		{"value_in_a_list", "DataRepositoryPath: s3://bucket/prefix", "DataRepositoryPath: s3://bucket/prefix\n          AutoExportPolicy: [NEW, GONE]"},
		{"text_too_long", "Region:", "Tags: [{Key: " + strings.Repeat("k", 129) + ", Value: v}]\nRegion:"},
		{"two_that_exclude_each_other", "InstanceType: p5e.48xlarge", "InstanceType: p5e.48xlarge\n          Instances: [{InstanceType: p5.48xlarge}]"},
		{"one_of_two_is_empty", "    SubnetId:", "    SecurityGroups: []\n    AdditionalSecurityGroups: [sg-01234567]\n    SubnetId:"},
		{"none_of_two", "MinCount: 1", "CapacityReservationTarget: {}"},
		{"three_that_exclude_each_other", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Iam: {InstanceProfile: 'arn:aws:iam::1:instance-profile/r', S3Access: [{BucketName: b}]}"},
		{"action", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  CustomActions: {OnNodeStart: {Sequence: [{Script: a}]}}"},
		{"action_with_an_empty_sequence", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  CustomActions: {OnNodeStart: {Script: a, Sequence: []}}"},
		{"action_without_script", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  CustomActions: {OnNodeStart: {Args: [a]}}"},
		{"settings", "ScaledownIdletime: 5", "CustomSlurmSettings: [{MessageTimeout: 60}]"},
		{"settings_that_are_no_list", "ScaledownIdletime: 5", "CustomSlurmSettings: {MessageTimeout: 60}"},
		{"elastic_ip", "    SubnetId:", "    ElasticIp: true\n    SubnetId:"},
		{"path_of_a_repository", "FileSystemPath: /in", "FileSystemPath: \"a\\nb\""},
		{"aws_batch", "Scheduler: slurm", "Scheduler: awsbatch"},
		{"keys_of_aws_batch", "Scheduler: slurm", "Scheduler: slurm\n  AwsBatchSettings: {}"},
	} {
		data := replace(t, row.old, row.new)
		want := !spec.OpenText("cluster.yaml", []byte(data), spec.Options{AWS: true}).Problems.HasErrors()
		err := s.Validate(values(t, data))
		if got := err == nil; got != want {
			t.Errorf("%s: the schema takes it: %v, the check: %v: %v", row.name, got, want, err)
		}
	}
}

func TestJSONSchema_is_the_same_each_time(t *testing.T) {
	if !bytes.Equal(spec.JSONSchema(spec.Newest), spec.JSONSchema(0)) {
		t.Error("two calls differ")
	}
	if bytes.Equal(spec.JSONSchema(spec.Newest), spec.JSONSchema(spec.Levels()[0])) {
		t.Error("two levels are the same")
	}
}

// TestJSONSchema_says_more_than_types shows what an editor shows of a key.
func TestJSONSchema_says_more_than_types(t *testing.T) {
	var doc struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(spec.JSONSchema(spec.Newest), &doc); err != nil {
		t.Fatal(err)
	}
	text := string(doc.Properties["Scheduling"])
	for _, want := range []string{
		`"default": 10`, "Default: 10.", "It can never be changed: it takes a new cluster.", "ParallelCluster has it from 3.15 on.",
		"ParallelCluster requires it; muster makes the network where it is absent.", `"minimum": 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %s", want)
		}
	}
}
