package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/load"
)

// TestParts holds that answers of any length come back whole, in whatever order their lines come, and that half an answer is none.
func TestParts(t *testing.T) {
	for _, length := range []int{0, 1, partBytes, partBytes + 1, 40_000} {
		want := bytes.Repeat([]byte("x\x00\n"), length/3+1)[:length]
		var out bytes.Buffer
		if err := WriteParts(&out, "n1", want); err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(out.String()))
		g := gathered{}
		for i := len(lines) - 1; i >= 0; i-- {
			if len(lines[i]) > 1000 {
				t.Errorf("a line of %d bytes", len(lines[i]))
			}
			if got, ok := g.answer("n1"); ok {
				t.Errorf("%d of %d lines make an answer of %d bytes", len(lines)-1-i, len(lines), len(got))
			}
			if !g.take(lines[i]) {
				t.Fatalf("not taken: %q", lines[i])
			}
		}
		if got, ok := g.answer("n1"); !ok || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %t", length, len(got), ok)
		}
	}
}

func FuzzParts(f *testing.F) {
	for _, seed := range []string{"muster-part n1 1/1 aGk=", "muster-part n1 1/2 aGk=", "muster-part n1 0/0", "muster-part n1 9999999999/1 x", "hello", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := gathered{}
		for line := range strings.Lines(text) {
			g.take(line)
		}
		for node := range g {
			g.answer(node)
		}
	})
}

// TestPartition holds what is said of a partition by its state and its nodes.
func TestPartition(t *testing.T) {
	node := func(name, state string) slurm.Node {
		return slurm.Node{Name: name, Partitions: []string{"gpu"}, State: slurm.ParseNodeState(state)}
	}
	for _, c := range []struct {
		state string
		nodes []slurm.Node
		want  verify.Verdict
		found string
	}{
		{"UP", []slurm.Node{node("a", "IDLE+CLOUD"), node("b", "IDLE+CLOUD+POWERED_DOWN")}, verify.Pass, "UP, 2 of 2 nodes in service"},
		{"UP", []slurm.Node{node("a", "IDLE+DRAIN"), node("b", "MIXED")}, verify.Pass, "UP, 1 of 2 nodes in service"},
		{"UP", []slurm.Node{node("a", "DOWN"), node("b", "IDLE+CLOUD+DRAIN+POWERED_DOWN")}, verify.Fail, "UP, 0 of 2 nodes in service"},
		{"DRAIN", []slurm.Node{node("a", "IDLE")}, verify.Fail, "DRAIN, 1 of 1 node in service"},
		{"UP", nil, verify.Warn, "UP, 0 of 0 nodes in service"},
	} {
		got := partitionResult(slurm.Partition{Name: "gpu", State: c.state}, c.nodes)
		if got.Verdict != c.want || got.Found != c.found {
			t.Errorf("%s %v: %+v", c.state, c.nodes, got)
		}
	}
}

// TestRequest holds which nodes are asked for, and that none are asked for that cannot come.
func TestRequest(t *testing.T) {
	p := slurm.Partition{Name: "gpu"}
	var nodes []slurm.Node
	for _, n := range []struct{ name, state, tres string }{
		{"n1", "IDLE", "cpu=8,gres/gpu=8"}, {"n2", "ALLOCATED", "cpu=8,gres/gpu=4"}, {"n3", "IDLE+DRAIN", "cpu=8,gres/gpu=8"}, {"n4", "IDLE+CLOUD+POWERED_DOWN", "cpu=8,gres/gpu=8"},
	} {
		nodes = append(nodes, slurm.Node{Name: n.name, Partitions: []string{"gpu"}, State: slurm.ParseNodeState(n.state), CfgTRES: n.tres})
	}
	for _, c := range []struct {
		o     Options
		nodes int
		gpus  int
		fails string
	}{
		{Options{Nodes: 2}, 2, 4, ""}, {Options{}, 2, 4, ""}, {Options{All: true}, 3, 4, ""}, {Options{Nodes: 4}, 0, 0, "has 3 nodes in service, and 4 are asked for"},
		{Options{NodeList: "n[1,4]"}, 2, 8, ""}, {Options{NodeList: "n[1,3]"}, 0, 0, "not all of these nodes are in service"},
		{Options{NodeList: "n[1"}, 0, 0, "--nodelist"},
	} {
		q, err := (&run{Options: c.o}).request(p, nodes)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%+v: %v", c.o, err)
			}
			continue
		}
		if err != nil || q.nodes != c.nodes || q.gpus != c.gpus {
			t.Errorf("%+v: got %+v, %v", c.o, q, err)
		}
	}
}

