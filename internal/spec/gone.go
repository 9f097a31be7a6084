package spec

import "strings"

// goneSchedulers are those that a cluster file cannot ask for any more, with
// what became of them.
var goneSchedulers = map[string]string{
	"awsbatch": "AWS Batch is not supported; ParallelCluster dropped it in 3.16",
	"torque":   "Torque is gone since ParallelCluster 3",
	"sge":      "Grid Engine is gone since ParallelCluster 3",
}

// scheduler reports schedulers that are gone. Their own keys, and missing keys of Slurm,
// are then not reported.
func (c *checker) scheduler(n *node, f *field, path string) {
	gone := ""
	if e := n.entry("Scheduler"); e != nil && e.value.kind == scalar {
		gone = goneSchedulers[strings.ToLower(e.value.value)]
		if gone != "" {
			c.errorAt(c.place(e), "scheduler/unsupported", join(path, e.key), "%s", gone).
				WithHint("use Scheduler: slurm, with SlurmQueues below Scheduling")
			c.moved[lack{f.children["SlurmQueues"], n}] = true
		}
	}
	for i := range n.entries {
		if e := &n.entries[i]; gone == "" && f.children[e.key] != nil && f.children[e.key].Type == "gone" {
			c.errorAt(c.at(e.line, e.column), "scheduler/unsupported", join(path, e.key), "%s is for AWS Batch, which is not supported", e.key).
				WithHint("remove it, or describe SlurmQueues")
			c.moved[lack{f.children["SlurmQueues"], n}] = true
		}
	}
}

// oldKeys are keys of ParallelCluster 2, of which some come back as YAML, with
// what says the same now.
var oldKeys = map[string]string{
	"additional_iam_policies": "HeadNode.Iam.AdditionalIamPolicies and SlurmQueues[].Iam.AdditionalIamPolicies",
	"additional_sg":           "Networking.AdditionalSecurityGroups",
	"aws_region_name":         "Region",
	"base_os":                 "Image.Os",
	"cluster_type":            "Scheduling.SlurmQueues[].CapacityType",
	"compute_instance_type":   "Scheduling.SlurmQueues[].ComputeResources[].InstanceType",
	"compute_subnet_id":       "Scheduling.SlurmQueues[].Networking.SubnetIds",
	"custom_ami":              "Image.CustomAmi",
	"disable_hyperthreading":  "DisableSimultaneousMultithreading",
	"ebs_settings":            "SharedStorage[].EbsSettings",
	"efs_settings":            "SharedStorage[].EfsSettings",
	"enable_efa":              "Scheduling.SlurmQueues[].ComputeResources[].Efa.Enabled",
	"fsx_settings":            "SharedStorage[].FsxLustreSettings",
	"initial_queue_size":      "Scheduling.SlurmQueues[].ComputeResources[].MinCount",
	"key_name":                "HeadNode.Ssh.KeyName",
	"master_instance_type":    "HeadNode.InstanceType",
	"master_root_volume_size": "HeadNode.LocalStorage.RootVolume.Size",
	"master_subnet_id":        "HeadNode.Networking.SubnetId",
	"max_queue_size":          "Scheduling.SlurmQueues[].ComputeResources[].MaxCount",
	"placement_group":         "Networking.PlacementGroup",
	"post_install":            "CustomActions.OnNodeConfigured.Script",
	"post_install_args":       "CustomActions.OnNodeConfigured.Args",
	"pre_install":             "CustomActions.OnNodeStart.Script",
	"queue_settings":          "Scheduling.SlurmQueues",
	"raid_settings":           "SharedStorage[].EbsSettings.Raid",
	"s3_read_resource":        "Iam.S3Access",
	"s3_read_write_resource":  "Iam.S3Access",
	"scaledown_idletime":      "Scheduling.SlurmSettings.ScaledownIdletime",
	"shared_dir":              "SharedStorage[].MountDir",
	"spot_price":              "Scheduling.SlurmQueues[].ComputeResources[].SpotPrice",
	"vpc_id":                  "the subnets, which know their VPC",
	"vpc_settings":            "HeadNode.Networking and SlurmQueues[].Networking",
}
