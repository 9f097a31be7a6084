package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// facts are a partition of 80 GPU nodes, and one of two kinds of CPU nodes.
func facts() *batch.Facts {
	partitions := []slurm.Partition{{Name: "gpu-queue", Default: true}, {Name: "cpu", MaxNodes: 3}, {Name: "empty"}}
	var nodes []slurm.Node
	for i := range 80 {
		nodes = append(nodes, slurm.Node{Name: fmt.Sprint("g-", i), Partitions: []string{"gpu-queue"}, CPUs: 192, MemoryMiB: 1992294, Gres: "gpu:h200:8(S:0-1)"})
	}
	for i := range 4 {
		n := slurm.Node{Name: fmt.Sprint("c-", i), Partitions: []string{"cpu"}, CPUs: 16, MemoryMiB: 64 << 10}
		if i > 0 {
			n.CPUs, n.MemoryMiB = 96, 32<<10
		}
		nodes = append(nodes, n)
	}
	return batch.Running(nil, partitions, nodes)
}

// TestFit holds what users read about what the cluster does not have, word for
// word.
func TestFit(t *testing.T) {
	const head = "#!/bin/bash\n"
	cases := []struct {
		name, script string
		flags        []string
	}{
		{"good", head + "#SBATCH --nodes=80 --gres=gpu:8\n#SBATCH --cpus-per-task=192 --mem=1900G\n", nil},
		{"nothing_asked", head + "echo\n", nil},
		{"not_understood", head + "#SBATCH --nodes=many --gres=gpu:x:y:z --mem=lots --constraint=big\n", nil},
		{"too_many_nodes", head + "#SBATCH --job-name=a\n#SBATCH --partition=gpu-queue\n#SBATCH --nodes=100\n", nil},
		{"too_many_nodes_in_a_range", head + "#SBATCH -N 81-90\n", nil},
		{"too_many_nodes_on_the_command_line", head + "#SBATCH --nodes=2\n", []string{"--nodes=100"}},
		{"mended_on_the_command_line", head + "#SBATCH --nodes=100\n", []string{"-N", "2"}},
		{"partition_limit", head + "#SBATCH -p cpu -N 4\n", nil},
		{"no_such_partition", head + "#SBATCH --partition=gpu-queu\n", nil},
		{"no_partition_like_it", head + "#SBATCH -p spot\n", nil},
		{"one_of_two_partitions_will_do", head + "#SBATCH -p cpu,gpu-queue -N 4\n", nil},
		{"no_partition_will_do", head + "#SBATCH -p cpu,gpu-queue --gres=gpu:9\n", nil},
		{"one_of_two_partitions_is_not_there", head + "#SBATCH -p cpu,spot -N 4\n", nil},
		{"partitions_with_a_comma_too_many", head + "#SBATCH -p ,cpu, -N 2\n", nil},
		{"gpus_of_another_type_in_all", head + "#SBATCH --gpus=a100:8\n", nil},
		{"gpus_of_two_types_in_all", head + "#SBATCH --gpus=h200:8,a100:8\n", nil},
		{"no_gpus_in_all", head + "#SBATCH -p cpu --gpus=1\n", nil},
		{"too_many_gpus_in_all", head + "#SBATCH --gpus=641\n", nil},
		{"all_gpus", head + "#SBATCH --gpus=h200:640\n", nil},
		{"too_many_gpus_on_two_nodes", head + "#SBATCH -N 2 --gpus=17\n", nil},
		{"gpus_on_two_nodes_or_more", head + "#SBATCH -N 2-4 --gpus=17\n", nil},
		{"too_many_gpus_for_a_task", head + "#SBATCH -n 1 --gpus-per-task=9\n", nil},
		{"too_many_gpus_for_all_tasks", head + "#SBATCH -n 81 --gpus-per-task=8\n", nil},
		{"too_many_tasks_in_all", head + "#SBATCH -p cpu -n 305\n", nil},
		{"all_cpus", head + "#SBATCH -p cpu -n 304\n", nil},
		{"too_many_tasks_on_two_nodes", head + "#SBATCH -p cpu -N 2 -n 97 -c 2\n", nil},
		{"tasks_that_share_cpus", head + "#SBATCH -p cpu -n 305 --overcommit\n", nil},
		{"all_nodes_excluded", head + "#SBATCH -p cpu --exclude=c-[0-3]\n", nil},
		{"too_many_nodes_excluded", head + "#SBATCH -p cpu -N 3 --exclude=c-0,c-1\n", nil},
		{"some_nodes_excluded", head + "#SBATCH -p cpu -N 2 --exclude=c-0,c-1\n", nil},
		{"partition_without_nodes", head + "#SBATCH -p empty -N 4\n", nil},
		{"too_many_gpus", head + "#SBATCH --gres=gpu:16\n", nil},
		{"gpus_per_node", head + "#SBATCH --gpus-per-node=h200:9\n", nil},
		{"gpu_of_another_type", head + "#SBATCH --gres=gpu:a100:8\n", nil},
		{"no_gpus_there", head + "#SBATCH -p cpu --gres=gpu:1\n", nil},
		{"too_many_cpus", head + "#SBATCH -c 200\n", nil},
		{"too_many_cpus_in_all", head + "#SBATCH --ntasks-per-node=8 --cpus-per-task=32\n", nil},
		{"too_many_tasks", head + "#SBATCH --ntasks-per-node=200\n", nil},
		{"too_much_memory", head + "#SBATCH --mem=2T\n", nil},
		{"no_node_has_both", head + "#SBATCH -p cpu -N 1 --mem=60G -c 96\n", nil},
		{"too_few_nodes_have_both", head + "#SBATCH -p cpu --mem=60G -c 96\n", nil},
		{"several_at_once", head + "#SBATCH --nodes=2 --gres=gpu:16 -c 400\n#SBATCH --mem=4T\n", nil},
		{"no_interpreter", "echo hello\n", nil},
		{"empty", " \n\n", nil},
		{"windows", "#!/bin/bash\r\n#SBATCH --nodes=100\r\n", nil},
		{"binary", "\x7fELF\x00\x01\x02", nil},
	}
	var b strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&b, "== %s\n%s", c.name, said(t, errorsOf(batch.Check("train.sbatch", []byte(c.script), c.flags, facts()))))
	}
	fmt.Fprintf(&b, "== cluster_file\n%s", said(t, batch.Check("cluster.yaml", []byte("Region: x\nScheduling:\n"), nil, nil)))
	golden.Check(t, "fit.txt", b.String())
}

