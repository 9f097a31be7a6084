package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

// on are results of one check, failed on some of the nodes n1 to nN and passed on the others.
func on(check string, nodes int, failed ...int) (all []verify.Result) {
	name, at, _ := strings.Cut(check, ":")
	if at != "" {
		at = ":" + at
	}
	for n := 1; n <= nodes; n++ {
		r := verify.Result{Check: name, On: fmt.Sprintf("n%d%s", n, at), Verdict: verify.Pass}
		if slices.Contains(failed, n) {
			r.Verdict = verify.Fail
		}
		all = append(all, r)
	}
	return all
}

func reportOf(nodes int, suites map[string][]verify.Result) *verify.Report {
	r := &verify.Report{}
	for n := range nodes {
		r.Nodes = append(r.Nodes, fmt.Sprintf("n%d", n+1))
	}
	for _, name := range verify.Suites() {
		if results, ok := suites[name]; ok {
			r.Suites = append(r.Suites, verify.Suite{Name: name, Results: results})
		}
	}
	return r
}

// TestCondemned takes nodes for bad by what is their own fault alone: not by what an image, a file system or an expectation has wrong.
func TestCondemned(t *testing.T) {
	slow := []verify.Result{{Check: "network-node", On: "n4", Verdict: verify.Fail}, {Check: "network-link", On: "n1+n5", Verdict: verify.Fail}}
	for name, c := range map[string]struct {
		nodes  int
		suites map[string][]verify.Result
		want   string
	}{
		"a_gpu_of_one":            {5, map[string][]verify.Result{verify.GPU: on("gpu-count", 5, 3)}, "n3"},
		"a_gpu_of_one_of_two":     {2, map[string][]verify.Result{verify.GPU: on("gpu-count", 2, 2)}, "n2"},
		"one_with_nobody_beside":  {1, map[string][]verify.Result{verify.GPU: on("gpu-count", 1, 1)}, ""},
		"half_of_them":            {6, map[string][]verify.Result{verify.GPU: on("gpu-pcie-width", 6, 1, 2, 3)}, ""},
		"less_than_half":          {6, map[string][]verify.Result{verify.GPU: on("gpu-pcie-width", 6, 1, 2)}, "n1 n2"},
		"a_driver":                {5, map[string][]verify.Result{verify.GPU: on("gpu-driver", 5, 1)}, ""},
		"an_installer":            {5, map[string][]verify.Result{verify.EFA: on("efa-installer", 5, 1)}, ""},
		"a_plugin":                {5, map[string][]verify.Result{verify.EFA: on("efa-plugin", 5, 1)}, ""},
		"a_limit":                 {5, map[string][]verify.Result{verify.EFA: on("efa-memlock", 5, 1)}, ""},
		"an_efa_device":           {5, map[string][]verify.Result{verify.EFA: on("efa-devices", 5, 1)}, "n1"},
		"a_mount":                 {5, map[string][]verify.Result{verify.Basic: on("mount:/fsx", 5, 1)}, "n1"},
		"a_mount_of_all":          {5, map[string][]verify.Result{verify.Basic: on("mount:/fsx", 5, 1, 2, 3, 4, 5)}, ""},
		"other_mounts_of_two":     {4, map[string][]verify.Result{verify.Basic: slices.Concat(on("mount:/fsx", 4, 1), on("mount:/home", 4, 2))}, "n1 n2"},
		"room":                    {5, map[string][]verify.Result{verify.Basic: on("mount-free:/fsx", 5, 1)}, ""},
		"the_head_node":           {5, map[string][]verify.Result{verify.Basic: {{Check: "mount", On: "head:/fsx", Verdict: verify.Fail}}}, ""},
		"a_bucket":                {5, map[string][]verify.Result{verify.Basic: {{Check: "bucket", On: "s3://b", Verdict: verify.Fail}}}, ""},
		"a_slow_node_and_no_link": {5, map[string][]verify.Result{verify.Network: slow}, "n4"},
		"a_node_slow_by_nccl":     {5, map[string][]verify.Result{verify.NCCL: {{Check: "nccl-node", On: "n2", Verdict: verify.Fail}, {Check: "nccl-link", On: "n1+n3", Verdict: verify.Fail}}}, "n2"},
		"idle_efa":                {5, map[string][]verify.Result{verify.NCCL: on("efa-counters", 5, 4)}, "n4"},
		"storage":                 {5, map[string][]verify.Result{verify.Storage: on("storage-write", 5, 5)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(slices.Sorted(maps.Keys(condemned(reportOf(c.nodes, c.suites)))), " ")
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestCondemnedSpeaksOfTheFirst holds that a node's first failure is its reason, and that who is spared reads why.
func TestCondemnedSpeaksOfTheFirst(t *testing.T) {
	r := reportOf(3, map[string][]verify.Result{verify.GPU: slices.Concat(on("gpu-count", 3, 1), on("gpu-remap", 3, 1), on("gpu-nvlinks", 3, 2, 3))})
	for range 20 {
		if got := condemned(r); len(got) != 1 || got["n1"].Check != "gpu-count" {
			t.Fatalf("got %v", got)
		}
	}
	if got := r.Suites[0].Results[7].Hint; !strings.HasPrefix(got, "--drain leaves it: 2 of 3 nodes fail alike") {
		t.Errorf("got %q", got)
	}
}

// TestCrowded counts those that muster has taken out of service before, and those alone.
func TestCrowded(t *testing.T) {
	bad := map[string]*verify.Result{"n1": {}, "n2": {}}
	node := func(reason string) slurm.Node {
		return slurm.Node{State: slurm.ParseNodeState("IDLE+DRAIN"), Reason: reason}
	}
	free := slurm.Node{State: slurm.ParseNodeState("IDLE"), Reason: fleet.VerifyReason("gpu-count", "of last week")}
	for _, c := range []struct {
		all  []slurm.Node
		want string
	}{
		{[]slurm.Node{free, free, node("disk change"), node("muster: job 7: slow")}, ""},
		{[]slurm.Node{node(fleet.VerifyReason("gpu-count", "7"))}, ""},
		{[]slurm.Node{node(fleet.VerifyReason("gpu-count", "7")), node(fleet.HealthReason([]string{"/ is full"}))}, "2 nodes failed, 2 were taken out of service before, and more than 3 at once have a cause of their own"},
	} {
		if got := crowded(bad, c.all); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestDrainAfterACut drains nobody on half a verification.
func TestDrainAfterACut(t *testing.T) {
	said := ""
	r := &run{World: World{Tell: func(line string) { said = line }}, Options: Options{Drain: true}, report: reportOf(5, map[string][]verify.Result{verify.GPU: on("gpu-count", 5, 3)})}
	r.report.Error = "interrupt"
	r.drain(t.Context()) // it has no Slurm to ask
	if said != "nobody is drained: the verification did not come to its end" {
		t.Errorf("said %q", said)
	}
}

// TestFreed tells nodes that are free for the next job from those that the job's end took out of service.
func TestFreed(t *testing.T) {
	var all []slurm.Node
	for name, state := range map[string]string{
		"idle": "IDLE", "others": "MIXED", "off": "IDLE+CLOUD+POWERING_DOWN", "slow": "IDLE+COMPLETING", "drained": "IDLE+DRAIN", "down": "DOWN", "mute": "IDLE+NOT_RESPONDING",
	} {
		all = append(all, slurm.Node{Name: name, State: slurm.ParseNodeState(state), Reason: "Epilog error"})
	}
	for ours, want := range map[string][2]string{
		"idle others off": {}, "slow idle": {"slow", ""}, "drained": {"", "drained is IDLE+DRAIN: Epilog error"}, "down": {"", "down is DOWN: Epilog error"},
		"mute": {"", "mute is IDLE+NOT_RESPONDING: Epilog error"}, "lost": {"", "lost is not Slurm's any more"},
	} {
		busy, gone := freed(strings.Fields(ours), all)
		if strings.Join(busy, " ") != want[0] || strings.Join(gone, "; ") != want[1] {
			t.Errorf("%s: busy %q, gone %q", ours, busy, gone)
		}
	}
}

// TestRoundsThatAreCut holds that nobody is slow for a round that the end of the time has cut off.
func TestRoundsThatAreCut(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}
	for cut := 1; cut <= 4; cut++ {
		ctx, end := context.WithCancelCause(t.Context())
		search, turn := pairs.New(nodes, 7), 0
		r := &run{World: World{Tell: func(string) {}}, alloc: &allocation{nodes: nodes}}
		rounds, err := r.rounds(ctx, search, func(all []load.Pair) (told []load.Measured) {
			if turn++; turn == cut {
				end(errors.New("the budget is spent"))
			}
			for _, p := range all {
				m := load.Measured{A: p.A, B: p.B, AB: 10, BA: 10, MedianUs: 20}
				if p.A == "n3" || p.B == "n3" { // it is slow, and takes rounds to be found
					m.AB, m.BA = 2, 2
				}
				if turn == cut {
					m.AB, m.BA, m.Err = 0, 0, "cut"
				}
				told = append(told, m)
			}
			return told
		})
		if turn == cut && (err == nil || len(rounds) != cut-1) {
			t.Errorf("cut in round %d: %d rounds, %v", cut, len(rounds), err)
		}
		for _, s := range search.Verdicts() {
			if s.Sure && s.Node != "n3" {
				t.Errorf("cut in round %d: %+v", cut, s)
			}
		}
		end(nil)
	}
}
