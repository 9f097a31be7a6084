package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVerify has a cluster prove itself, and finds what is planted in it.
func TestVerify(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(6)+dataFile).each(map[string]func(*testing.T, *cluster){
		"passes":          verifyPasses,
		"finds_mounts":    verifyFindsMounts,
		"gives_nodes_up":  verifyGivesNodesUp,
		"knows_its_words": verifyKnowsItsWords,
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

type verifiedResult struct{ Check, On, Verdict, Found, Want, Why string }

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
	v, code := c.verify("basic", "storage", "slurm")
	if code != 0 || v.Verdict != "pass" || len(v.Nodes) != 2 || len(v.Suites) != 3 {
		t.Errorf("exit code %d: %+v", code, v)
	}
	c.holds(v, "pass", "slurmctld", "accounting", "partition", "nodes-came", "job-step", "clock", "names", "bucket", "nodes-free-again")
	c.holds(v, "pass", "storage-write", "storage-read", "storage-create", "batch-job", "requeue", "job-accounting")
	if left, _ := filepath.Glob(c.path("shared", "fsx1", ".muster-verify*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A mount that one node has lost, and one that is full there.
func verifyFindsMounts(t *testing.T, c *cluster) {
	v, _ := c.verify("basic", "--nodes", "2")
	lost := v.Nodes[1]
	if r := c.node(lost, "mount -t tmpfs -o size=1m,mode=1777 tmpfs /fsx1 && { head -c 2M /dev/zero >/fsx1/full 2>/dev/null || true; }"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	defer c.node(lost, "umount /fsx1")
	v, code := c.verify("storage", "--nodelist", strings.Join(v.Nodes, ","))
	if code != 1 || v.Verdict != "fail" {
		t.Errorf("exit code %d: %+v", code, v)
	}
	i := slices.IndexFunc(v.Suites[0].Results, func(r verifiedResult) bool { return r.Verdict == "fail" && strings.Contains(r.On+r.Why, lost) })
	if i < 0 {
		t.Errorf("nothing of %s in %+v", lost, v.Suites[0].Results)
	}
}

// A verification that is killed holds no node any longer.
func verifyGivesNodesUp(t *testing.T, c *cluster) {
	killed := c.command("verify", "storage", "--nodes", "3")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("its job runs", patience, func() bool {
		return strings.Contains(c.head("squeue", "--noheader", "--format=%j %T"), "muster-verify RUNNING")
	})
	if err := killed.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	c.await("its nodes are free", patience, func() bool {
		return !strings.Contains(c.head("squeue", "--noheader", "--format=%j %T"), "muster-verify")
	})
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
