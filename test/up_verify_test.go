package test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUpVerifies: a cluster that is up proves itself on the nodes of its test job. One that does not stays up, and up says so.
func TestUpVerifies(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(2)+dataFile)
	up := func(flag string) (answer struct {
		TestJob struct{ Nodes []string } `json:"test_job"`
		Verify  *verified
		Error   string
	}, r result) {
		r = c.run("up", "cluster.yaml", flag, "-o", "json")
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
			t.Fatalf("%v, exit code %d\n%s%s", err, r.code, r.stdout, r.stderr)
		}
		return answer, r
	}
	a, r := up("--verify")
	if r.code != 0 || a.Verify == nil || len(a.Verify.Suites) != 2 || a.Error != "" || strings.Join(a.Verify.Nodes, " ") != strings.Join(a.TestJob.Nodes, " ") {
		t.Fatalf("exit code %d: %+v\n%s", r.code, a, r.stderr)
	}
	c.holds(*a.Verify, "pass", "slurmctld", "nodes-came", "job-step", "mount-shared")

	bad := a.TestJob.Nodes[0]
	if r := c.node(bad, "mount -t tmpfs -o size=1m,ro tmpfs /fsx1"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	defer c.node(bad, "umount /fsx1")
	a, r = up("--verify=basic")
	if r.code != 1 || a.Verify == nil || a.Verify.Verdict != "fail" || !strings.Contains(a.Error, "fails its verification: basic mount-") || !strings.Contains(a.Error, bad) {
		t.Errorf("exit code %d: %+v\n%s", r.code, a, r.stderr)
	}
	if r := c.run("up", "cluster.yaml", "--verify=basic"); r.code != 1 || !strings.Contains(r.stdout, "mount-writable") ||
		!strings.Contains(r.stderr, "it stays up: `muster verify basic --cluster whole` looks again") {
		t.Errorf("exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	c.head("srun", "--nodes=2", "true")
	if r := c.run("up", "cluster.yaml"); r.code != 0 || strings.Contains(r.stderr, "verify") {
		t.Errorf("without --verify: exit code %d\n%s", r.code, r.stderr)
	}
}
