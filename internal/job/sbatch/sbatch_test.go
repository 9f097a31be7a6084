package sbatch_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/sbatch"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// clusterOf is a cluster with a queue of nodes of a type, and what stands behind it in the file.
func clusterOf(t testing.TB, instance, more string) *batch.Facts {
	t.Helper()
	text := fmt.Sprintf(`Region: us-east-1
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c6i.4xlarge
  Networking: {SubnetId: subnet-12345678}
Scheduling:
  Scheduler: slurm
  SlurmSettings: {EnableMemoryBasedScheduling: true}
  SlurmQueues:
  - Name: train
    Networking: {SubnetIds: [subnet-12345678]}
    ComputeResources:
    - {Name: nodes, InstanceType: %s, MinCount: 0, MaxCount: 80%s}
SharedStorage:
- {MountDir: /fsx1, Name: data, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 7200, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250, DeletionPolicy: Retain}}
- {MountDir: /fsx2, Name: checkpoints, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 7200, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250, DeletionPolicy: Retain}}
- {MountDir: /fsx3, Name: logs, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 7200, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250, DeletionPolicy: Retain}}
`, instance, more)
	c, problems := spec.Parse("cluster.yaml", []byte(text))
	if c == nil {
		t.Fatal(problems.Err())
	}
	return batch.FactsOf(c)
}

// jobOf reads a job file that has no problems.
func jobOf(t testing.TB, text string) *jobfile.Job {
	t.Helper()
	j, problems := jobfile.Parse("job.yaml", "/fsx3/code", []byte(text))
	if problems.Len() > 0 {
		t.Fatal(said(t, problems))
	}
	return j
}

func said(t testing.TB, list *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, list, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const llama = `Job: llama
Launcher: %s
Script: train.py
Arguments: [--config, llama.yaml, --checkpoint-dir, /fsx2/llama/checkpoints]
Data: [/fsx1/c4]
Checkpoints: /fsx2/llama/checkpoints
Logs: /fsx3/llama/logs
Time: 7-00:00:00
`

const efa = ", Efa: {Enabled: true}"

// TestNew_accelerate_with_one_process: accelerate refuses --multi_gpu there.
func TestNew_accelerate_with_one_process(t *testing.T) {
	for job, want := range map[string]bool{"GPUs: 1\n": false, "GPUs: 2\n": true, "Nodes: 1\nRanks: 1\n": false, "Nodes: 2\nRanks: 1\n": true} {
		s, problems := sbatch.New(jobOf(t, fmt.Sprintf(llama, "accelerate")+job), clusterOf(t, "p5e.48xlarge", efa))
		if s == nil {
			t.Fatal(said(t, problems))
		}
		if got := strings.Contains(s.Text, "--multi_gpu"); got != want {
			t.Errorf("%q: --multi_gpu is there: %t", job, got)
		}
	}
}

// TestNew holds the scripts of each family of instances and each launcher, word for word: they
// are free of what `muster check` and shellcheck find.
func TestNew(t *testing.T) {
	for _, row := range []struct{ name, instance, more, launcher, job string }{
		{"p4d_torchrun", "p4d.24xlarge", efa, "torchrun", "Nodes: 4\n"},
		{"p5_fsdp", "p5.48xlarge", efa, "fsdp", "Nodes: 11\n"},
		{"p5en_megatron", "p5en.48xlarge", efa, "megatron", "Nodes: 11\n"},
		{"p6_b200_megatron", "p6-b200.48xlarge", efa, "megatron", "Nodes: 2\n"},
		{"p5e_deepspeed", "p5e.48xlarge", efa, "deepspeed", "Nodes: 14\n"},
		{"p5e_accelerate", "p5e.48xlarge", efa, "accelerate", "Nodes: 2\n"},
		{"p5_srun", "p5.48xlarge", efa, "srun", "Nodes: 2\n"},
		{"p5e_container", "p5e.48xlarge", efa, "torchrun", "Nodes: 2\nImage: /fsx1/images/train.sqsh\nMounts: ['/opt/tools:/tools:ro']\nEnvironment: {NCCL_DEBUG: INFO, HF_HOME: /fsx1/hf}\nSecrets: {HF_TOKEN: {Environment: HF_TOKEN}}\n"},
		{"p5e_part", "p5e.48xlarge", efa, "torchrun", "GPUs: 4\n"},
		{"g5_torchrun", "g5.12xlarge", "", "torchrun", "Nodes: 2\n"},
		{"g6_one_node", "g6.48xlarge", "", "fsdp", "Nodes: 1\n"},
		{"cpu_torchrun", "c6i.8xlarge", "", "torchrun", "Nodes: 2\nRanks: 2\n"},
		{"cpu_srun", "c6i.8xlarge", "", "srun", "Nodes: 3\n"},
		{"p5_spare", "p5.48xlarge", efa, "fsdp", "Nodes: 11\nSpares: 1\n"},
		{"cpu_spares", "c6i.8xlarge", "", "torchrun", "Nodes: 3\nSpares: 2\n"},
		{"secrets", "p5en.48xlarge", efa, "torchrun", "Nodes: 2\nSecrets: {HF_TOKEN: {File: ~/.cache/huggingface/token}, WANDB_API_KEY: {Environment: WANDB_API_KEY}}\n"},
		{"secrets_spare", "c6i.8xlarge", "", "srun", "Nodes: 2\nSpares: 1\nSecrets: {HF_TOKEN: {Environment: HF_TOKEN}}\n"},
		{"own_settings", "p5en.48xlarge", efa, "torchrun", "Nodes: 2\nPython: /fsx3/venv/bin/python\nConstraint: nodes\n" +
			"Environment: {WANDB_MODE: offline, GREETING: \"it's \\\"$HOME\\\"\"}\nRestarts: 3\nOnFailure: requeue\nHang: 30m\nOnHang: tell\nStartUp: 20m\nLogPattern: 'step (?P<step>\\d+)'\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			facts := clusterOf(t, row.instance, row.more)
			s, problems := sbatch.New(jobOf(t, fmt.Sprintf(llama, row.launcher)+row.job), facts)
			if problems.Count(diag.Error)+problems.Count(diag.Warning) > 0 {
				t.Fatal(said(t, problems))
			}
			golden.Check(t, row.name+".sbatch", s.Text)
			if found := s.Check(nil, facts); found.Len() > 0 {
				t.Error(said(t, found))
			}
			if found := batch.Check("plain", []byte(s.Text), nil, facts); found.Len() > 0 {
				t.Error(said(t, found))
			}
			shellcheck(t, s.Text)
		})
	}
}

