package test

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// reportScript trains: a step every third of a second, a checkpoint every ten steps, from which it goes on. The first run has no end, so
// that its node is lost before, however late that is.
const reportScript = `#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --exclusive --requeue --open-mode=append --job-name=trains
export start=$(cat ckpt 2>/dev/null || echo 0) last=1000000
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || last=$((start + 20))
srun bash -c 'sleep 2
for ((i = start + 1; i <= last; i++)); do sleep 0.3
    if [ "$SLURM_PROCID" = 0 ]; then
        echo "$(date "+%F %T.%N" | cut -c1-23) I [train.py:103] Batch $i Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001"
        ((i % 10)) || echo $i >ckpt
        [ $i != 25 ] || echo half
    fi
done'
`

// shownReport is what the test looks at in `job report -o json`.
type shownReport struct {
	Rows []struct {
		Key         string  `json:"key"`
		NodeHours   float64 `json:"node_hours"`
		Runs        int     `json:"runs"`
		Interrupted int     `json:"interrupted"`
		Goodput     float64 `json:"goodput"`
		USD         float64 `json:"usd"`
		Classes     []struct {
			Class     string  `json:"class"`
			NodeHours float64 `json:"node_hours"`
		} `json:"classes"`
	} `json:"rows"`
	Nodes struct {
		Failures int          `json:"failures"`
		Failed   []failedNode `json:"failed"`
	} `json:"nodes"`
	Blind []string `json:"blind"`
}

// failedNode is a row of the ledger of nodes.
type failedNode struct {
	Node string `json:"node"`
}

// jobIsReported has a job lose its node, and compares what the report says of its time with the job's own clock, with
// sacct and with sreport.
func jobIsReported(t *testing.T, c *cluster) {
	c.file("trains.sbatch", reportScript)
	f := c.follow("run", "trains.sbatch")
	f.until(t, "half")
	id := strings.TrimSpace(c.head("squeue", "--noheader", "--name=trains", "--format=%A"))
	node := c.show(id).Nodes[1]
	c.must("node", "kill", node)
	if _, code := f.end(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &f.stderr)
	}
	runs := c.accounted(id)
	r := c.report(t, id, "--price", "p5e.48xlarge=34.60")
	row := r.Rows[0]
	if len(r.Rows) != 1 || row.Runs != 2 || row.Interrupted != 1 || len(r.Blind) > 0 {
		t.Errorf("%+v", r)
	}
	of := map[string]float64{} // in seconds of the job, which has both nodes all the time
	sum := 0.0
	for _, class := range row.Classes {
		of[class.Class] = class.NodeHours * 3600 / 2
		sum += class.NodeHours
	}
	held := runs[0].seconds() + runs[1].seconds()
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-6*max(1, want) {
			t.Errorf("%s is %g instead of %g", what, got, want)
		}
	}
	near("the sum of all classes", sum, row.NodeHours)
	near("what sacct says was held", row.NodeHours*3600, 2*held)
	near("the cost", row.USD, 34.60*2*held/3600)
	near("goodput", row.Goodput, of["training"]/held)
	c.plausible(t, id, runs, of)
	// A test before this one may have killed another node, which had not come back when this job began.
	if n := len(r.Nodes.Failed); r.Nodes.Failures != n || !slices.ContainsFunc(r.Nodes.Failed, func(f failedNode) bool { return f.Node == node }) {
		t.Errorf("node %s was killed: %+v", node, r.Nodes)
	}
	near("what sreport says was held", c.reported(id), 2*held)
}

// accountedRun is a run's row of sacct's.
type accountedRun struct{ start, end time.Time }

func (r accountedRun) seconds() float64 { return r.end.Sub(r.start).Seconds() }

// accounted are the two runs of a job, when accounting has the end of both.
func (c *cluster) accounted(id string) (runs []accountedRun) {
	c.t.Helper()
	said := ""
	defer func() {
		if c.t.Failed() {
			c.t.Logf("sacct says of job %s:\n%s", id, said)
		}
	}()
	c.await("the accounting has both runs", time.Minute, func() bool {
		runs, said = nil, c.head("sacct", "-XDnP", "--jobs="+id, "--format=Start,End,State,NodeList")
		for line := range strings.Lines(said) {
			from, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			to, _, _ := strings.Cut(rest, "|")
			start, err1 := time.ParseInLocation("2006-01-02T15:04:05", from, time.Local)
			end, err2 := time.ParseInLocation("2006-01-02T15:04:05", to, time.Local)
			if err1 == nil && err2 == nil {
				runs = append(runs, accountedRun{start, end})
			}
		}
		return len(runs) == 2
	})
	return runs
}

