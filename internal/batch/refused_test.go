package batch_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
)

// leftToSlurm are options that Slurm 22.05 refuses and check does not, and why.
var leftToSlurm = map[string]string{
	"--nodes=1,2": "newer versions read lists", "--nodes=2-4:2": "newer versions read lists",
	"--signal=CHLD@5": "newer versions send it", "--signal=PIPE": "newer versions send it",
	"--exclusive=topo": "newer versions know it", "--begin=elevenses": "newer versions know it", "--requeue=1": "newer versions have values",
	"--gres=gpu=1": "newer versions read it", "--gres=gpu=h200:1": "newer versions read it", "--gres=gpu/h200:1": "newer versions read it",
	"--gres-flags=abc": "each version has its own", "--gres-flags=enforce-binding,disable-binding": "each version has its own",
	"--array=1001": "MaxArraySize is the cluster's", "--array=99999999": "MaxArraySize is the cluster's",
	"--cpu-freq=abc": "governors are the machine's", "--cpu-freq=high-low": "governors are the machine's",
	"--profile=abc":  "what can be profiled is the plugin's",
	"--mem-bind=abc": "the task plugin reads it", "--gpu-bind=abc": "each version has its own", "--gpu-freq=abc": "each version has its own",
	"--gpus=4 --gpus-per-node=8": "it depends on the number of nodes, which is Slurm's to choose",
	"--begin=uts1":               "it is a point in time, and long ago",
}

// TestRefused holds check to what a real sbatch said of options: what it takes, check
// takes, and what it refuses, check finds. TestJobs of ./test compares the record with the
// machine's sbatch and writes it anew with -update.
func TestRefused(t *testing.T) {
	data, err := os.ReadFile("testdata/slurm-22.05.8/sbatch.tsv")
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{"script/option-value", "script/option-pair", "script/option"}
	left := 0
	for line := range strings.Lines(string(data)) {
		options, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		refused := strings.HasPrefix(answer, "refused")
		found := false
		for _, d := range batch.Check("s", []byte("#!/bin/bash\n#SBATCH "+options+"\ntrue\n"), nil, nil).All() {
			found = found || slices.Contains(codes, d.Code)
		}
		why := leftToSlurm[options]
		switch {
		case why != "" && refused && !found:
			left++
		case found != refused || why != "":
			t.Errorf("%s: check finds a mistake: %v, and sbatch's answer is %q (%s)", options, found, answer, why)
		}
	}
	if left != len(leftToSlurm) {
		t.Errorf("%d of %d options that are left to Slurm are in the record", left, len(leftToSlurm))
	}
}
