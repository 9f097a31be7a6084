package slurm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var versions = []string{"22.05.8", "23.11.10", "25.11.7"}

// sample reads recorded output.
func sample(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.Join(path...)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestParseNodes(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			nodes, problems := parseNodes(sample(t, "slurm-"+version, "scontrol-show-node.txt"), time.UTC)
			if len(problems) > 0 || len(nodes) != 4 {
				t.Fatalf("got %d nodes, problems %v", len(nodes), problems)
			}
			for i, want := range []struct {
				state, long, reason string
				partitions          []string
			}{
				{"IDLE", "idle", "", []string{"gpu", "debug"}},
				{"IDLE", "idle", "", []string{"gpu", "debug"}},
				{"IDLE+DRAIN+MAINTENANCE+RESERVED", "drained$", "gpuhealth: Xid 79 GPU fell off bus gpu=3", []string{"gpu"}},
				{"DOWN", "down", "gpuhealth: unresponsive", []string{"gpu"}},
			} {
				n := nodes[i]
				if n.State.String() != want.state || n.State.Long() != want.long || n.Reason != want.reason || !slices.Equal(n.Partitions, want.partitions) {
					t.Errorf("node %d: got %v %v %q %v, want %v", i, n.State, n.State.Long(), n.Reason, n.Partitions, want)
				}
				if n.CPUs != 2 || n.MemoryMiB != 2000 || n.Gres != "gpu:h200:8" || n.Version != version || n.BootTime.IsZero() {
					t.Errorf("node %d: %+v", i, n)
				}
			}
			if n := nodes[3]; n.ReasonUser != "root" || n.ReasonTime.IsZero() {
				t.Errorf("reason of %q at %v", n.ReasonUser, n.ReasonTime)
			}
		})
	}
}

func TestParseNodesOneLine(t *testing.T) {
	nodes, problems := parseNodes(sample(t, "slurm-22.05.8", "cloud", "node-3.txt"), time.UTC)
	if len(problems) > 0 || len(nodes) != 6 {
		t.Fatalf("got %d nodes, problems %v", len(nodes), problems)
	}
	got := nodes[0]
	got.BootTime, got.SlurmdStart, got.LastBusy = time.Time{}, time.Time{}, time.Time{}
	want := Node{
		Name: "q-dy-p5e-1", State: NodeState{Base: BaseMixed, Flags: FlagCloud}, Partitions: []string{"q"},
		CPUs: 4, CPUsAllocated: 1, MemoryMiB: 2000, Gres: "gpu:8", GresUsed: "gpu:8",
		CfgTRES: "cpu=4,mem=2000M,billing=4", AllocTRES: "cpu=1", Address: "127.0.0.1", Hostname: got.Hostname,
		Version: "22.05.8", Features: []string{"dynamic", "p5e"}, ThreadsPerCore: 1, Arch: "x86_64",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := nodes[5]; n.Reason != `Xid 79 = bad [gpu] "x` || !n.State.Draining() {
		t.Errorf("got reason %q, state %v", n.Reason, n.State)
	}
}

func TestParseNodesBadRows(t *testing.T) {
	nodes, problems := parseNodes([]byte("NodeName=a State=IDLE CPUTot=many\nNodeName=b State=IDLE\nNodeName=c\nNodeName=d State=IDLE BootTime=soon\n"), nil)
	if len(nodes) != 1 || nodes[0].Name != "b" || len(problems) != 3 {
		t.Errorf("got nodes %v, problems %v", nodes, problems)
	}
	if nodes, problems := parseNodes([]byte("No nodes in the system\n"), nil); nodes != nil || problems != nil {
		t.Errorf("got %v, %v", nodes, problems)
	}
}

// TestNodeStateAsSinfo compares with what sinfo said at the same moment.
func TestNodeStateAsSinfo(t *testing.T) {
	for _, step := range []string{"1", "3", "4", "5", "6", "7"} {
		nodes, _ := parseNodes(sample(t, "slurm-22.05.8", "cloud", "node-"+step+".txt"), time.UTC)
		want := string(sample(t, "slurm-22.05.8", "cloud", "sinfo-T-"+step+".txt"))
		got := ""
		for _, n := range nodes {
			got += n.Name + " " + n.State.Long() + "\n"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step %s: %s", step, diff)
		}
	}
}

func TestNodeState(t *testing.T) {
	cases := map[string]struct {
		text, long, again string
	}{
		"idle":               {"IDLE", "idle", "IDLE"},
		"powered_down":       {"IDLE+CLOUD+POWERED_DOWN", "idle~", "IDLE+CLOUD+POWERED_DOWN"},
		"powered_down_20_11": {"IDLE+CLOUD+POWER", "idle~", "IDLE+CLOUD+POWERED_DOWN"},
		"powering_up":        {"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", "allocated#", "ALLOCATED+CLOUD+POWERING_UP+NOT_RESPONDING"},
		"powering_down":      {"IDLE+CLOUD+POWERING_DOWN", "idle%", "IDLE+CLOUD+POWERING_DOWN"},
		"power_down":         {"IDLE+CLOUD+POWER_DOWN", "idle!", "IDLE+CLOUD+POWER_DOWN"},
		"down_star":          {"DOWN*+CLOUD", "down*", "DOWN+CLOUD+NOT_RESPONDING"},
		"not_responding":     {"DOWN+NOT_RESPONDING", "down*", "DOWN+NOT_RESPONDING"},
		"draining":           {"MIXED+DRAIN", "draining", "MIXED+DRAIN"},
		"drained_maint":      {"IDLE+DRAIN+MAINTENANCE+RESERVED", "drained$", "IDLE+DRAIN+MAINTENANCE+RESERVED"},
		"maint":              {"IDLE+MAINTENANCE", "maint", "IDLE+MAINTENANCE"},
		"completing":         {"IDLE+COMPLETING", "completing", "IDLE+COMPLETING"},
		"alloc_completing":   {"ALLOCATED+COMPLETING", "allocated+", "ALLOCATED+COMPLETING"},
		"reserved":           {"IDLE+RESERVED", "reserved", "IDLE+RESERVED"},
		"planned":            {"IDLE+PLANNED", "planned", "IDLE+PLANNED"},
		"mixed_planned":      {"MIXED+PLANNED", "mixed-", "MIXED+PLANNED"},
		"reboot":             {"DOWN+REBOOT_ISSUED", "reboot^", "DOWN+REBOOT_ISSUED"},
		"fail":               {"IDLE+FAIL", "fail", "IDLE+FAIL"},
		"failing":            {"ALLOCATED+FAIL", "failing", "ALLOCATED+FAIL"},
		"inval":              {"UNKNOWN+DRAIN+INVALID_REG", "inval", "UNKNOWN+DRAIN+INVALID_REG"},
		"future":             {"FUTURE", "future", "FUTURE"},
		"flag_of_tomorrow":   {"IDLE+SHINY+CLOUD", "idle", "IDLE+CLOUD+SHINY"},
		"base_of_tomorrow":   {"DREAMING+CLOUD", "unknown", "UNKNOWN+CLOUD+DREAMING"},
		"empty":              {"", "unknown", "UNKNOWN"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := ParseNodeState(c.text)
			if s.Long() != c.long || s.String() != c.again {
				t.Errorf("got %q %q, want %q %q", s.Long(), s.String(), c.long, c.again)
			}
			var back NodeState
			text, err := json.Marshal(s)
			if err != nil || json.Unmarshal(text, &back) != nil || back != s {
				t.Errorf("%v became %s, then %v (%v)", s, text, back, err)
			}
		})
	}
}

