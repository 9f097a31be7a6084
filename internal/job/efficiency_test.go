package job_test

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestEfficiency(t *testing.T) {
	ended := slurm.Usage{
		ID: "12", Label: "9_3", Cluster: "train", User: "ada", Group: "lab", State: "FAILED", ExitCode: slurm.ExitCode{Code: 13}, Nodes: 2, CPUs: 384,
		CPUTime: 90 * time.Second, Elapsed: 25 * time.Hour, MemoryBytes: 3 << 30, Tasks: 8, GivenBytes: 4 << 30,
	}
	alone := slurm.Usage{ID: "1", Label: "1", Cluster: "train", User: "ada", Group: "lab", State: "RUNNING", Nodes: 1, CPUs: 1, Elapsed: time.Minute, MemoryBytes: 2000}
	for name, row := range map[string]struct {
		usage slurm.Usage
		want  string
	}{
		"of_an_array": {ended, `Job ID: 12
Array Job ID: 9_3
Cluster: train
User/Group: ada/lab
State: FAILED (exit code 13)
Nodes: 2
Cores per node: 192
CPU Utilized: 00:01:30
CPU Efficiency: 0.00% of 400-00:00:00 core-walltime
Job Wall-clock time: 1-01:00:00
Memory Utilized: 3.00 GB (estimated maximum)
Memory Efficiency: 75.00% of 4.00 GB
`},
		"that_runs": {alone, `Job ID: 1
Cluster: train
User/Group: ada/lab
State: RUNNING
Cores: 1
CPU Utilized: 00:00:00
CPU Efficiency: 0.00% of 00:01:00 core-walltime
Job Wall-clock time: 00:01:00
Memory Utilized: 1.95 KB
Memory Efficiency: 0.00% of 0.00 MB
WARNING: Efficiency statistics may be misleading for RUNNING jobs.
`},
		"that_waits": {slurm.Usage{ID: "2", Cluster: "train", User: "ada", Group: "lab", State: "PENDING"}, `Job ID: 2
Cluster: train
User/Group: ada/lab
State: PENDING
Efficiency not available for jobs in the PENDING state.
`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := job.Efficiency(row.usage); got != row.want {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}
