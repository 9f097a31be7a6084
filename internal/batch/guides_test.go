package batch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// TestGuides holds all that is reported about scripts of field guides, word for
// word.
func TestGuides(t *testing.T) {
	paths, _ := filepath.Glob("testdata/guides/*.sbatch")
	if len(paths) == 0 {
		t.Fatal("there are no scripts")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			golden.Check(t, filepath.Join("guides", strings.TrimSuffix(filepath.Base(path), ".sbatch")+".txt"), said(t, guide(t, filepath.Base(path))))
		})
	}
}

// guide is what is reported about a guide's script on the guide's cluster.
func guide(t *testing.T, name string) *diag.List {
	t.Helper()
	cluster := "testdata/guides/cluster.yaml"
	if name == "train-distributed.sbatch" {
		cluster = "testdata/guides/cluster-2.yaml"
	}
	data, err := os.ReadFile(filepath.Join("testdata/guides", name))
	if err != nil {
		t.Fatal(err)
	}
	return batch.Check(name, data, nil, factsOfFile(t, cluster))
}

// TestGuides_defects are the known defects of the guides' scripts: each is found
// in its line.
func TestGuides_defects(t *testing.T) {
	for _, defect := range []struct{ script, line, code string }{
		{"fsx-test.sbatch", `FSX_MOUNTS=("/fsx1" "/fsx2" "/fsx3" "/fsx4")`, "script/mount"},
		{"model1-training.sbatch", "#SBATCH --container-mounts=", "script/mount"},
		{"model1-training.sbatch", "    find /fsx4", "script/mount"},
		{"model1-training.sbatch", "export NCCL_IFNAME=", "script/env-unknown"},
		{"model1-training.sbatch", "export RANK=", "script/rank-in-batch"},
		{"model1-training.sbatch", "export LOCAL_RANK=", "script/rank-in-batch"},
		{"model1-training.sbatch", "export NCCL_ALGO=", "script/env-pinned"},
		{"model1-training.sbatch", "export NCCL_TREE_THRESHOLD=", "script/env-removed"},
		{"model1-training.sbatch", "export CUDA_VISIBLE_DEVICES=", "script/cuda-devices"},
		{"model1-training.sbatch", "EXIT_CODE=$?", "script/errexit"},
		{"model1-training.sbatch", "#SBATCH --output=", "script/output-dir"},
		{"model1-training.sbatch", "    --checkpoint-dir", "script/deleted-checkpoint"},
		{"nccl-test-all.sbatch", "#!/bin/bash   ", "script/first-line"},
		{"nccl-test-all.sbatch", "    srun --mpi=pmix", "script/continuation"},
		{"test-2nodes.sbatch", "#SBATCH --nodes=2", "script/one-node"},
		{"test-2nodes.sbatch", "#SBATCH --gres=gpu:1", "script/shared-nodes"},
	} {
		found := false
		for _, d := range guide(t, defect.script).All() {
			found = found || d.Code == defect.code && strings.HasPrefix(d.Source, defect.line)
		}
		if !found {
			t.Errorf("%s: %s is not reported for %s", defect.script, defect.code, defect.line)
		}
	}
}

// TestExamples_are_clean: what we hand out has neither errors nor warnings.
func TestExamples_are_clean(t *testing.T) {
	for _, name := range []string{"train/train.sbatch", "train/container.sbatch", "bytelm/bytelm.sbatch"} {
		data, err := os.ReadFile("../../examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, cluster := range []string{"guide-80", "demo"} {
			for _, d := range batch.Check(name, data, nil, factsOfFile(t, fmt.Sprintf("../../examples/%s/cluster.yaml", cluster))).All() {
				if d.Severity == diag.Error || d.Severity == diag.Warning {
					t.Errorf("%s on %s, line %d: %s %s: %s", name, cluster, d.Line, d.Severity, d.Code, d.Message)
				}
			}
		}
	}
}
