package cause_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

var (
	states  = []string{"", "FAILED", "COMPLETED", "CANCELLED by 1000", "NODE_FAIL", "TIMEOUT", "PREEMPTED", "REQUEUED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED", "RUNNING", "odd"}
	codes   = []cause.Exit{{}, {Code: 1}, {Code: 93}, {Code: 137}, {Code: 127}, {Signal: 9}, {Signal: 53}, {Signal: 125}, {Code: 255}}
	kinds   = []trainlog.Kind{trainlog.Exception, trainlog.ChildFailed, trainlog.WorkerFailed, trainlog.CUDAMemory, trainlog.CUDAError, trainlog.NCCLTimeout, trainlog.NCCLError, trainlog.NCCLWarning, trainlog.TimeLimit, trainlog.Preempted, trainlog.NodeFailure, trainlog.Requeued, trainlog.Cancelled, trainlog.MemoryError, trainlog.HostMemory, trainlog.TaskEnded, trainlog.Xid, trainlog.SXid, trainlog.GPULost, trainlog.Crash, trainlog.DiskFull, trainlog.FileSystem, trainlog.NotRun, "new"}
	names   = []string{"", "ImportError", "RuntimeError", "torch.OutOfMemoryError", "ConnectionError", "JOB 7"}
	lines   = []string{"", "CUDA error: uncorrectable ECC error encountered", "CUDA error: device-side assert triggered", "NET/OFI No eligible providers", "NET/OFI x", "No space left on device", "SXid (PCI:0000:05:00.0): 12028, Fatal, x"}
	kernels = []string{"NVRM: Xid (PCI:0000:38:00): 79, x", "NVRM: Xid (PCI:0000:38:00): 31, x", "NVRM: Xid (PCI:0000:38:00): 45, x", "NVRM: Xid (PCI:0000:38:00): 94, x", "NVRM: Xid (PCI:0000:38:00): 9999, x", "nothing"}
	hosts   = []string{"a", "b", "c", "d", ""}
	orders  = [][]string{nil, {"--on-failure=requeue"}, {"--on-failure=stop"}, {"--restarts=1"}, {"--on-hang=stop"}}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// world is evidence that may well contradict itself.
func world(r *rand.Rand) cause.Evidence {
	p, _ := policy.Default().With(pick(r, orders))
	e := cause.Evidence{Policy: p, Checkpoint: int64(r.IntN(3) - 1)}
	e.Run = cause.Run{State: pick(r, states), Exit: pick(r, codes), Derived: pick(r, codes), Nodes: [][]string{{"a", "b", "c"}, {"a"}, nil}[r.IntN(3)]}
	if r.IntN(4) == 0 {
		e.Run.FailedNode = pick(r, hosts)
	}
	for range r.IntN(3) {
		e.Run.Steps = append(e.Run.Steps, cause.Step{Name: pick(r, []string{"batch", "0", "extern"}), State: strings.Fields(pick(r, states) + " x")[0], Exit: pick(r, codes), Nodes: []string{pick(r, hosts)}})
	}
	for range r.IntN(5) {
		s := sign(pick(r, kinds), r.IntN(4)-1, pick(r, names), pick(r, lines))
		s.Node, s.Task, s.Root, s.ExitCode, s.Signal, s.Code = pick(r, hosts), r.IntN(4)-1, r.IntN(3) == 0, pick(r, []int{0, 93, 127, 186}), r.IntN(12), []int{31, 79, 45}[r.IntN(3)]
		e.Signs = append(e.Signs, s)
	}
	for range r.IntN(3) {
		e.Kernel = append(e.Kernel, cause.KernelLine{Node: pick(r, hosts), Text: pick(r, kernels)})
	}
	if r.IntN(4) == 0 {
		e.Nodes = append(e.Nodes, cause.Node{Name: pick(r, hosts), Down: r.IntN(2) == 0, Reason: "x"})
	}
	if r.IntN(5) == 0 {
		e.Hang = &cause.Hang{Silent: time.Hour, Nodes: []string{pick(r, hosts)}}
	}
	for range r.IntN(5) {
		e.Rounds = append(e.Rounds, cause.Round{Class: pick(r, cause.Table()).Class, Action: pick(r, []cause.Action{cause.Here, cause.Elsewhere, cause.Stop}), Checkpoint: int64(r.IntN(3) - 1)})
	}
	return e
}

// TestJudge_laws holds in worlds of all kinds.
func TestJudge_laws(t *testing.T) {
	for seed := range uint64(4000) {
		e := world(rand.New(rand.NewPCG(seed, 1)))
		v := cause.Judge(e)
		for _, broken := range []struct {
			law string
			yes bool
		}{
			{"it says something", v.Text == "" || v.Why == "" || v.Class == "" || v.Blame == ""},
			{"it says the same again", !cmp.Equal(v, cause.Judge(e))},
			{"an ending that nobody understands condemns no node", v.Class == cause.Unknown && len(v.Faults) > 0},
			{"elsewhere has a node to leave out", v.Action == cause.Elsewhere && len(v.Faults) == 0},
			{"nodes at fault are the run's", len(e.Run.Nodes) > 0 && slices.ContainsFunc(v.Faults, func(f cause.Fault) bool { return !slices.Contains(e.Run.Nodes, f.Node) })},
			{"a fault has a reason", slices.ContainsFunc(v.Faults, func(f cause.Fault) bool { return f.Reason == "" || f.Node == "" })},
			{"what is over is left", v.Action != cause.Stop && (v.Class == cause.Completed || v.Class == cause.Cancelled || v.Class == cause.NoRestart)},
			{"findings are not too many", len(v.Findings) > 20},
		} {
			if broken.yes {
				t.Fatalf("seed %d: not so: %s\n%+v\n%+v", seed, broken.law, v, e)
			}
		}
	}
}

// TestJudge_faults_of_machines: more evidence of a machine's fault never turns Elsewhere into Here.
func TestJudge_faults_of_machines(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 2))
		e := world(r)
		before := cause.Judge(e)
		more := e
		for range 1 + r.IntN(2) {
			more.Kernel = append(slices.Clone(more.Kernel), cause.KernelLine{Node: pick(r, hosts), Text: "NVRM: Xid (PCI:0000:38:00): " + pick(r, []string{"79", "48", "94", "74", "119"}) + ", x"})
		}
		after := cause.Judge(more)
		if before.Action == cause.Elsewhere && after.Action == cause.Here {
			t.Fatalf("seed %d: %+v\nbecomes %+v", seed, before, after)
		}
		for _, f := range before.Faults {
			if !slices.ContainsFunc(after.Faults, func(g cause.Fault) bool { return g.Node == f.Node && g.Drain == (f.Drain || g.Drain) }) {
				t.Fatalf("seed %d: %s is no longer at fault", seed, f.Node)
			}
		}
	}
}

