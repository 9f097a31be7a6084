package spec_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// TestOpenText_for_AWS shows what is no problem here and one for AWS. Each row
// changes the base file.
func TestOpenText_for_AWS(t *testing.T) {
	rows := []struct{ name, old, new string }{
		{"placeholders", "subnet-0123456789abcdef0", "subnet-yyy\n    SecurityGroups: [sg-z, sg-01234567]\n    AdditionalSecurityGroups: []"},
		{"subnet_that_is_short", "subnet-0123456789abcdef0", "subnet-0123456"},
		{"empty_id", "subnet-0123456789abcdef0", `""`},
		{"images", "  Os: alinux2023", "  Os: alinux2023\n  CustomAmi: ami-of-mine"},
		{"file_systems", "    StorageType: Efs", "    StorageType: Efs\n    EfsSettings: {FileSystemId: fs-1, AccessPointId: fsap-1}"},
		{"file_cache", "    StorageType: Efs", "    StorageType: FileCache\n    FileCacheSettings: {FileCacheId: fc-1}"},
		{"backup", "      StorageCapacity: 1200", "      BackupId: backup-x"},
		{"volumes", "    StorageType: Efs", "    StorageType: Ebs\n    EbsSettings: {VolumeId: vol-1, SnapshotId: snap-1}"},
		{"ontap", "    StorageType: Efs", "    StorageType: FsxOntap\n    FsxOntapSettings: {VolumeId: fsvol-1}"},
		{"no_network", "  Networking:\n    SubnetId: subnet-0123456789abcdef0\n", ""},
		{"no_subnet", "    SubnetId: subnet-0123456789abcdef0", "    SecurityGroups: [sg-01234567]"},
		{"no_subnets_of_a_queue", "    - Name: cpu\n", "    - Name: cpu\n      Networking: {}\n"},
		{"no_subnets_of_a_pool", "Region:", "LoginNodes:\n  Pools:\n    - {Name: pool, InstanceType: t3.large, Count: 1}\n    - {Name: other, InstanceType: t3.large, Count: 1, Networking: {SecurityGroups: [sg-01234567]}}\nRegion:"},
		{"a_type_that_the_reservation_knows", "InstanceType: p5e.48xlarge", "CapacityReservationTarget: {CapacityReservationId: cr-0123456789abcdef0}"},
		{"merge_keys", "    - Name: cpu\n", "    - Name: cpu\n      <<: {CapacityType: SPOT}\n"},
		{"anchors_of_one_name", "Region:", "Tags: [&a {Key: a, Value: b}, &a {Key: c, Value: d}]\nRegion:"},
		{"tabs", "Region: us-east-1", "Region:\tus-east-1\t# a\ttab\nTags:\n  - {Key: \"a\tb\", Value: 'it''s\t'}\n  - Key: b\n    Value: |\n      a\tb\n\n      c\t\n  -\t{Key: x, Value: y}"},
	}
	var b strings.Builder
	for _, row := range rows {
		data := strings.Replace(replace(t, row.old, row.new), "Name: gpu", "Name: gpu\n      Networking: {SubnetIds: [subnet-01234567]}", 1)
		if row.name != "no_subnets_of_a_queue" {
			data = strings.Replace(data, "Name: cpu", "Name: cpu\n      Networking: {SubnetIds: [subnet-01234567]}", 1)
		}
		here := spec.OpenText("cluster.yaml", []byte(data), spec.Options{})
		if n := here.Problems.Count(diag.Warning); n > 0 {
			t.Errorf("%s: %d warnings where AWS is not asked", row.name, n)
		}
		f := spec.OpenText("cluster.yaml", []byte(data), spec.Options{AWS: true})
		b.WriteString("== " + row.name + "\n" + text(t, f.Problems))
	}
	golden.Check(t, "aws-problems.txt", b.String())
}
