package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// fixes are what the schema mends by itself. Where after is empty there is more
// than one right answer, or the form of the file does not allow a sure one.
var fixes = []struct {
	name          string
	before, after string
}{
	{"key_case", "HeadNode:\n  Instancetype: x # a\n", "HeadNode:\n  InstanceType: x # a\n"},
	{"key_slip", "HeadNode: {Netwroking: {SubnetId: subnet-01234567}}\n", "HeadNode: {Networking: {SubnetId: subnet-01234567}}\n"},
	{"key_of_version_2_here", "HeadNode: {Ssh: {key_name: a}}\n", "HeadNode: {Ssh: {KeyName: a}}\n"},
	{"key_of_version_2", "HeadNode: {key_name: a}\n", ""},
	{"key_far", "HeadNode: {InsType: x}\n", ""},
	{"key_there", "HeadNode: {InstanceType: x, Instancetype: y}\n", ""},
	{"key_of_nothing", "HeadNode: {Colour: x}\n", ""},
	{"key_plural", "Scheduling:\n  SlurmQueues:\n  - Networking:\n      SubnetId: subnet-01234567 # a\n", "Scheduling:\n  SlurmQueues:\n  - Networking:\n      SubnetIds: [subnet-01234567] # a\n"},
	{"value_case", "HeadNode: {SharedStorageType: efs}\n", "HeadNode: {SharedStorageType: Efs}\n"},
	{"value_hyphen", "Scheduling:\n  SlurmQueues:\n  - CapacityType: \"on-demand\"\n", "Scheduling:\n  SlurmQueues:\n  - CapacityType: \"ONDEMAND\"\n"},
	{"value_slip", "Scheduling: {ScalingStrategy: all-or-noting}\n", "Scheduling: {ScalingStrategy: all-or-nothing}\n"},
	{"value_digit", "Image: {Os: ubuntu2104}\n", ""},
	{"value_other_name", "Image: {Os: al2023}\n", "Image: {Os: alinux2023}\n"},
	{"value_written_apart", "Image: {Os: Ubuntu 22.04}\n", "Image: {Os: ubuntu2204}\n"},
	{"persistent_2", lustre("PERSISTENT", "1000"), lustre("PERSISTENT_2", "1000")},
	{"persistent_1", lustre("'persistent'", "200"), lustre("'PERSISTENT_1'", "200")},
	{"persistent_unknown", lustre("PERSISTENT", "300"), ""},
	{"persistent_3", lustre("PERSISTENT_3", "1000"), ""},
	{"scratch", lustre("SCRATCH", "1000"), ""},
	{"truth", "Monitoring: {DetailedMonitoring: \"tRue\"}\n", "Monitoring: {DetailedMonitoring: true}\n"},
	{"truth_word", "Monitoring: {DetailedMonitoring: Disabled}\n", "Monitoring: {DetailedMonitoring: false}\n"},
	{"truth_unknown", "Monitoring: {DetailedMonitoring: maybe}\n", ""},
	{"number_as_text", "Tags: [{Key: 1, Value: 2024-01-01}]\n", "Tags: [{Key: \"1\", Value: \"2024-01-01\"}]\n"},
	{"truth_as_text", "Tags: [{Key: a, Value: yes}]\n", "Tags: [{Key: a, Value: \"yes\"}]\n"},
	{"number_in_part", "Scheduling: {SlurmSettings: {ScaledownIdletime: 10.5}}\n", "Scheduling: {SlurmSettings: {ScaledownIdletime: 10}}\n"},
	{"twin", "Region: a # b\nImage: {Os: alinux2023}\nRegion: \"a\" # c\n", "Region: a # b\nImage: {Os: alinux2023}\n# c\n"},
	{"no_twin", "Region: a\nRegion: b\n", ""},
	{"moved", "Scheduling:\n  Scheduler: slurm\n\nImage: {Os: alinux2023}\n# above\nSlurmQueues: # a\n- Name: q\n# next\nTags: []\n",
		"Scheduling:\n  Scheduler: slurm\n  # above\n  SlurmQueues: # a\n  - Name: q\n\nImage: {Os: alinux2023}\n# next\nTags: []\n"},
	{"moved_with_another_case", "Scheduling: {Scheduler: slurm}\nslurmqueues: []\n", "Scheduling: {Scheduler: slurm, SlurmQueues: []}\n"},
	{"moved_to_the_map_around", "Scheduling:\n  SlurmQueues:\n  - Name: q\n    ComputeResources:\n    - Name: r\n      Efa:\n        Enabled: true\n        MaxCount: 4\n",
		"Scheduling:\n  SlurmQueues:\n  - Name: q\n    ComputeResources:\n    - Name: r\n      Efa:\n        Enabled: true\n      MaxCount: 4\n"},
	{"indented", "HeadNode:\n  Networking: # a\n  SubnetId: subnet-01234567 # b\n  InstanceType: x\n", "HeadNode:\n  Networking: # a\n    SubnetId: subnet-01234567 # b\n  InstanceType: x\n"},
	{"indented_several", "HeadNode:\n  LocalStorage:\n  # above\n  RootVolume:\n    Size: 40\n    # deep\n\n  EphemeralVolume: {MountDir: /a}\n  # below\n",
		"HeadNode:\n  LocalStorage:\n  # above\n    RootVolume:\n      Size: 40\n      # deep\n\n    EphemeralVolume: {MountDir: /a}\n  # below\n"},
	{"indented_in_a_list", "Scheduling:\n  SlurmQueues:\n  - Networking:\n    SubnetIds:\n    - subnet-01234567", "Scheduling:\n  SlurmQueues:\n  - Networking:\n      SubnetIds:\n      - subnet-01234567"},
	{"indented_text", "HeadNode:\n  Ssh:\n  KeyName: \"a\n   b\"\n", "HeadNode:\n  Ssh:\n    KeyName: \"a\n     b\"\n"},
	{"indented_flow", "HeadNode: {Ssh: , KeyName: a}\n", ""},
	{"indented_null", "HeadNode:\n  Ssh: ~\n  KeyName: a\n", ""},
	{"indented_aliased", "X: &x\n  Ssh:\n  KeyName: a\nHeadNode: *x\n", ""},
	{"moved_to_no_map", "SlurmQueues: []\n", ""},
	{"moved_to_several", "Iam: {AdditionalIamPolicies: [], ResourcePrefix: a}\n", ""},
}

func lustre(kind, throughput string) string {
	return "SharedStorage:\n- FsxLustreSettings:\n    DeploymentType: " + kind + " # 한글\n    PerUnitStorageThroughput: " + throughput + "\n"
}

func TestFixes(t *testing.T) {
	for _, row := range fixes {
		t.Run(row.name, func(t *testing.T) {
			want := row.after
			if want == "" {
				want = row.before
			}
			m := mender(spec.Options{})
			done := m.Mend([]byte(row.before))
			if diff := cmp.Diff(want, string(done.Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
				for _, d := range m.Check([]byte(row.before)).All() {
					t.Logf("%s [%s] fix %+v", d.Message, d.Code, d.Fix)
				}
			}
			for _, d := range done.Left.All() {
				if d.Fix != nil && d.Severity == diag.Error {
					t.Errorf("not fixed: %s: %+v", d.Message, d.Fix)
				}
			}
		})
	}
}
