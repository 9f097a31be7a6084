package cause_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// TestJudge_says_who_says_so: a node's fault has the best source that there is for it, and only what is not the job's own proves it.
func TestJudge_says_who_says_so(t *testing.T) {
	logged := func(e cause.Evidence) cause.Evidence {
		s := sign(trainlog.Xid, none, "0000:38:00", "NVRM: Xid (PCI:0000:38:00): 79, x")
		s.Code, s.Node = 79, "q-st-b-2"
		return with(e, s)
	}
	down := failed(1)
	down.Nodes = []cause.Node{{Name: "q-st-b-2", Down: true, Reason: "Not responding"}}
	for name, row := range map[string]struct {
		e      cause.Evidence
		want   cause.Source
		proven bool
		reason string
	}{
		"its_log":           {logged(failed(1)), cause.SourceJob, false, "Xid 79"},
		"a_kernel":          {xid(failed(1), "q-st-b-2", "48, pid=1, DBE"), cause.SourceKernel, true, "Xid 48"},
		"log_and_kernel":    {xid(logged(failed(1)), "q-st-b-2", "48, pid=1, DBE"), cause.SourceKernel, true, "Xid 48"},
		"log_and_slurm":     {logged(down), cause.SourceSlurm, true, "Xid 79"},
		"kernel_of_another": {xid(logged(failed(1)), "q-st-b-1", "48, pid=1, DBE"), cause.SourceJob, false, "Xid 79"},
	} {
		t.Run(name, func(t *testing.T) {
			v := cause.Judge(row.e)
			i := slices.IndexFunc(v.Faults, func(f cause.Fault) bool { return f.Node == "q-st-b-2" })
			if i < 0 {
				t.Fatalf("it is not at fault: %+v", v)
			}
			if f := v.Faults[i]; f.Source != row.want || f.Proven() != row.proven || !f.Drain || !strings.Contains(f.Reason, row.reason) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// TestJudge_jobs_prove_nothing: whatever a job writes, and however its programs end, no fault of a node has another source than it.
func TestJudge_jobs_prove_nothing(t *testing.T) {
	for seed := range uint64(4000) {
		e := world(rand.New(rand.NewPCG(seed, 4)))
		e.Kernel, e.Nodes, e.Run.FailedNode = nil, nil, ""
		e.Run.Steps = slices.DeleteFunc(e.Run.Steps, func(s cause.Step) bool { return s.State == "NODE_FAIL" })
		if e.Run.State == "NODE_FAIL" {
			continue
		}
		for _, f := range cause.Judge(e).Faults {
			if f.Proven() || f.Source != cause.SourceJob {
				t.Fatalf("seed %d: %+v\n%+v", seed, f, e)
			}
		}
	}
}

// TestJudge_where_a_task_was: a task's node is known where each node of its step had one, in their order; else nobody is blamed.
func TestJudge_where_a_task_was(t *testing.T) {
	three := []string{"q-st-b-1", "q-st-b-2", "q-st-b-3"}
	step := func(layout string, tasks int, nodes ...string) cause.Step {
		return cause.Step{Name: "0", State: "FAILED", Tasks: tasks, Layout: layout, Nodes: nodes}
	}
	batch := cause.Step{Name: "batch", State: "FAILED", Tasks: 1, Layout: "Unknown", Nodes: three[:1]}
	for name, row := range map[string]struct {
		steps []cause.Step
		task  int
		want  string
	}{
		"one_on_each":             {[]cause.Step{batch, step("Cyclic", 3, three...)}, 1, "q-st-b-2"},
		"block":                   {[]cause.Step{batch, step("Block,NoPack", 3, three...)}, 2, "q-st-b-3"},
		"of_two_levels":           {[]cause.Step{step("CBlock", 3, three...)}, 0, "q-st-b-1"},
		"plane":                   {[]cause.Step{step("Plane", 3, three...)}, 1, ""},
		"arbitrary":               {[]cause.Step{step("Arbitrary", 3, three...)}, 1, ""},
		"arbitrary_since_26":      {[]cause.Step{step("arbitrary task distribution", 3, three...)}, 1, ""},
		"not_known":               {[]cause.Step{step("", 3, three...)}, 1, ""},
		"two_on_each":             {[]cause.Step{step("Block", 6, three...)}, 1, ""},
		"all_on_one":              {[]cause.Step{step("Block", 3, three[0])}, 1, ""},
		"a_part_of_the_nodes":     {[]cause.Step{step("Cyclic", 2, three[1:]...)}, 0, "q-st-b-2"},
		"on_the_same_twice":       {[]cause.Step{step("Cyclic", 3, three...), step("Block", 3, three...)}, 1, "q-st-b-2"},
		"elsewhere_the_next_time": {[]cause.Step{step("Cyclic", 3, three...), step("Cyclic", 2, three[1:]...)}, 1, ""},
		"beyond":                  {[]cause.Step{step("Cyclic", 3, three...)}, 3, ""},
		"no_task":                 {[]cause.Step{step("Cyclic", 3, three...)}, trainlog.NoRank, ""},
		"no_steps":                {[]cause.Step{batch}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := sign(trainlog.Xid, none, "0000:38:00", "NVRM: Xid (PCI:0000:38:00): 79, x")
			s.Code, s.Task = 79, row.task
			v := cause.Judge(cause.Evidence{Run: cause.Run{State: "FAILED", Nodes: three, Steps: row.steps}, Signs: []cause.Sign{s}, Checkpoint: 100, Policy: policy.Default()})
			if got := strings.TrimSuffix(atFault(v), "!"); got != row.want || v.Class != cause.GPULost {
				t.Errorf("got %q, %s", got, v.Class)
			}
		})
	}
}