func TestNodeStateClaims(t *testing.T) {
	claims := []struct {
		name string
		of   func(NodeState) bool
		yes  []string
		no   []string
	}{
		{"PoweredDown", NodeState.PoweredDown, []string{"IDLE+CLOUD+POWERED_DOWN", "IDLE~"}, []string{"IDLE+POWERING_DOWN", "IDLE+POWER_DOWN"}},
		{"PoweringUp", NodeState.PoweringUp, []string{"MIXED+CLOUD+POWERING_UP", "IDLE#", "IDLE+POWER_UP+POWERED_DOWN"}, []string{"IDLE+POWERED_DOWN"}},
		{"PoweringDown", NodeState.PoweringDown, []string{"IDLE+POWERING_DOWN", "IDLE+POWER_DOWN"}, []string{"IDLE+POWERED_DOWN"}},
		{"Down", NodeState.Down, []string{"DOWN", "DOWN*", "ERROR"}, []string{"IDLE+DRAIN", "UNKNOWN"}},
		{"Draining", NodeState.Draining, []string{"IDLE+DRAIN", "DOWN+DRAIN", "IDLE+FAIL"}, []string{"DOWN", "IDLE+POWER_DRAIN"}},
		{"Busy", NodeState.Busy, []string{"ALLOCATED", "MIXED+CLOUD", "IDLE+COMPLETING"}, []string{"IDLE", "DOWN"}},
	}
	for _, c := range claims {
		for _, text := range c.yes {
			if !c.of(ParseNodeState(text)) {
				t.Errorf("%s is not %s", text, c.name)
			}
		}
		for _, text := range c.no {
			if c.of(ParseNodeState(text)) {
				t.Errorf("%s is %s", text, c.name)
			}
		}
	}
}

func FuzzParseNodes(f *testing.F) {
	for _, version := range versions {
		f.Add(sample(f, "slurm-"+version, "scontrol-show-node.txt"))
	}
	f.Add(sample(f, "slurm-22.05.8", "cloud", "node-3.txt"))
	f.Fuzz(func(t *testing.T, output []byte) {
		nodes, problems := parseNodes(output, time.UTC)
		rows := strings.Count("\n"+strings.ToValidUTF8(string(output), "\uFFFD"), "\nNodeName=")
		if len(nodes)+len(problems) != rows {
			t.Errorf("%d nodes and %d problems from %d rows", len(nodes), len(problems), rows)
		}
		for _, n := range nodes {
			if ParseNodeState(n.State.String()) != n.State {
				t.Errorf("state %+v does not survive %q", n.State, n.State)
			}
		}
	})
}

// TestNodeGPUs counts GPUs by either list, whatever of them Slurm shows.
func TestNodeGPUs(t *testing.T) {
	for _, c := range []struct {
		tres, gres string
		want       int
	}{
		{"cpu=2,mem=2000M,gres/gpu=8,gres/gpu:h200=8", "gpu:h200:8", 8},
		{"cpu=2,mem=2000M,billing=2", "gpu:h200:8", 8},
		{"cpu=2,billing=2", "gpu:h200:8(S:0-1)", 8},
		{"cpu=2", "gpu:8,nvme:2", 8},
		{"cpu=2", "gpu:a100:4(S:0,1),gpu:v100:2(S:0)", 6},
		{"cpu=2", "gpu:h100:no_consume:4", 4},
		{"cpu=2", "gpu", 1},
		{"cpu=2", "gpu:tesla", 1},
		{"cpu=2", "nvme:2", 0},
		{"cpu=2,mem=1", "", 0},
		{"", "(null)", 0},
	} {
		if got := (Node{CfgTRES: c.tres, Gres: c.gres}).GPUs(); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.tres, c.gres, got, c.want)
		}
	}
}
