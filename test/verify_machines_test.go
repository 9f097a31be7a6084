package test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
)

// What a machine and its programs are is looked at for real; what it only stands for is skipped, and says so. No suite that was asked for
// goes without a word.
func verifyLooksAtMachines(t *testing.T, c *cluster) {
	v, code := c.verify("host", "collectives", "gpu", "efa", "nccl", "--report", "machines")
	if code != 0 || v.Verdict != "pass" || len(v.Nodes) != 2 || len(v.Suites) != 5 {
		t.Errorf("exit code %d: %+v", code, v)
	}
	c.holds(v, "pass", "daemons", "containers", "same-kernel", "same-distribution", "same-slurm", "mount-free")
	for _, name := range []string{"all-reduce", "all-gather", "broadcast", "reduce", "reduce-scatter", "alltoall"} {
		c.holds(v, "pass", name+"-data", name+"-bandwidth")
		if r := v.results(name + "-bandwidth"); len(r) != 1 || !strings.Contains(r[0].Found, "GB/s with messages of ") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, s := range v.Suites {
		skipped := slices.Contains([]string{"gpu", "efa", "nccl"}, s.Name)
		if want := map[bool]string{true: "skip", false: "pass"}[skipped]; s.Verdict != want {
			t.Errorf("suite %s is %s, not %s", s.Name, s.Verdict, want)
		}
		for _, r := range s.Results {
			if skipped && (r.Verdict != "skip" || !strings.Contains(r.Why+s.Why, "nodes of this machine have no")) {
				t.Errorf("suite %s: %+v", s.Name, r)
			}
		}
	}
	c.countsAgree(v, filepath.Join("machines", "report.xml"))
}

// countsAgree has a foreign reader of JUnit's XML count what the report has.
func (c *cluster) countsAgree(v verified, name string) {
	c.t.Helper()
	suites, err := junit.IngestFile(filepath.Join(c.dir, name))
	if err != nil || len(suites) != len(v.Suites) {
		c.t.Fatalf("%d suites, want %d: %v", len(suites), len(v.Suites), err)
	}
	for i, s := range v.Suites {
		verdicts := map[string]int{}
		for _, r := range s.Results {
			verdicts[r.Verdict]++
		}
		if got := suites[i].Totals; got.Tests != max(len(s.Results), 1) || got.Passed != verdicts["pass"]+verdicts["warn"] || got.Failed != verdicts["fail"] {
			c.t.Errorf("suite %s: %+v, want %v", s.Name, got, verdicts)
		}
	}
}

// What the cluster's file is held against on AWS can be read before there is an account, node by node.
func verifySaysWhatItExpects(t *testing.T, c *cluster) {
	text := c.must("verify", "--expect")
	for _, part := range []string{"gpu/p5e: p5e.48xlarge, up to 16 nodes", "gpu-dy-p5e-[1-16]", "8 GPUs"} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in\n%s", part, text)
		}
	}
	var table struct {
		Schema       int
		Expectations []struct{ Nodes, Suite, Check, Want, Skip, Source string }
	}
	if err := json.Unmarshal([]byte(c.must("verify", "--expect", "-o", "json")), &table); err != nil || table.Schema != 1 {
		t.Fatal(err, table.Schema)
	}
	found := map[string]int{}
	for _, e := range table.Expectations {
		found[e.Suite]++
		if e.Skip == "" && (e.Want == "" || e.Source == "") {
			t.Errorf("nobody says what is right, or who says so: %+v", e)
		}
	}
	for _, suite := range []string{"basic", "host", "gpu", "nccl", "network", "storage"} {
		if found[suite] == 0 {
			t.Errorf("nothing is expected in %s: %v", suite, found)
		}
	}
}