// TestNew_spares: what of spares cannot be, and what they cost.
func TestNew_spares(t *testing.T) {
	for _, row := range []struct{ job, want string }{
		{"Nodes: 79\nSpares: 1\n", "info: the job holds 80 nodes and trains on 79 [job/spares]\n  hint: a spare costs about 55.04 USD an hour"},
		{"Nodes: 79\nSpares: 2\n", "error: 79 nodes and 2 spare are 81, and queue train has 80 [job/spares]\n    Spares: 2\n            ^\n  hint: Spares: 1, or fewer Nodes"},
		{"GPUs: 4\nSpares: 1\n", "error: Spares is 1, and the job has a part of one node [job/spares]"},
	} {
		_, problems := sbatch.New(jobOf(t, fmt.Sprintf(llama, "torchrun")+row.job), clusterOf(t, "p5.48xlarge", efa))
		if got := said(t, problems); !strings.Contains(got, row.want) || strings.Count(got, "[") != 1 {
			t.Errorf("%s: got %s\nwant %s", row.job, got, row.want)
		}
	}
}

// TestNew_keeps_lines_of_words holds that a word of several lines stays as it is wherever it
// stands in the script.
func TestNew_keeps_lines_of_words(t *testing.T) {
	for _, more := range []string{"Nodes: 2\n", "Nodes: 2\nSpares: 1\n"} {
		j := jobOf(t, "Job: a\nScript: a.py\nLogs: /fsx3/logs\nTime: 60\nArguments: [--text, \"one\\n  two\\n\"]\n"+more)
		s, problems := sbatch.New(j, clusterOf(t, "p5.48xlarge", efa))
		if s == nil || !strings.Contains(s.Text, "--text 'one\n  two\n'") {
			t.Errorf("%s%s", more, said(t, problems))
		}
	}
}

// shellcheck holds that shellcheck, which `make check` installs, finds nothing.
func shellcheck(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("shellcheck", "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}
