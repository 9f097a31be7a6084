package test

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// othersAccounts: what people made, and what another cluster of the same slurmdbd has, stays as it is; a muster.yaml that is
// missing takes nothing away; and a user leaves when his jobs do. In the end the accounts are those of before.
func othersAccounts(c *cluster, before string) {
	c.t.Helper()
	manage := func(args ...string) string {
		c.t.Helper()
		return c.head(append([]string{"sacctmgr", "--immediate", "--noheader", "--parsable2"}, args...)...)
	}
	// up runs with a muster.yaml, none for "", and says how it ended.
	up := func(file string, code int, says ...string) {
		c.t.Helper()
		if file == "" {
			if err := os.Remove(filepath.Join(c.dir, "muster.yaml")); err != nil {
				c.t.Fatal(err)
			}
		} else {
			c.file("muster.yaml", file)
		}
		r := c.run("up", "--no-test", "--yes", "cluster.yaml")
		for _, words := range says {
			if !strings.Contains(r.stdout+r.stderr, words) {
				c.t.Errorf("up does not say %q", words)
			}
		}
		if r.code != code || c.t.Failed() {
			c.t.Fatalf("exit code %d, want %d\n%s%s%s", r.code, code, file, r.stdout, r.stderr)
		}
	}
	up("", 0, "keeps the one that it has", "set accounts: 1 account and 2 QOS as the file says")

	manage("add", "cluster", "other")
	manage("add", "account", "name=theirs", "cluster=other", "QOS=normal,train")
	manage("add", "account", "name=hand", "cluster=whole", "MaxJobs=3")
	manage("add", "user", "name=bin", "account=hand", "cluster=whole")
	up(strings.Replace(before, "Priority: 10,", "Priority: 20,", 1), 1,
		"muster.yaml:4:29: error: QOS train is not this cluster's alone, cluster other has it in its account theirs: Priority there is 10, and the file has 20 [workload/conflict]")
	const hand = "  - {Name: hand, MaxJobs: %s, Users: [daemon, bin]}\nQOS:\n"
	with := func(limit string) string {
		return strings.Replace(before, "QOS:\n", strings.Replace(hand, "%s", limit, 1), 1)
	}
	up(with("4"), 1, "error: account hand was not made by muster: MaxJobs there is 3, and the file has 4 [workload/conflict]")
	if got := manage("show", "qos", "train", "format=Priority") + manage("show", "association", "cluster=whole", "user=daemon", "format=Account"); got != "10\n" {
		c.t.Errorf("a conflict changed something: %q", got)
	}
	up(with("3"), 0, "account hand: QOS=normal,train,urgent instead of none; add user daemon to account hand\n")
	id := strings.TrimSpace(c.head("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "sbatch", "--parsable", "--hold", "--chdir=/", "--output=/dev/null", "--wrap=true"))
	up(before, 0, "account hand: QOS is no longer normal,train,urgent; user daemon stays in account hand while his jobs are there: "+id)
	c.head("scancel", id)
	c.await("the job is gone", time.Minute, func() bool { return !strings.Contains(c.head("squeue", "--noheader"), id+" ") })
	up(before, 0, "set accounts: remove user daemon from account hand\n")

	up("{}\n", 0, "remove user root from account research; remove account research; remove QOS urgent; QOS train stays: cluster other has it in its account theirs")
	rows := manage("show", "association", "format=Cluster,Account,User,MaxJobs,QOS", "WOPLimits", "WithRawQOSLevel")
	for _, row := range []string{"whole|hand||3|\n", "whole|hand|bin||\n", "other|theirs|||normal,train\n"} {
		if !strings.Contains(rows, row) {
			c.t.Errorf("%q is not as it was made:\n%s", row, rows)
		}
	}
	up(before, 0)
	up(before, 0, "set accounts: 1 account and 2 QOS as the file says")
}
