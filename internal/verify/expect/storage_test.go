package expect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

func TestFileSystemsAsTheyWereBought(t *testing.T) {
	lustre := func(s spec.LustreSettings) spec.SharedStorage {
		return spec.SharedStorage{MountDir: "/m", Kind: spec.Lustre, Lustre: s}
	}
	ebs := func(s spec.EBSSettings) spec.SharedStorage {
		return spec.SharedStorage{MountDir: "/m", Kind: spec.EBS, EBS: s}
	}
	efs := func(s spec.EFSSettings) spec.SharedStorage {
		return spec.SharedStorage{MountDir: "/m", Kind: spec.EFS, EFS: s}
	}
	for _, c := range []struct {
		name          string
		storage       spec.SharedStorage
		nodes, mbps   int
		write, read   float64
		unrated, soft string
	}{
		// 38400 GiB at 250 MB/s: 9.6 GB/s, which one node of 100 Gbit/s can take.
		{"lustre_250", lustre(spec.LustreSettings{DeploymentType: "PERSISTENT_2", PerUnitThroughput: 250, CapacityGiB: 38400}), 1, 3_200_000, 9.6, 9.6, "", ""},
		{"lustre_1000_one_node", lustre(spec.LustreSettings{DeploymentType: "PERSISTENT_2", PerUnitThroughput: 1000, CapacityGiB: 48000}), 1, 3_200_000, 12.5, 12.5, "", ""},
		{"lustre_1000_ten_nodes", lustre(spec.LustreSettings{DeploymentType: "PERSISTENT_2", PerUnitThroughput: 1000, CapacityGiB: 48000}), 10, 3_200_000, 48, 48, "", ""},
		{"lustre_slow_nodes", lustre(spec.LustreSettings{DeploymentType: "PERSISTENT_2", PerUnitThroughput: 125, CapacityGiB: 12000}), 2, 5_000, 1.25, 1.25, "", ""},
		{"scratch_writes_half", lustre(spec.LustreSettings{DeploymentType: "SCRATCH_2", CapacityGiB: 2400}), 4, 0, 0.24, 0.48, "", ""},
		{"hdd", lustre(spec.LustreSettings{DeploymentType: "PERSISTENT_1", StorageType: "HDD", PerUnitThroughput: 12, CapacityGiB: 6000}), 4, 0, 0.072, 0.072, "", ""},
		{"backup", lustre(spec.LustreSettings{DeploymentType: "PERSISTENT_2", PerUnitThroughput: 125, BackupID: "backup-1"}), 4, 0, 0, 0, "not in the file", ""},
		{"efs_provisioned", efs(spec.EFSSettings{ThroughputMode: "provisioned", ProvisionedMBps: 256}), 4, 0, 0.268435456, 0.268435456, "", ""},
		{"efs_elastic_one_node", efs(spec.EFSSettings{ThroughputMode: "elastic"}), 1, 0, 0.524288, 0.524288, "", ""},
		{"efs_bursting", efs(spec.EFSSettings{ThroughputMode: "bursting"}), 4, 0, 0.1048576, 0.1048576, "", "credits"},
		{"gp3", ebs(spec.EBSSettings{VolumeType: "gp3", Throughput: 125}), 4, 0, 0.131072, 0.131072, "", "head node"},
		{"gp3_one_connection", ebs(spec.EBSSettings{VolumeType: "gp3", Throughput: 1000}), 1, 0, 0.625, 0.625, "", "head node"},
		{"raid_1", ebs(spec.EBSSettings{VolumeType: "gp3", Throughput: 125, RAIDVolumes: 2, RAIDLevel: 1}), 4, 0, 0.131072, 0.262144, "", "head node"},
		{"io2", ebs(spec.EBSSettings{VolumeType: "io2", Iops: 1000}), 4, 0, 0, 0, "io2", ""},
		{"existing", spec.SharedStorage{MountDir: "/m", Kind: spec.Lustre, ExistingID: "fs-1"}, 4, 0, 0, 0, "exists already", ""},
		{"ontap", spec.SharedStorage{MountDir: "/m", Kind: spec.ONTAP}, 4, 0, 0, 0, "no rating", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := expect.FileSystems(&spec.Cluster{SharedStorage: []spec.SharedStorage{c.storage}}, nil)
			write, read, by := all[0].Together(c.nodes, c.mbps)
			if near(write, c.write) != "" || near(read, c.read) != "" {
				t.Errorf("write %.3f, want %.3f; read %.3f, want %.3f: %s", write, c.write, read, c.read, by)
			}
			if !strings.Contains(all[0].Unrated, c.unrated) || (c.unrated == "") != (all[0].Unrated == "") || !strings.Contains(all[0].Soft, c.soft) {
				t.Errorf("unrated %q, soft %q", all[0].Unrated, all[0].Soft)
			}
			if write > 0 && (all[0].Source == "" || by == "") {
				t.Error("a number has no source")
			}
		})
	}
}

func TestOpenZFSOfMusterYAML(t *testing.T) {
	w := &spec.Workload{FileSystems: []spec.FileSystem{{MountDir: "/zfs", Kind: spec.OpenZFS, DeploymentType: "SINGLE_AZ_1", ThroughputMBps: 2048}}}
	all := expect.FileSystems(&spec.Cluster{}, w)
	write, _, by := all[0].Together(2, 0)
	if near(write, 1.25) != "" || !strings.Contains(by, "2 ×") {
		t.Errorf("two nodes get %.3f GB/s: %s", write, by)
	}
}

func near(got, want float64) string {
	if d := got - want; d > 1e-6 || d < -1e-6 {
		return fmt.Sprint(got)
	}
	return ""
}