// errorsOf leaves warnings out.
func errorsOf(list *diag.List) *diag.List {
	errors := &diag.List{}
	for _, d := range list.All() {
		if d.Severity == diag.Error {
			errors.Append(d)
		}
	}
	return errors
}

func TestOutputDirs(t *testing.T) {
	script := []byte("#!/bin/bash\n#SBATCH -o logs/%j.out --error=/fsx3/%x/err\n#SBATCH --output=$HOME/x\n")
	if diff := cmp.Diff([]string{"logs", "/a"}, batch.OutputDirs(script, []string{"-e", "/a/%j", "-o", "out"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/a"}, batch.OutputDirs(script, []string{"-e", "/a/%j", "-D", "/b"})); diff != "" {
		t.Error(diff)
	}
	f := facts()
	f.Missing = []string{"logs"}
	const want = `s:2:9: error: there is no directory logs: Slurm makes none, and the job fails without a word [script/output-dir]
    #SBATCH -o logs/%j.out
            ^
  hint: mkdir -p logs
`
	if diff := cmp.Diff(want, said(t, errorsOf(batch.Check("s", []byte("#!/bin/bash\n#SBATCH -o logs/%j.out\n"), nil, f)))); diff != "" {
		t.Error(diff)
	}
}

// TestRunning: Slurm says what nodes have, the file says the rest.
func TestRunning(t *testing.T) {
	filed := factsOfFile(t, "testdata/cluster.yaml")
	partitions := []slurm.Partition{{Name: "gpu-queue", Default: true, MinNodes: 2, MaxNodes: 4, OverSubscribe: "EXCLUSIVE"}, {Name: "new"}}
	nodes := []slurm.Node{
		{Name: "a", Partitions: []string{"gpu-queue"}, CPUs: 8, MemoryMiB: 1000, Gres: "gpu:h200:8", Features: []string{"dynamic", "p5e.48xlarge", "p5e-nodes", "efa"}},
		{Name: "b", Partitions: []string{"gpu-queue", "new"}, CPUs: 8, MemoryMiB: 1000, Gres: "gpu:h200:8", Features: []string{"static", "p5e.48xlarge", "p5e-nodes", "efa"}, Version: "22.05.8"},
	}
	got := batch.Running(filed, partitions, nodes)
	p5e := batch.Resource{
		Name: "p5e-nodes", Count: 2, InstanceTypes: []string{"p5e.48xlarge"}, CPUs: 8, MemoryMiB: 1000, GPU: "h200", GPUs: 8, EFA: true,
		Kinds: []batch.Kind{
			{Features: []string{"dynamic", "p5e.48xlarge", "p5e-nodes", "efa"}, Nodes: []string{"a"}},
			{Features: []string{"static", "p5e.48xlarge", "p5e-nodes", "efa"}, Nodes: []string{"b"}},
		},
	}
	alone := batch.Resource{Count: 1, CPUs: 8, MemoryMiB: 1000, GPU: "h200", GPUs: 8, Kinds: p5e.Kinds[1:]}
	want := *filed
	want.Slurm = batch.Versions{First: "22.05", Last: "22.05"}
	want.Queues = []batch.Queue{
		{Name: "gpu-queue", Default: true, Exclusive: true, CapacityType: "ONDEMAND", MinNodes: 2, MaxNodes: 4, ScratchDir: "/scratch", Resources: []batch.Resource{p5e}},
		{Name: "new", Resources: []batch.Resource{alone}},
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOutputDir_made says nothing of a directory that the cluster has from the beginning, or that one of these lies in.
func TestOutputDir_made(t *testing.T) {
	script := []byte("#!/bin/bash\n#SBATCH --output=/fsx3/runs/%j.out\nmkdir -p /fsx3/runs/m/$SLURM_JOB_ID /fsx3/runs\nsrun hostname\n")
	for made, late := range map[string]bool{"/fsx3/runs": false, "/fsx3/runs/m": false, "/fsx3/run": true, "": true} {
		f := facts()
		if f.Made = nil; made != "" {
			f.Made = []string{made}
		}
		if got := said(t, batch.Check("s", script, nil, f)); strings.Contains(got, "too late") != late {
			t.Errorf("where there is %q, it says %s", made, got)
		}
	}
}