// TestGPUsOf holds what a job asks each node for: never for what not all of its nodes have, and never for nothing without saying why.
func TestGPUsOf(t *testing.T) {
	node := func(tres, gres string) slurm.Node { return slurm.Node{CfgTRES: tres, Gres: gres} }
	counted, listed, fewer, none := node("cpu=8,gres/gpu=8", "gpu:8"), node("cpu=8", "gpu:h200:8(S:0-1)"), node("cpu=8", "gpu:4"), node("cpu=8", "")
	for _, c := range []struct {
		name   string
		usable []slurm.Node
		wanted int
		each   bool
		gpus   int
		hidden string
	}{
		{"counted", []slurm.Node{counted, counted}, 2, false, 8, ""},
		{"by_gres_alone", []slurm.Node{listed, listed}, 2, true, 8, ""},
		{"fewest", []slurm.Node{counted, listed, fewer}, 2, false, 4, ""},
		{"enough_of_a_mixed_partition", []slurm.Node{none, counted, listed}, 2, false, 8, ""},
		{"all_of_a_mixed_partition", []slurm.Node{none, counted, listed}, 3, true, 0, "2 of 3 nodes have GPUs"},
		{"more_than_have_some", []slurm.Node{none, none, counted}, 2, false, 0, "1 of 3 nodes have GPUs"},
		{"none", []slurm.Node{none, none}, 2, true, 0, ""},
	} {
		gpus, hidden := gpusOf(c.usable, c.wanted, c.each)
		if gpus != c.gpus || !strings.Contains(hidden, c.hidden) || (c.hidden == "") != (hidden == "") {
			t.Errorf("%s: got %d, %q", c.name, gpus, hidden)
		}
	}
}

// TestAgree asks only for nodes that have to start.
func TestAgree(t *testing.T) {
	nodes := []slurm.Node{
		{Name: "n1", Partitions: []string{"gpu"}, State: slurm.ParseNodeState("IDLE")},
		{Name: "n2", Partitions: []string{"gpu"}, State: slurm.ParseNodeState("IDLE+CLOUD+POWERED_DOWN")},
		{Name: "n3", Partitions: []string{"gpu"}, State: slurm.ParseNodeState("IDLE+CLOUD+POWERING_DOWN")},
	}
	asked := 0
	r := &run{World: World{Ask: func(w Wake) error { asked = w.Nodes; return nil }}}
	for _, c := range []struct {
		q    request
		want int
	}{{request{nodes: 1, partition: "gpu"}, 0}, {request{nodes: 3, partition: "gpu"}, 2}, {request{nodes: 1, partition: "gpu", nodeList: "n2"}, 1}} {
		asked = 0
		if err := r.agree(c.q, nodes); err != nil || asked != c.want {
			t.Errorf("%+v: asked for %d, %v", c.q, asked, err)
		}
	}
}

// TestClocks judges clocks by how exactly they are known.
func TestClocks(t *testing.T) {
	r := &run{alloc: &allocation{nodes: []string{"right", "late", "lost", "vague", "silent", "gone"}}}
	g := greeted{there: map[string]bool{"right": true, "late": true, "lost": true, "vague": true, "silent": true}, clocks: map[string]clock{
		"right": {3 * time.Millisecond, time.Millisecond}, "late": {-2 * time.Second, time.Millisecond}, "lost": {90 * time.Second, 10 * time.Millisecond},
		"vague": {4 * time.Second, 5 * time.Second},
	}}
	want := map[string]verify.Verdict{"right": verify.Pass, "late": verify.Warn, "lost": verify.Fail, "vague": verify.Blind, "silent": verify.Blind}
	results := r.clocks(g)
	if len(results) != len(want) {
		t.Errorf("got %d results", len(results))
	}
	for _, got := range results {
		if got.Verdict != want[got.On] {
			t.Errorf("%s: %s, want %s", got.On, got.Verdict, want[got.On])
		}
	}
}