// TestJudge_programs_condemn_no_node: Xids that programs cause, and endings of programs, are held against no node.
func TestJudge_programs_condemn_no_node(t *testing.T) {
	for _, code := range []int{13, 31, 43, 45} {
		for _, state := range states {
			e := failed(1)
			e.Run.State = state
			if state == "NODE_FAIL" {
				continue
			}
			e = xid(e, "q-st-b-1", fmt.Sprintf("%d, pid=1, x", code))
			if v := cause.Judge(e); len(v.Faults) > 0 || v.Action == cause.Elsewhere {
				t.Errorf("Xid %d in a run that is %s: %+v", code, state, v)
			}
		}
	}
}

// TestJudge_ends: whatever the machine does, jobs that make no checkpoint are not started for ever.
func TestJudge_ends(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		var rounds []cause.Round
		for n := 0; ; n++ {
			e := world(r)
			e.Checkpoint, e.Rounds = cause.NoCheckpoint, rounds
			e.Policy.Restarts = 1000
			v := cause.Judge(e)
			if v.Action == cause.Stop {
				break
			}
			if v.Class != cause.Preempted && v.Class != cause.Requeued && n > 200 {
				t.Fatalf("seed %d: after %d runs still %+v", seed, n, v)
			}
			rounds = append(rounds, cause.Round{Class: v.Class, Action: v.Action, Checkpoint: cause.NoCheckpoint})
		}
	}
}