func (c *cluster) report(t *testing.T, args ...string) (r shownReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.must(append([]string{"job", "report", "-o", "json"}, args...)...)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

var batchLine = regexp.MustCompile(`(?m)^(\S+ \S+) I .* Batch (\d+) `)

// plausible compares the classes with what the job itself wrote.
func (c *cluster) plausible(t *testing.T, id string, runs []accountedRun, of map[string]float64) {
	t.Helper()
	type step struct {
		at    time.Time
		batch int
	}
	var legs [2][]step
	for _, m := range batchLine.FindAllStringSubmatch(c.read("slurm-"+id+".out"), -1) {
		at, err := time.ParseInLocation("2006-01-02 15:04:05.999", m[1], time.Local)
		if err != nil {
			t.Fatal(err)
		}
		batch, _ := strconv.Atoi(m[2])
		leg := 0
		if at.After(runs[1].start) {
			leg = 1
		}
		legs[leg] = append(legs[leg], step{at, batch})
	}
	if len(legs[0]) < 25 || len(legs[1]) == 0 {
		t.Fatalf("the job wrote %v", legs)
	}
	last, resumed := legs[0][len(legs[0])-1], legs[1][0].batch-1
	kept := legs[0][resumed-1]
	between := func(class string, least, most float64) {
		const clock = 0.002 // a log has milliseconds
		if got := of[class]; got < least-clock || got > most+clock {
			t.Errorf("%s is %g s, and not between %g and %g: %v, %v", class, got, least, most, of, legs)
		}
	}
	// The accounting leaves the last part of a second out, in which there may have been steps.
	between("lost_work", min(last.at.Sub(kept.at), runs[0].end.Sub(kept.at)).Seconds(), max(runs[0].end.Sub(kept.at), last.at.Sub(kept.at)).Seconds())
	between("nodes", 0, legs[0][0].at.Sub(runs[0].start).Seconds())
	between("program", 0.001, legs[0][0].at.Sub(runs[0].start).Seconds())
	between("restart", 0.001, legs[1][0].at.Sub(runs[1].start).Seconds())
	// Of what comes after the accounted end of a run, the report knows nothing.
	within := func(at, end time.Time) time.Time {
		if at.After(end) {
			return end
		}
		return at
	}
	trained := within(kept.at, runs[0].end).Sub(legs[0][0].at) + within(legs[1][len(legs[1])-1].at, runs[1].end).Sub(legs[1][0].at)
	between("training", trained.Seconds()-of["checkpoint"], runs[0].seconds()+runs[1].seconds()-of["program"]-of["restart"]-of["lost_work"])
}

// reported is what sreport says of a job's node-seconds: it is moved some hours back, because sreport knows whole hours only.
func (c *cluster) reported(id string) float64 {
	c.t.Helper()
	c.file("reported.sh", `set -e
cluster=$(sacctmgr --noheader --parsable2 show cluster format=cluster | head -1)
sql() { runuser -u slurm -- mariadb --batch --skip-column-names slurm_acct_db -e "$1"; }
sql "UPDATE ${cluster}_job_table SET time_submit = time_submit - 86400, time_eligible = time_eligible - 86400, time_start = time_start - 86400, time_end = time_end - 86400 WHERE id_job = $1"
sql "UPDATE ${cluster}_event_table SET time_start = time_start - 90000 WHERE node_name = ''"
from=$(date -d '-30 hour' +%FT%H:00:00) to=$(date -d '-20 hour' +%FT%H:00:00)
sacctmgr -i roll "$from" "$to" >/dev/null
sreport --parsable2 --noheader -t Seconds --tres=node cluster AccountUtilizationByUser start="$from" end="$to"
`)
	out := c.head("bash", "reported.sh", id)
	for line := range strings.Lines(out) {
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) == 6 && f[1] == "root" && f[2] == "root" && f[4] == "node" {
			n, _ := strconv.ParseFloat(f[5], 64)
			return n
		}
	}
	c.t.Errorf("sreport says:\n%s", out)
	return 0
}