// TestTake keeps the answer that came soonest.
func TestTake(t *testing.T) {
	g := greeted{there: map[string]bool{}, clocks: map[string]clock{}, unknown: map[string]map[string]string{}}
	asked := time.Now()
	for turn, took := range []time.Duration{time.Second, 2 * time.Millisecond, 50 * time.Millisecond} {
		g.take(heardAt{load.Hello{Node: "n", Turn: turn, Now: asked.Add(5*time.Second + took/2)}, asked.Add(took)}, asked)
	}
	if c := g.clocks["n"]; c.Within != time.Millisecond || c.Ahead.Round(time.Millisecond) != 5*time.Second {
		t.Errorf("got %+v", c)
	}
}

// TestWithoutSlurm leaves what leads to the cluster and drops what another job says.
func TestWithoutSlurm(t *testing.T) {
	got := withoutSlurm([]string{"PATH=/bin", "SLURM_CONF=/etc/x", "SLURM_JOB_ID=3", "SBATCH_PARTITION=x", "SALLOC_QOS=y", "SLURMD_NODENAME=n"})
	if want := []string{"PATH=/bin", "SLURM_CONF=/etc/x"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestForeign sends nobody a program that cannot run there.
func TestForeign(t *testing.T) {
	all := []slurm.Node{{Name: "x1", Arch: "x86_64"}, {Name: "x2", Arch: "x86_64"}, {Name: "a1", Arch: "aarch64"}, {Name: "off"}}
	for _, c := range []struct{ nodes, arch, want string }{
		{"x1 x2 off", "amd64", ""}, {"a1", "arm64", ""}, {"a1", "amd64", "a1: Slurm says aarch64, and this muster is for x86_64"},
		{"x1 x2 a1", "arm64", "x[1-2]: Slurm says x86_64, and this muster is for aarch64"},
	} {
		if got := foreign(strings.Fields(c.nodes), all, c.arch); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s from %s: %q", c.nodes, c.arch, got)
		}
	}
}

// TestOfForeignNodes holds that what cannot run there is blind, and no pass.
func TestOfForeignNodes(t *testing.T) {
	r := &run{World: World{Tell: func(string) {}}, report: &verify.Report{}, alloc: &allocation{ended: make(chan struct{}), nodes: []string{"a1"}}, foreign: "a1: Slurm says aarch64"}
	r.one(t.Context(), verify.Host)
	if s := r.report.Suites[0]; s.Verdict != verify.Fail || s.Results[0].Verdict != verify.Blind || s.Why != r.foreign {
		t.Errorf("got %+v", s)
	}
}

// TestWhatIsCutOff holds that a suite that was cut off is blind, and one that could not look by itself fails.
func TestWhatIsCutOff(t *testing.T) {
	ctx, cut := context.WithCancelCause(t.Context())
	r := &run{World: World{Tell: func(string) {}}, report: &verify.Report{}, alloc: &allocation{ended: make(chan struct{}), nodes: []string{"n1"}}}
	for _, result := range r.answered(ctx, greeted{}, nil) {
		if result.Verdict != verify.Fail {
			t.Errorf("a node that is silent: %+v", result)
		}
	}
	cut(errors.New("the budget is spent"))
	for _, result := range r.answered(ctx, greeted{}, nil) {
		if result.Verdict != verify.Blind || result.Required || result.Why != "the budget is spent" {
			t.Errorf("a node that nobody waited for: %+v", result)
		}
	}
	r.one(ctx, verify.Host)
	close(r.alloc.ended)
	r.alloc.said = &tail.Writer{}
	fmt.Fprintln(r.alloc.said, "salloc: Job allocation 7 has been revoked.")
	r.one(t.Context(), verify.GPU)
	for i, want := range []string{"the budget is spent", "Slurm took the nodes back: Job allocation 7 has been revoked."} {
		if s := r.report.Suites[i]; s.Verdict != verify.Blind || s.Why != want {
			t.Errorf("got %+v", s)
		}
	}
}

// TestCleaned says what salloc said, without its name.
func TestCleaned(t *testing.T) {
	got := cleaned("salloc: error: Job submit/allocate failed: Requested node configuration is not available\nsalloc: Job allocation 3 has been revoked.\n")
	if want := "Job submit/allocate failed: Requested node configuration is not available; Job allocation 3 has been revoked."; got != want {
		t.Errorf("got %q", got)
	}
	if got := cleaned("srun: cluster configuration lacks support for cpu binding\nsrun: error: n1: task 0: Exited with exit code 127\n"); got != "n1: task 0: Exited with exit code 127" {
		t.Errorf("got %q", got)
	}
}
