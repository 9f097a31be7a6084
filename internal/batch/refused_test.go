package batch_test

import (
	"fmt"
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
	"--cpu-freq=high-low": "which frequency is higher is the machine's", "--cpu-freq=performance:low": "versions differ in what goes together",
	"--gpu-bind=map:0": "newer versions read it", "--gpu-bind=map_gpu:x": "each version has its own lists", "--gpu-freq=abc": "each version has its own",
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

// TestOptions_of_a_version: what a version of Slurm does not have is an error where the
// cluster has no other, and facts of one version are not told of others.
func TestOptions_of_a_version(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --cpus-per-task=12 %s\n%s\n"
	for _, row := range []struct {
		name, first, last, option, command, want string
	}{
		{"newer_than_the_cluster", "22.05", "22.05", "--segment=2", "true", "--segment is no option of sbatch of Slurm 22.05: it is one of Slurm 24.05 to 25.11"},
		{"older_than_the_cluster", "25.05", "25.11", "--power=level", "true", "--power is no option of sbatch of Slurm 25.05 to 25.11"},
		{"gone_for_a_while", "23.11", "23.11", "--export-file=f", "true", "it is one of Slurm 22.05 to 23.02 and 24.05 to 25.11"},
		{"of_srun", "22.05", "23.02", "", "srun --external-launcher true", "--external-launcher is no option of srun"},
		{"of_some_of_the_versions", "23.11", "25.11", "--segment=2", "true", ""},
		{"of_a_version_that_is_not_known", "", "", "--segment=2", "true", ""},
		{"value_that_only_newer_versions_take", "22.05", "25.05", "--requeue=1", "true", "--requeue takes no value"},
		{"value_that_one_of_the_versions_takes", "23.11", "25.11", "--requeue=1", "true", ""},
		{"of_a_plugin", "22.05", "22.05", "--container-image=/a.sqsh", "true", ""},
		{"cpus_of_22.05", "22.05", "22.05", "", "srun python train.py", "srun of Slurm 22.05 does not take --cpus-per-task=12"},
		{"cpus_of_23.11", "23.11", "25.11", "", "srun python train.py", ""},
		{"cpus_of_21.08", "21.08", "21.08", "", "srun python train.py", ""},
		{"cpus_of_some_of_the_versions", "23.02", "23.11", "", "srun python train.py", ""},
		{"cpus_of_a_version_that_is_not_known", "", "", "", "srun python train.py", ""},
	} {
		f := &batch.Facts{Slurm: batch.Versions{First: row.first, Last: row.last}}
		var got []string
		for _, d := range batch.Check("s", fmt.Appendf(nil, script, row.option, row.command), nil, f).All() {
			if d.Code == "script/option" || d.Code == "script/srun-cpus" {
				got = append(got, d.Message)
			}
		}
		if all := strings.Join(got, "; "); row.want == "" && all != "" || !strings.Contains(all, row.want) {
			t.Errorf("%s: %q, want %q", row.name, all, row.want)
		}
	}
}
