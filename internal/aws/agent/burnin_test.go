package agent

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestDiagnosed: DCGM's engine runs where somebody asks DCGM.
func TestDiagnosed(t *testing.T) {
	for _, row := range []struct {
		name string
		wish *spec.BurnIn
		jobs bool
		want bool
	}{
		{"nobody", nil, false, false},
		{"before_jobs", nil, true, true},
		{"before_the_first", &spec.BurnIn{Suites: []string{"gpu", "nccl"}}, false, true},
		{"another_suite", &spec.BurnIn{Suites: []string{"storage"}}, false, false},
		{"another_queue", &spec.BurnIn{Suites: []string{"gpu"}, Queues: []string{"other"}}, false, false},
	} {
		a := &agent{Config: Config{Ticket: manifest.Ticket{Role: manifest.RoleCompute, Queue: "train"}}, cluster: &cluster{workload: &spec.Workload{BurnIn: row.wish}}}
		if got := a.diagnosed(spec.ComputeResource{CheckGPUs: row.jobs}); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

// TestLimited gives a boot the time of its burn-in, of the queues that have one.
func TestLimited(t *testing.T) {
	for _, row := range []struct {
		role, queue string
		want        time.Duration
	}{{manifest.RoleCompute, "train", 36 * time.Minute}, {manifest.RoleCompute, "plain", 20 * time.Minute}, {manifest.RoleLogin, "train", 20 * time.Minute}} {
		a := &agent{Config: Config{Ticket: manifest.Ticket{Role: row.role, Queue: row.queue}}, cluster: &cluster{
			file: &spec.Cluster{Timeouts: spec.Timeouts{ComputeNode: 20 * time.Minute}}, workload: &spec.Workload{BurnIn: &spec.BurnIn{Minutes: 15, Queues: []string{"train"}}},
		}}
		ctx, cancel := a.limited(t.Context())
		end, _ := ctx.Deadline()
		cancel()
		if got := time.Until(end); got > row.want || got < row.want-10*time.Second {
			t.Errorf("%s %s: %s", row.role, row.queue, got)
		}
	}
}
