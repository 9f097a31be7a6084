package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func base(t testing.TB) string { return read(t, "testdata/base.yaml") }

// text is a list as users see it.
func text(t testing.TB, l *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, l, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// replace changes one place of the base file.
func replace(t testing.TB, old, new string) string {
	t.Helper()
	s := base(t)
	if strings.Count(s, old) < 1 {
		t.Fatalf("the base file has no %q", old)
	}
	return strings.Replace(s, old, new, 1)
}

func TestParse_fills_in_defaults(t *testing.T) {
	got, problems := spec.Parse("cluster.yaml", []byte(base(t)))
	if problems.Len() != 0 {
		t.Fatal(text(t, problems))
	}
	root, dcv := spec.RootVolume{VolumeType: "gp3", Iops: 3000, Throughput: 125, Encrypted: true}, spec.DCV{Port: 8443, AllowedIPs: "0.0.0.0/0"}
	want := &spec.Cluster{
		File: "cluster.yaml", Region: "us-east-1", OS: "alinux2023",
		HeadNode: spec.HeadNode{
			InstanceType: "c6i.4xlarge", ScratchDir: "/scratch", RootVolume: root, DCV: dcv,
			Networking: spec.Networking{Subnets: []string{"subnet-0123456789abcdef0"}}, SecuredMetadata: true,
		},
		Timeouts:   spec.Timeouts{HeadNode: 35 * time.Minute, ComputeNode: 35 * time.Minute},
		Monitoring: spec.Monitoring{Logs: spec.Logs{Enabled: true, RetentionDays: 180, DeletionPolicy: spec.PolicyRetain}, Dashboard: true, Alarms: true, LogRotation: true},
		Scheduling: spec.Scheduling{
			ScalingStrategy: "all-or-nothing",
			Slurm:           spec.SlurmSettings{ScaledownIdleMinutes: 5, UpdateStrategy: spec.UpdateStopped},
			Queues: []spec.Queue{
				{Name: "gpu", CapacityType: "ONDEMAND", ScratchDir: "/scratch", RootVolume: root, AllocationStrategy: "lowest-price", ComputeResources: []spec.ComputeResource{
					{Name: "nodes", InstanceTypes: []string{"p5e.48xlarge"}, MinCount: 1, MaxCount: 4, StaticPriority: 1, DynamicPriority: 1000},
				}},
				{Name: "cpu", CapacityType: "ONDEMAND", ScratchDir: "/scratch", RootVolume: root, AllocationStrategy: "lowest-price", ComputeResources: []spec.ComputeResource{
					{Name: "small", InstanceTypes: []string{"c6i.large"}, MaxCount: 10, StaticPriority: 1, DynamicPriority: 1000},
				}},
			},
		},
		SharedStorage: []spec.SharedStorage{
			{Name: "data", MountDir: "/data", Kind: spec.Lustre, Lustre: spec.LustreSettings{DeploymentType: "SCRATCH_2", CapacityGiB: 1200}, DeletionPolicy: "Delete", Repositories: []spec.DataRepository{
				{Name: "in", Dir: "/data/in", Bucket: "bucket", Prefix: "prefix/", Association: &spec.Association{Path: "/in", URI: "s3://bucket/prefix", ChunkMiB: 1024}},
			}},
			{Name: "home", MountDir: "/home2", Kind: spec.EFS, DeletionPolicy: "Delete", EFS: spec.EFSSettings{PerformanceMode: "generalPurpose", ThroughputMode: "bursting"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParse_idle_time_is_ten_minutes_by_default(t *testing.T) {
	c, problems := spec.Parse("c", []byte(replace(t, "    ScaledownIdletime: 5", "    EnableMemoryBasedScheduling: YES")))
	if c == nil {
		t.Fatal(text(t, problems))
	}
	if got := c.Scheduling.Slurm; got.ScaledownIdleMinutes != 10 || !got.MemoryBasedScheduling {
		t.Errorf("got %+v", got)
	}
}

// TestParse_accepts has values that ParallelCluster accepts and that a strict
// reader would not. Each row changes the base file.
func TestParse_accepts(t *testing.T) {
	for _, row := range []struct{ name, old, new string }{
		{"numbers_in_quotes", "MaxCount: 4", `MaxCount: " 1_0 "`},
		{"octal_numbers", "MaxCount: 4", "MaxCount: 010"},
		{"whole_floats", "MaxCount: 4", "MaxCount: 4.0"},
		{"truth_in_words", "MaxCount: 4", "MaxCount: 4\n          DisableSimultaneousMultithreading: On"},
		{"truth_in_letters", "MaxCount: 4", "MaxCount: 4\n          DisableSimultaneousMultithreading: 'y'"},
		{"truth_in_numbers", "MaxCount: 4", "MaxCount: 4\n          DisableSimultaneousMultithreading: 1"},
		{"truth_in_odd_numbers", "MaxCount: 4", "MaxCount: 4\n          DisableSimultaneousMultithreading: 1.\n          Efa: {Enabled: -0}"},
		{"placeholders_of_ids", "subnet-0123456789abcdef0", "subnet-xxxxxxxxx"},
		{"no_subnets", "  Networking:\n    SubnetId: subnet-0123456789abcdef0\n", ""},
		{"never_scale_down", "ScaledownIdletime: 5", "ScaledownIdletime: -1"},
		{"old_and_new_systems", "alinux2023", "ubuntu2404"},
		{"a_system_of_3_11", base(t), "# muster: schema=3.11\n" + replace(t, "alinux2023", "alinux2")},
		{"keys_of_3_15", "MaxCount: 4", "MaxCount: 4\n          LaunchTemplateOverrides: {LaunchTemplateId: lt-1, Version: 3}"},
		{"development_settings", "Region:", "DevSettings: {EfaInterfaceType: efa-only, AmiSearchFilters: {NamePrefix: x}}\nRegion:"},
		{"allocation_strategies_of_3_14", "- Name: gpu\n", "- Name: gpu\n      AllocationStrategy: prioritized\n"},
		{"login_keys_of_3_14", "Region:", "# muster: schema=3.14\nLoginNodes:\n  Pools:\n    - {Name: pool, InstanceType: t3.large, Count: 1, Ssh: {KeyName: key}}\nRegion:"},
		{"texts_that_look_like_numbers_elsewhere", "Region: us-east-1", "Tags:\n  - {Key: 1e3, Value: 0o17}\n  - {Key: 089, Value: 123e45}"},
		{"empty_settings_of_another_type", "StorageType: Efs", "StorageType: Efs\n    EbsSettings: {}"},
		{"empty_lists_that_exclude_each_other", "    SubnetId:", "    SecurityGroups: []\n    AdditionalSecurityGroups: [sg-01234567]\n    SubnetId:"},
		{"a_comment_about_muster", "Region:", "# muster: this file is for tests\nRegion:"},
		{"days_of_backups", "      StorageCapacity: 1200", "      StorageCapacity: 1200\n      AutomaticBackupRetentionDays: 90"},
		{"a_sequence_of_actions", "    - Name: cpu\n", "    - Name: cpu\n      CustomActions:\n        OnNodeStart:\n          Sequence:\n            - Script: s3://b/a.sh\n            - {Script: s3://b/b.sh, Args: [x, y]}\n"},
		{"elastic_ip_as_truth", "    SubnetId:", "    ElasticIp: true\n    SubnetId:"},
		{"elastic_ip_as_id", "    SubnetId:", "    ElasticIp: eipalloc-1\n    SubnetId:"},
		{"several_instance_types", "InstanceType: p5e.48xlarge", "Instances: [{InstanceType: p5e.48xlarge}, {InstanceType: p5en.48xlarge}]"},
		{"merge_keys", "    - Name: cpu\n", "    - Name: cpu\n      <<: {CapacityType: SPOT}\n"},
		{"aliases", "      InstanceType: c6i.large", "      InstanceType: &t c6i.large\n        - Name: other\n          InstanceType: *t"},
		{"byte_order_mark", "Region:", "\xef\xbb\xbfRegion:"},
		{"windows_lines", "Region: us-east-1\nImage:", "Region: us-east-1\r\nImage:\r"},
		{"document_marks", "Region:", "%YAML 1.1\n---\nRegion:"},
		{"json", base(t), `{"Image":{"Os":"rhel9"},"HeadNode":{"InstanceType":"t3.micro"},"Scheduling":{"Scheduler":"slurm","SlurmQueues":[]}}`},
		{"repository_of_a_whole_bucket", "s3://bucket/prefix", "s3://bucket/"},
		{"slurm_settings", "ScaledownIdletime: 5", "CustomSlurmSettings: [{MessageTimeout: 60}, {PrologFlags: \"Alloc, Contain\"}, {NodeName: 'x[1-3]', CPUs: 2, State: FUTURE}]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, problems := spec.Parse("cluster.yaml", []byte(replace(t, row.old, row.new)))
			if c == nil || problems.Count(diag.Warning) > 0 {
				t.Error(text(t, problems))
			}
		})
	}
}

// TestParse_problems shows every problem word for word. Each row changes the
// base file.
func TestParse_problems(t *testing.T) {
	rows := []struct{ name, old, new string }{
		{"unknown_key_misspelt", "  InstanceType: c6i.4xlarge", "  Instancetype: c6i.4xlarge"},
		{"unknown_key_of_another_place", "Region:", "ScaledownIdletime: 3\nRegion:"},
		{"unknown_key_of_the_map_around", "MaxCount: 4", "MaxCount: 4\n          Efa: {Enabled: true, CapacityReservationTarget: {CapacityReservationId: cr-1}}"},
		{"unknown_key_of_a_map_within", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  RootVolume: {Size: x}"},
		{"unknown_key_of_nowhere", "Region:", "Colour: red\nRegion:"},
		{"unknown_key_is_checked_below", "SharedStorage:", "SharedStorages:"},
		{"wrong_place_is_checked_below", "SharedStorage:\n", "Foo: 1\nInstances:\n  - Bar: x\nSharedStorage:\n"},
		{"aws_batch", "Scheduler: slurm", "Scheduler: awsbatch\n  AwsBatchQueues: [{Name: q}]\n  AwsBatchSettings: {}"},
		{"aws_batch_alone", "  SlurmQueues:\n", "  AwsBatchQueues:\n"},
		{"aws_batch_of_3_15", base(t), "# muster: schema=3.15\n" + replace(t, "Scheduler: slurm", "Scheduler: awsbatch")},
		{"aws_batch_beside_slurm", "Scheduler: slurm", "Scheduler: slurm\n  AwsBatchSettings: {}"},
		{"torque", "Scheduler: slurm", "Scheduler: torque"},
		{"grid_engine", "Scheduler: slurm", "Scheduler: sge"},
		{"setting_far_from_the_top", "MaxCount: 4", "MaxCount: 4\n          LaunchTemplateOverrides: {LaunchTemplateId: lt-1}\n# muster: schema=3.13"},
		{"key_of_an_earlier_level", "Region:", "LoginNodes:\n  Pools:\n    - {Name: pool, InstanceType: t3.large, Count: 1, Ssh: {KeyName: key}}\nRegion:"},
		{"keys_at_an_early_level", base(t), "# muster: schema=3.13\n" + replace(t, "MaxCount: 4", "MaxCount: 4\n          LaunchTemplateOverrides: {LaunchTemplateId: lt-1}")},
		{"values_at_an_early_level", base(t), "# muster: schema=3.12\n" + strings.Replace(replace(t, "alinux2023", "ubuntu2404"), "- Name: gpu\n", "- Name: gpu\n      AllocationStrategy: prioritized\n", 1)},
		{"key_of_a_later_level_at_a_wrong_place", base(t), "# muster: schema=3.13\n" + replace(t, "- Name: gpu\n", "- Name: gpu\n      LaunchTemplateOverrides: {LaunchTemplateId: lt-1, Version: 1}\n")},
		{"systems_of_before", "Os: alinux2023", "Os: centos7"},
		{"systems_of_long_before", "Os: alinux2023", "Os: ubuntu1804"},
		{"system_of_3_13", "Os: alinux2023", "Os: ubuntu2004"},
		{"limits_at_an_early_level", base(t), "# muster: schema=3.15\n" + replace(t, "      StorageCapacity: 1200", "      StorageCapacity: 1200\n      AutomaticBackupRetentionDays: 36")},
		{"level_that_is_none", "Region:", "# muster: schema=3.99\nRegion:"},
		{"setting_that_is_none", "Region:", "  #muster: colour=red schema=3.14\nRegion:"},
		{"keys_of_parallelcluster_2", "Region:", "base_os: alinux2\nvpc_settings: public\nmaster_instance_type: c5.large\nRegion:"},
		{"missing_keys", base(t), "Region: r\n"},
		{"missing_key_in_a_list", "    - Name: cpu\n      ComputeResources:", "    - ComputeResources:"},
		{"map_for_a_list", "    - Name: gpu\n      ComputeResources:\n        - Name: nodes\n          ", "    - Name: gpu\n      ComputeResources:\n          Name: nodes\n          "},
		{"text_for_a_list", "  - Name: home\n    MountDir: home2\n    StorageType: Efs\n", "Tags: none\n"},
		{"text_for_a_map", "Image:\n  Os: alinux2023", "Image: alinux2023"},
		{"list_for_a_text", "Region: us-east-1", "Region: [us-east-1]"},
		{"template", "Region: us-east-1", "Region: {{ region }}"},
		{"template_of_lines", "Region: us-east-1", "Region: us-east-1\n{% if login %}\nLoginNodes: {}\n{% endif %}"},
		{"placeholder_in_braces", "Region: us-east-1", "Region: {your-region}"},
		{"placeholder_in_a_list", "    - Name: gpu\n", "    - Name: gpu\n      Networking: {SecurityGroups: [{name}]}\n"},
		{"map_for_a_number", "MaxCount: 4", "MaxCount: {a: 1}"},
		{"number_for_a_text", "Region: us-east-1", "Region: 12"},
		{"truth_for_a_text", "Region: us-east-1", "Region: true"},
		{"text_for_a_number", "MaxCount: 4", "MaxCount: four"},
		{"too_large_a_number", "MaxCount: 4", "MaxCount: 99999999999999999999"},
		{"fraction_for_a_number", "MaxCount: 4", "MaxCount: 4.5"},
		{"truth_for_a_number", "MinCount: 1", "MinCount: true"},
		{"text_for_truth", "ScaledownIdletime: 5", "EnableMemoryBasedScheduling: maybe"},
		{"quoted_number_for_truth", "ScaledownIdletime: 5", "EnableMemoryBasedScheduling: '1.0'"},
		{"image_without_ami", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Image: {}"},
		{"number_out_of_range", "MinCount: 1", "MinCount: -1"},
		{"price_is_no_number", "MinCount: 1", "SpotPrice: cheap"},
		{"nothing_for_a_map", "  SlurmSettings:\n    ScaledownIdletime: 5", "  SlurmSettings:"},
		{"nothing_in_a_list", "SharedStorage:", "SharedStorage:\n  -"},
		{"value_not_allowed", "Os: alinux2023", "Os: windows"},
		{"value_misspelt", "Os: alinux2023", "Os: ubuntu2240"},
		{"value_in_capitals", "StorageType: Efs", "StorageType: EFS"},
		{"retention_not_allowed", "Region:", "Monitoring: {Logs: {CloudWatch: {RetentionInDays: 15}}}\nRegion:"},
		{"policy_is_no_arn", "Region:", "Iam: {PermissionsBoundary: boundary}\nRegion:"},
		{"addresses_are_no_network", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Ssh: {AllowedIps: 10.0.0.1}"},
		{"list_is_too_long", "DataRepositoryPath: s3://bucket/prefix", "DataRepositoryPath: s3://bucket/prefix\n          AutoExportPolicy: [NEW, NEW, NEW, GONE]"},
		{"text_is_too_long", "Region:", "Tags: [{Key: " + strings.Repeat("k", 129) + ", Value: v}]\nRegion:"},
		{"placeholders", "subnet-0123456789abcdef0", "subnet-yyy\n    SecurityGroups: [sg-z]\n    AdditionalSecurityGroups: [sg-z]"},
		{"empty_id", "subnet-0123456789abcdef0", `""`},
		{"two_that_exclude_each_other", "Region:", "LoginNodes:\n  Pools:\n    - Name: p\n      InstanceType: t3.large\n      Count: 1\n      Iam: {InstanceRole: \"arn:aws:iam::1:role/a\", AdditionalIamPolicies: [{Policy: \"arn:aws:iam::aws:policy/b\"}]}\nRegion:"},
		{"action_without_script", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  CustomActions: {OnNodeStart: {Args: [a]}}"},
		{"reservation_without_id", "MinCount: 1", "CapacityReservationTarget: {}"},
		{"duplicate_key", "Region: us-east-1", "Region: us-east-1\nRegion: us-east-2"},
		{"key_is_no_word", "Region:", "? [a, b]\n: c\nRegion:"},
		{"tag", "Region: us-east-1", "Region: !Ref us-east-1"},
		{"alias_of_nothing", "Region: us-east-1", "Region: *region"},
		{"alias_in_itself", "Region: us-east-1", "Tags: &a [*a]"},
		{"merge_of_a_text", "  Os: alinux2023", "  Os: alinux2023\n  <<: text"},
		{"count_below_minimum", "MaxCount: 4", "MaxCount: 0"},
		{"maximum_below_minimum", "MinCount: 1", "MinCount: 5"},
		{"default_maximum_below_minimum", "InstanceType: c6i.large", "InstanceType: c6i.large\n          MinCount: 11"},
		{"too_many_nodes", "MaxCount: 4", "MaxCount: 1000000"},
		{"queue_twice", "Name: cpu", "Name: gpu"},
		{"resource_twice", "        - Name: small", "        - {Name: small, InstanceType: c6i.large}\n        - Name: small"},
		{"queue_name", "Name: gpu", "Name: GPU_queue"},
		{"queue_name_too_long", "Name: gpu", "Name: abcdefghijklmnopqrstuvwxyz"},
		{"queue_name_reserved", "Name: gpu", "Name: default"},
		{"queue_name_of_two_lines", "Name: gpu", `Name: "gpu\nPartitionName=evil"`},
		{"instance_unknown", "p5e.48xlarge", "p5e.84xlarge"},
		{"instance_of_a_new_gpu_family", "p5e.48xlarge", "p9x.48xlarge"},
		{"instance_of_an_unlike_family", "p5e.48xlarge", "p7.48xlarge"},
		{"instance_without_size", "c6i.4xlarge", "c6i"},
		{"instance_missing", "          InstanceType: p5e.48xlarge\n", ""},
		{"instance_of_a_reservation", "          InstanceType: p5e.48xlarge\n", "          CapacityReservationTarget: {CapacityReservationId: cr-1}\n"},
		{"instance_twice", "InstanceType: p5e.48xlarge", "Instances: [{InstanceType: p5.48xlarge}, {InstanceType: p5.48xlarge}]"},
		{"storage_name_twice", "Name: home", "Name: data"},
		{"storage_name_reserved", "Name: home", "Name: default"},
		{"storage_name_too_long", "Name: home", "Name: " + strings.Repeat("n", 31)},
		{"storage_name_with_odd_characters", "Name: home", "Name: a*b"},
		{"mount_twice", "MountDir: home2", "MountDir: data"},
		{"mount_over_the_system", "MountDir: home2", "MountDir: /usr"},
		{"mount_with_dots", "MountDir: home2", "MountDir: /a/../b"},
		{"mount_of_two_lines", "MountDir: home2", `MountDir: "/a\nb"`},
		{"mount_over_our_own", "MountDir: home2", `MountDir: /opt/muster`},
		{"mount_in_another", "MountDir: home2", "MountDir: /data/home"},
		{"scratch_on_shared_storage", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  LocalStorage: {EphemeralVolume: {MountDir: /data}}"},
		{"scratch_in_shared_storage", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  LocalStorage: {EphemeralVolume: {MountDir: /data/x}}"},
		{"settings_of_another_type", "StorageType: Efs", "StorageType: Efs\n    EbsSettings: {Size: 10}"},
		{"settings_of_what_exists", "StorageType: Efs", "StorageType: Efs\n    EfsSettings: {FileSystemId: fs-01234567, Encrypted: true}"},
		{"settings_of_what_exists_on_lustre", "      StorageCapacity: 1200", "      FileSystemId: fs-0123456789abcdef0"},
		{"settings_missing_for_what_exists", "    StorageType: Efs", "    StorageType: FsxOntap"},
		{"settings_without_volume", "    StorageType: Efs", "    StorageType: FsxOpenZfs\n    FsxOpenZfsSettings: {}"},
		{"instances_that_are_none", "InstanceType: p5e.48xlarge", "Instances: []"},
		{"reservation_with_an_empty_id", "MinCount: 1", "CapacityReservationTarget: {CapacityReservationId: ''}"},
		{"reservation_with_id_and_group", "MinCount: 1", "CapacityReservationTarget: {CapacityReservationId: cr-1, CapacityReservationResourceGroupArn: 'arn:aws:resource-groups:us-east-1:1:group/g'}"},
		{"action_with_script_and_sequence", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  CustomActions: {OnNodeStart: {Script: a, Sequence: [{Script: b}]}}"},
		{"login_pool_with_two_subnets", "Region:", "LoginNodes:\n  Pools:\n    - {Name: p, InstanceType: t3.large, Count: 1, Networking: {SubnetIds: [subnet-01234567, subnet-12345678]}}\nRegion:"},
		{"security_groups_twice", "    SubnetId:", "    SecurityGroups: [sg-01234567]\n    AdditionalSecurityGroups: [sg-01234567]\n    SubnetId:"},
		{"roles_and_s3_access", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Iam: {InstanceRole: 'arn:aws:iam::1:role/r', S3Access: [{BucketName: b}]}"},
		{"profile_and_s3_access", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Iam: {InstanceProfile: 'arn:aws:iam::1:instance-profile/r', S3Access: [{BucketName: b}]}"},
		{"dcv_without_word", "  InstanceType: c6i.4xlarge", "  InstanceType: c6i.4xlarge\n  Dcv: {Port: 8443}"},
		{"directory_service_alone", "Region:", "DirectoryService: {DomainName: d, PasswordSecretArn: x}\nRegion:"},
		{"two_accountings", "ScaledownIdletime: 5", "Database: {Uri: u, UserName: n, PasswordSecretArn: 'arn:aws:secretsmanager:us-east-1:1:secret:s'}\n    ExternalSlurmdbd: {Host: h}"},
		{"two_sources_of_settings", "ScaledownIdletime: 5", "CustomSlurmSettings: [{MessageTimeout: 60}]\n    CustomSlurmSettingsIncludeFile: s3://b/f"},
		{"mount_with_no_place", "MountDir: home2", "MountDir: NONE"},
		{"repository_is_no_s3", "s3://bucket/prefix", "https://bucket/prefix"},
		{"repository_without_bucket", "s3://bucket/prefix", "s3:///prefix"},
		{"repository_that_climbs", "s3://bucket/prefix", "s3://bucket/../x"},
		{"repository_of_a_bad_bucket", "s3://bucket/prefix", "s3://my_Bucket/x"},
		{"repository_twice", "          DataRepositoryPath: s3://bucket/prefix", "          DataRepositoryPath: s3://bucket/prefix\n        - {Name: in, FileSystemPath: /in/, DataRepositoryPath: s3://b-2}"},
		{"deployment_type", "StorageCapacity: 1200", "DeploymentType: PERSISTENT"},
		{"slurm_setting_of_two_lines", "ScaledownIdletime: 5", `CustomSlurmSettings: [{MessageTimeout: "60\nResumeProgram=/evil"}]`},
		{"slurm_setting_with_odd_name", "ScaledownIdletime: 5", `CustomSlurmSettings: [{"A=1 B": 60}, {"A\nB": 1}]`},
		{"slurm_setting_with_comment", "ScaledownIdletime: 5", `CustomSlurmSettings: [{MessageTimeout: "60 # s"}]`},
		{"slurm_setting_that_joins_lines", "ScaledownIdletime: 5", `CustomSlurmSettings: [{MessageTimeout: '60\'}]`},
		{"slurm_setting_without_value", "ScaledownIdletime: 5", `CustomSlurmSettings: [{A: }, {B: [1]}, text]`},
		{"slurm_setting_denied", "ScaledownIdletime: 5", `CustomSlurmSettings: [{resumeprogram: /bin/x}]`},
		{"queue_setting_denied", "    - Name: gpu\n", "    - Name: gpu\n      CustomSlurmSettings: {State: DOWN, MaxTime: '1 State=DOWN', Comment: '\"a b\"'}\n"},
		{"node_setting_denied", "MinCount: 1", "CustomSlurmSettings: {Gres: 'gpu:1', MemSpecLimit: 100}"},
		{"syntax_tab", "  Os:", "\tOs:"},
		{"syntax_quote", "Region: us-east-1", "Region: \"us-east-1"},
		{"syntax_bracket", "Region: us-east-1", "Region: [us-east-1"},
		{"syntax_braces", "Region: us-east-1", "Region: [us-east-1, /fsx/{model}/x]"},
		{"syntax_braces_first", "Region: us-east-1", "Region: [--dir=/fsx/{model}, 1]"},
		{"syntax_colon", "Region: us-east-1", "Region: us: east"},
		{"syntax_indentation", "  SlurmSettings:", " SlurmSettings:"},
		{"syntax_missing_colon", "Image:\n", "Image\n"},
		{"two_documents", "Region: us-east-1\n", "Region: us-east-1\n---\n"},
		{"empty", base(t), ""},
		{"comments_only", base(t), "# nothing\n"},
		{"null", base(t), "---\n~\n"},
		{"a_list", base(t), "- a\n- b\n"},
		{"a_word", base(t), "hello\n"},
		{"utf16", base(t), "\xff\xfeR\x00"},
		{"utf16_without_mark", base(t), "R\x00e\x00g\x00"},
		{"utf16_big_endian_not_all_ascii", base(t), "\x00#\x00 \x00r\x00\xe9\x20\x14\x00\n\x00R\x00e\x00g"},
		{"nul_second", base(t), "a\x00b: c\n"},
		{"nul_first", base(t), "\x00a: c\n"},
		{"nul_alone", base(t), "a\x00"},
		{"nul_within", "us-east-1", "us-\x00east"},
		{"not_utf8", "us-east-1", "us-\xe9ast"},
		{"control_character", "us-east-1", "us-\x1b[2Jeast"},
		{"parallelcluster_2", base(t), "# comment\n\n[global]\ncluster_template = default\n\n[cluster default]\nkey_name = k\n"},
		{"parallelcluster_2_with_lines_before", base(t), "key_name = k\n\n[cluster default]\nvpc_settings = p\n"},
		{"parallelcluster_2_without_label", base(t), "[cluster]\n"},
		{"too_large", base(t), strings.Repeat("# long\n", 700_000)},
		{"too_deep", base(t), "Tags: " + strings.Repeat("[", 80) + strings.Repeat("]", 80)},
		{"far_too_deep", base(t), strings.Repeat("[", 100_000)},
	}
	var b strings.Builder
	for _, row := range rows {
		c, problems := spec.Parse("cluster.yaml", []byte(replace(t, row.old, row.new)))
		if (c == nil) != problems.HasErrors() {
			t.Errorf("%s: cluster %v, but errors: %v", row.name, c != nil, problems.HasErrors())
		}
		b.WriteString("== " + row.name + "\n" + text(t, problems))
	}
	golden.Check(t, "problems.txt", b.String())
}

// TestLoad_guide shows what is wrong with the guide's own file.
func TestLoad_guide(t *testing.T) {
	c, problems := spec.Load("testdata/bad/guide.yaml")
	if c != nil {
		t.Error("the file is accepted")
	}
	golden.Check(t, "bad/guide.txt", text(t, problems))
}

func TestLoad_no_file(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cluster.yaml"), []byte(base(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, path, want string }{
		{"missing_with_a_near_one", "clsuter.yaml", "DIR/clsuter.yaml: error: there is no such file [file/missing]\n  hint: did you mean DIR/cluster.yaml?\n"},
		{"missing", "other.yaml", "DIR/other.yaml: error: there is no such file [file/missing]\n  hint: check the name and the directory\n"},
		{"missing_directory", "no/other.yaml", "DIR/no/other.yaml: error: there is no such file [file/missing]\n  hint: the directory DIR/no does not exist, either\n"},
		{"directory", "", "DIR: error: this is a directory, not a file [file/directory]\n  hint: give the file in it, for example DIR/cluster.yaml\n"},
		{"file_for_a_directory", "cluster.yaml/x", "DIR/cluster.yaml/x: error: the file cannot be read: not a directory [file/read]\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, problems := spec.Load(filepath.Join(dir, row.path))
			got := strings.ReplaceAll(text(t, problems), dir, "DIR")
			if diff := cmp.Diff(row.want, got); diff != "" || c != nil {
				t.Errorf("cluster %v (-want +got):\n%s", c, diff)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	_, problems := spec.Parse("cluster.yaml", []byte(base(t)))
	for path, want := range map[string][2]int{
		"":                          {1, 1},
		"Region":                    {1, 9},
		"Scheduling.SlurmQueues":    {12, 3},
		"Scheduling.SlurmQueues[1]": {19, 7},
		"Scheduling.SlurmQueues[0].ComputeResources[0].MaxCount":    {18, 21},
		"Scheduling.SlurmQueues[0].ComputeResources[0].Efa.Enabled": {15, 11},
		"Scheduling.SlurmQueues[9].Name":                            {12, 3},
		"SharedStorage[0].FsxLustreSettings.StorageCapacity":        {28, 24},
		"No.Such[1][2].Path":                                        {1, 1},
		"SharedStorage[-1]":                                         {23, 1},
		"SharedStorage[99999999999999999999].Name.[].x[":            {23, 1},
	} {
		at := problems.Locate(path)
		if at.Line != want[0] || at.Column != want[1] || at.Path != path || at.File != "cluster.yaml" {
			t.Errorf("%s: got %d:%d %q, want %d:%d", path, at.Line, at.Column, at.Path, want[0], want[1])
		}
	}
}

func TestKeys(t *testing.T) {
	keys := spec.Keys(spec.Newest)
	if len(keys) < 303 {
		t.Errorf("%d keys, want at least 303", len(keys))
	}
	for _, k := range keys {
		if k.Path == "Scheduling.SlurmQueues[].ComputeResources[].MaxCount" {
			want := spec.Key{Path: k.Path, Type: "int", Constraint: "range:1..", Default: "10", UpdatePolicy: "RESIZE_UPDATE_STRATEGY_ON_REMOVE", Use: "model"}
			if diff := cmp.Diff(want, k); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("no MaxCount")
}
