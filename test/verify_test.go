package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVerify has a cluster prove itself, and finds what is planted in it.
func TestVerify(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(16)+dataFile).each(map[string]func(*testing.T, *cluster){
		"passes":               verifyPasses,
		"finds_mounts":         verifyFindsMounts,
		"finds_slow_node":      verifyFindsSlowNode,
		"keeps_a_report":       verifyKeepsAReport,
		"gives_nodes_up":       verifyGivesNodesUp,
		"knows_its_words":      verifyKnowsItsWords,
		"sends_itself":         verifySendsItself,
		"removes_itself":       verifyRemovesItself,
		"withdraws":            verifyWithdraws,
		"ends_its_jobs":        verifyEndsItsJobs,
		"powers_down":          verifyPowersDown,
		"looks_at_machines":    verifyLooksAtMachines,
		"says_what_it_expects": verifySaysWhatItExpects,
	})
}

// verified is what the tests look at of a report.
type verified struct {
	Verdict string
	Error   string
	Nodes   []string
	Suites  []struct {
		Name, Verdict, Why string
		Results            []verifiedResult
	}
}

type verifiedResult struct{ Check, On, Verdict, Found, Want, Why, Hint string }

// verify runs `muster verify` and returns its report and exit code.
func (c *cluster) verify(args ...string) (verified, int) {
	c.t.Helper()
	r := c.run(append([]string{"verify", "-o", "json"}, args...)...)
	var report verified
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		c.t.Fatalf("verify %s: %v, exit code %d\n%s%s", strings.Join(args, " "), err, r.code, r.stdout, r.stderr)
	}
	return report, r.code
}

// results are those of a check, in all suites.
func (v verified) results(check string) (found []verifiedResult) {
	for _, s := range v.Suites {
		for _, r := range s.Results {
			if r.Check == check {
				found = append(found, r)
			}
		}
	}
	return found
}

// holds fails the test unless a check has results, all with a verdict.
func (c *cluster) holds(v verified, verdict string, checks ...string) {
	c.t.Helper()
	for _, check := range checks {
		found := v.results(check)
		if len(found) == 0 {
			c.t.Errorf("no result of %s in %+v", check, v)
		}
		for _, r := range found {
			if r.Verdict != verdict {
				c.t.Errorf("%s is %s, not %s: %+v", check, r.Verdict, verdict, r)
			}
		}
	}
}

func verifyPasses(t *testing.T, c *cluster) {
	places := filepath.Join(c.path("shared", "fsx1"), ".muster-verify*")
	before, _ := filepath.Glob(places)
	v, code := c.verify("basic", "storage", "slurm")
	full := slices.ContainsFunc(v.results("mount-free"), func(r verifiedResult) bool { return r.Verdict == "warn" }) // as this machine's disk may be
	if code != 0 || v.Verdict != "pass" && !full || len(v.Nodes) != 2 || len(v.Suites) != 3 {
		t.Errorf("exit code %d: %+v", code, v)
	}
	c.holds(v, "pass", "slurmctld", "accounting", "partition", "nodes-came", "job-step", "clock", "names", "bucket", "nodes-free-again")
	c.holds(v, "pass", "storage-write", "storage-read", "storage-create", "batch-job", "requeue", "job-accounting")
	if left, _ := filepath.Glob(places); !slices.Equal(left, before) {
		t.Errorf("left behind: %v", left)
	}
}

// On one node another file system lies over a shared one, is full, and cannot be written to.
func verifyFindsMounts(t *testing.T, c *cluster) {
	const odd, other = "gpu-dy-p5e-6", "gpu-dy-p5e-7"
	c.must("verify", "basic", "--nodelist", odd+","+other)
	plant := "mount -t tmpfs -o size=1m tmpfs /fsx1 && { head -c 2M /dev/zero >/fsx1/full 2>/dev/null; mount -o remount,ro /fsx1; }"
	if r := c.node(odd, plant); r.code != 0 {
		t.Fatal(r.stderr)
	}
	defer c.node(odd, "umount /fsx1")
	v, code := c.verify("basic", "storage", "--nodelist", odd+","+other)
	if code != 1 || v.Verdict != "fail" {
		t.Errorf("exit code %d: %+v", code, v)
	}
	for _, check := range []string{"mount-writable", "mount-free", "mount-shared"} {
		for _, r := range v.results(check) {
			if fails := r.Verdict == "fail"; fails != (r.On == odd+":/fsx1") {
				t.Errorf("%+v", r)
			}
		}
	}
	i := slices.IndexFunc(v.Suites[1].Results, func(r verifiedResult) bool { return r.Verdict == "fail" && strings.Contains(r.On, odd) })
	if i < 0 {
		t.Errorf("storage says nothing of %s: %+v", odd, v.Suites[1].Results)
	}
	if left, _ := filepath.Glob(c.path("shared", "fsx*", ".muster-verify*")); len(left) > 0 { // by the node that has the right one
		t.Errorf("left behind: %v", left)
	}
}