// TestJudge_what_the_scheduler_did_costs_nothing: runs that gave way or were put back into the queue, as Slurm's accounting
// calls them, take no restart from the job, and what follows from one is that it goes on.
func TestJudge_what_the_scheduler_did_costs_nothing(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 4))
		e := world(r)
		before := cause.Judge(e)
		more := e
		more.Rounds = slices.Clone(e.Rounds)
		for range 1 + r.IntN(5) {
			class := pick(r, []cause.Class{cause.Preempted, cause.Requeued})
			at := r.IntN(len(more.Rounds) + 1)
			more.Rounds = slices.Insert(more.Rounds, at, cause.Round{Class: class, Action: cause.Here, Checkpoint: cause.NoCheckpoint})
		}
		if after := cause.Judge(more); before.Action != after.Action || before.Why != after.Why {
			t.Fatalf("seed %d: %s as %s\nbecomes %s as %s", seed, before.Action, before.Why, after.Action, after.Why)
		}
	}
	for _, state := range []string{"PREEMPTED", "REQUEUED"} {
		e := failed(0)
		e.Run.State, e.Run.Exit = state, cause.Exit{Signal: 15}
		e.Policy.Restarts = 0
		for range 10 {
			v := cause.Judge(e)
			if v.Action != cause.Here || !v.Class.Forced() {
				t.Fatalf("%s: %+v", state, v)
			}
			e.Rounds = append(e.Rounds, cause.Round{Class: v.Class, Action: v.Action, Checkpoint: cause.NoCheckpoint})
		}
	}
}

// FuzzJudge: whatever logs and kernels say, there is a verdict that can be written down and shown.
func FuzzJudge(f *testing.F) {
	for _, path := range []string{"testdata/xid/gpud-dmesg.decode.iso.log", "testdata/logs/childfailed-multi.txt", "testdata/logs/nccl-watchdog.txt"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "FAILED", 1, 0)
	}
	f.Add([]byte("NVRM: Xid (PCI:0000:38:00): 149, NETIR_LINK_EVT Fatal\nSXid (PCI:0): 1, Fatal"), "CANCELLED by 0", 0, 15)
	f.Fuzz(func(t *testing.T, text []byte, state string, code, signal int) {
		if len(text) > 1<<15 {
			return
		}
		e := failed(code)
		e.Run.State, e.Run.Exit.Signal = state, signal
		reader := &trainlog.Reader{}
		found := reader.Feed(text)
		rest := reader.End()
		for _, s := range slices.Concat(found.Signs, rest.Signs) {
			e.Signs = append(e.Signs, cause.Sign{File: "log", Sign: s})
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			e.Kernel = append(e.Kernel, cause.KernelLine{Node: "q-st-b-2", Text: string(line)})
			if i%3 == 0 {
				e.Signs = append(e.Signs, sign(kinds[i%len(kinds)], i%5-1, string(line), string(line)))
			}
		}
		v := cause.Judge(e)
		if strings.ContainsAny(v.Text+v.Why, "\n\r") || !utf8.ValidString(v.Text) || v.Text == "" {
			t.Errorf("not a line: %q", v.Text)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back cause.Verdict
		if err := json.Unmarshal(data, &back); err != nil || !cmp.Equal(v, back) {
			t.Errorf("%s comes back otherwise: %v", data, err)
		}
	})
}