// One of sixteen nodes sends at a quarter of what the others do. It alone is found, in few rounds; without it all is well. Nodes share
// the processors with all other tests, which may make another one slow for a while: three looks are one proof.
func verifyFindsSlowNode(t *testing.T, c *cluster) {
	const slow, looks = "gpu-dy-p5e-11", 3
	var v verified
	is := func(node string) bool {
		for range looks {
			v, _ = c.verify("network", "--nodes", "all")
			found := v.results("network-node")
			if len(v.Nodes) != 16 {
				t.Fatalf("%+v", v)
			}
			if node == "" && len(found) == 0 || len(found) == 1 && found[0].On == node && found[0].Verdict == "fail" {
				return true
			}
		}
		return false
	}
	if !is("") {
		t.Errorf("slow without a fault: %+v", v)
	}
	if r := c.node(slow, "tc qdisc add dev ens5 root tbf rate 40mbit burst 32k latency 50ms"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	defer c.node(slow, "tc qdisc del dev ens5 root")
	if !is(slow) {
		t.Errorf("not found: %+v", v)
	}
	// The fleet gives a node that was drained so a new life at once.
	v, _ = c.verify("network", "--nodes", "all", "--drain")
	i := slices.IndexFunc(v.results("network-node"), func(r verifiedResult) bool { return r.On == slow })
	if i < 0 || !strings.HasPrefix(v.results("network-node")[i].Hint, "it was drained: muster: verify: network-node: slow") {
		t.Errorf("not drained: %+v", v)
	}
}

// The report's files are there, a page among them, and a report is as good as itself.
func verifyKeepsAReport(t *testing.T, c *cluster) {
	c.must("verify", "basic", "--report", "acceptance")
	for name, part := range map[string]string{"report.json": `"file_sha256": "`, "report.html": "<!doctype html>", "report.xml": "<testsuites"} {
		if text := c.read(filepath.Join("acceptance", name)); !strings.Contains(strings.ToLower(text), part) {
			t.Errorf("%s has no %s", name, part)
		}
	}
	report := filepath.Join("acceptance", "report.json")
	diff := exec.Command(c.muster, "verify", "diff", filepath.Join(c.dir, report), filepath.Join(c.dir, report))
	if said, err := diff.Output(); err != nil || !strings.HasPrefix(string(said), "0 worse") {
		t.Errorf("%v: %s", err, said)
	}
}

// A verification that is killed holds no node any longer.
func verifyGivesNodesUp(t *testing.T, c *cluster) {
	killed := c.command("verify", "storage", "--nodes", "3")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	left := func(below string) bool {
		found, _ := filepath.Glob(c.path("shared", "fsx*", ".muster-verify*", below))
		return len(found) > 0
	}
	c.await("it has written", patience, func() bool { return left("*") })
	if err := killed.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	c.await("its nodes are free", patience, func() bool {
		return !strings.Contains(c.head("squeue", "--noheader", "--format=%j %T"), "muster-verify")
	})
	c.await("nothing of it is left", patience, func() bool { return !left("") })
}

func verifyKnowsItsWords(t *testing.T, c *cluster) {
	for args, want := range map[string]string{
		"verify nonesuch":                     `there is no suite "nonesuch"`,
		"verify container":                    "name it with --image",
		"verify basic --nodes 100":            "100 are asked for",
		"verify basic --partition nonesuch":   `there is no partition "nonesuch"`,
		"verify basic --nodelist gpu-dy-no-1": "not all of these nodes are in service",
		"verify basic --budget 1s":            "--budget 1s",
	} {
		if r := c.run(strings.Fields(args)...); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, r.code, r.stderr)
		}
	}
}
