package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/soak"
)

// A run of chaos lasts MUSTER_CHAOS, a minute if that is empty. MUSTER_CHAOS_SEED repeats the victims of another run.
const (
	chaosFor  = "MUSTER_CHAOS"
	chaosSeed = "MUSTER_CHAOS_SEED"
)

// chaosVictims are all daemons of a cluster but slurmctld, and a node. Those of Slurm's and MariaDB's are called as
// their programs are.
var chaosVictims = []string{"controller", "mariadbd", "munged", "node", "registry", "s3", "slurmd", "slurmdbd", "slurmrestd"}

// TestSoak_chaos kills at random whatever a cluster is made of while jobs write checkpoints that go to a bucket. Every job
// completes, none runs twice at a time, accounting says what the jobs say, and the bucket can be started from at any
// moment.
func TestSoak_chaos(t *testing.T) {
	soak.Only(t, "a minute of kills at random; TestFaults kills each daemon once")
	t.Parallel()
	x := newChaos(t)
	x.rage(chaosVictims)
	x.answers()
	x.end(func() {})
	for task := 1; task <= x.tasks; task++ {
		x.ranOnceAtATime(task)
	}
	x.accounted()
}

// TestSoak_chaos_of_slurmctld kills slurmctld, too. It saves its state up to five seconds late, so it may run a job again that
// has ended, or beside itself, take it for running though it has ended, and hold one whose node knows it already. The
// rest holds.
func TestSoak_chaos_of_slurmctld(t *testing.T) {
	soak.Only(t, "a minute of kills at random; TestFaults kills slurmctld once")
	t.Parallel()
	x := newChaos(t)
	x.rage(append([]string{"slurmctld"}, chaosVictims...))
	x.answers()
	x.end(x.remind)
}

// remind tells slurmctld what it has forgotten: jobs that it takes for running have ended, and none is to be held.
func (x *chaos) remind() {
	x.t.Helper()
	for line := range strings.Lines(x.run("exec", "--", "squeue", "--noheader", "--array", "--format=%i %T %r").stdout) {
		id, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		task, _ := strconv.Atoi(id[strings.Index(id, "_")+1:])
		switch {
		case state == "RUNNING None" && strings.HasPrefix(x.lastOf(task), "end"):
			x.run("exec", "--", "scancel", id) // it may be gone by now
		case strings.HasSuffix(state, "held"):
			x.run("exec", "--", "scontrol", "release", id)
		}
	}
}

// chaos is a cluster with jobs and somebody who looks at their bucket.
type chaos struct {
	*cluster
	lasts time.Duration
	tasks int
	job   string
	look  *looker
	count map[string]int // how often each victim was killed
}

// chaosSteps is how many checkpoints a job writes.
const chaosSteps = 6

// chaosScript writes in its ledger when it begins and ends, and each time that it is not alone. It goes on from its
// newest checkpoint.
const chaosScript = `#!/bin/bash
#SBATCH --job-name=chaos --requeue --exclusive --output=/dev/null
run=/fsx2/$SLURM_ARRAY_TASK_ID ledger=ledger/$SLURM_ARRAY_TASK_ID
say() { echo "$1 ${SLURM_RESTART_COUNT:-0}" >>"$ledger"; }
exec 9>>"$ledger.lock"
flock --nonblock 9 || { say beside; flock 9; }
say begin
mkdir -p "$run"
step=$(cat "$run/latest" 2>/dev/null)
step=${step#checkpoint-}
for ((step = ${step:-0} + 1; step <= STEPS; step++)); do
  mkdir -p "$run/checkpoint-$step"
  cd "$run/checkpoint-$step" || exit
  for part in a b c; do head -c 40000 /dev/urandom >"$part"; done
  sha256sum a b c >sums
  echo "checkpoint-$step" >../.tmp-latest
  mv ../.tmp-latest ../latest
  cd "$OLDPWD" || exit
  sleep 1 9>&-
done
say end
`

func newChaos(t *testing.T) *chaos {
	t.Helper()
	lasts := time.Minute
	if text := os.Getenv(chaosFor); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", chaosFor, err)
		}
	}
	x := &chaos{cluster: newCluster(t, fileOf(6)+dataFile), lasts: lasts, tasks: int(lasts/time.Second)/2 + 1}
	if err := os.Mkdir(filepath.Join(x.dir, "ledger"), 0o755); err != nil {
		t.Fatal(err)
	}
	x.file("chaos.sbatch", strings.ReplaceAll(chaosScript, "STEPS", strconv.Itoa(chaosSteps)))
	x.job = strings.TrimSpace(x.head("sbatch", "--parsable", fmt.Sprintf("--array=1-%d", x.tasks), "chaos.sbatch"))
	(&held{c: x.cluster, name: "chaos", id: x.job}).saved()
	x.look = x.cluster.lookAt("whole-results", x.tasks)
	return x
}

// rage kills victims until the time is over.
func (x *chaos) rage(victims []string) {
	x.t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(chaosSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			x.t.Fatalf("%s: %v", chaosSeed, err)
		}
	}
	x.t.Logf("%s=%d %s=%s", chaosSeed, seed, chaosFor, x.lasts)
	random := rand.New(rand.NewPCG(seed, 0))
	x.count = map[string]int{}
	for end := time.Now().Add(x.lasts); time.Now().Before(end); {
		victim := victims[random.IntN(len(victims))]
		if pids := x.pids(victim); len(pids) > 0 {
			if syscall.Kill(pids[random.IntN(len(pids))], syscall.SIGKILL) == nil { // it may have ended by itself
				x.count[victim]++
			}
		}
		<-time.After(400*time.Millisecond + time.Duration(random.IntN(1200))*time.Millisecond)
	}
	x.t.Logf("killed: %v", x.count)
}

// pids are the processes that may be meant by a victim's name; it may have none now.
func (x *chaos) pids(victim string) (pids []int) {
	x.t.Helper()
	if victim != "node" && victim != "slurmd" {
		if pid := x.service(victim); pid != 0 {
			pids = append(pids, pid)
		}
		return pids
	}
	for _, p := range x.processes() {
		if victim == "slurmd" && isSlurmd(p) || victim == "node" && slices.Contains(p.args, "muster-node") {
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// answers waits until everything that was killed is there again.
func (x *chaos) answers() {
	x.t.Helper()
	x.await("the cluster answers", time.Minute, func() bool {
		for _, s := range []string{"controller", "mariadb", "munged", "registry", "s3", "slurmctld", "slurmdbd", "slurmrestd"} {
			if !x.ready(s) {
				return false
			}
		}
		return x.run("exec", "--", "squeue").code == 0 && x.run("exec", "--", "sacct").code == 0
	})
}

// end waits until all jobs have ended and their newest checkpoints are in the bucket.
func (x *chaos) end(help func()) {
	x.t.Helper()
	defer func() {
		if x.t.Failed() {
			x.t.Logf("%s\n%s", x.run("exec", "--", "squeue", "--array").stdout, x.run("exec", "--", "sinfo", "--Node", "--long").stdout)
		}
	}()
	x.await("all jobs end", 5*time.Minute, func() bool {
		help()
		r := x.run("exec", "--", "squeue", "--noheader")
		return r.code == 0 && r.stdout == ""
	})
	for task := 1; task <= x.tasks; task++ {
		if l := x.ledger(task); !strings.Contains(l, "end ") {
			x.t.Errorf("task %d was lost: %q", task, l)
		}
	}
	x.await("the bucket has the last checkpoints", time.Minute, func() bool {
		return x.look.all(fmt.Sprintf("checkpoint-%d", chaosSteps))
	})
	x.t.Logf("%d looks at pointers in the bucket", x.look.stop())
}

func (x *chaos) ledger(task int) string { return x.read(filepath.Join("ledger", strconv.Itoa(task))) }

// lastOf is the last line of a task's ledger.
func (x *chaos) lastOf(task int) string {
	l := strings.TrimSpace(x.ledger(task))
	return l[strings.LastIndex(l, "\n")+1:]
}

// ranOnceAtATime: no run of a task began beside another, and the last came to its end. One may have come to its end
// before, if its node died before it could say so: what Slurm has heard of, accounted sees.
func (x *chaos) ranOnceAtATime(task int) {
	x.t.Helper()
	l := x.ledger(task)
	if strings.Contains(l, "beside") || !strings.HasPrefix(x.lastOf(task), "end ") {
		x.t.Errorf("task %d did not run once at a time and to its end: %q", task, l)
	}
}

// accounted: each task's last run completed, those before it are as many as the task was restarted, and none of them
// had completed. What slurmdbd has of a run may be lost with a MariaDB that dies before it commits that, for slurmdbd does
// not look whether it could (proc_req and acct_storage_p_commit of Slurm 22.05.8): then a row is missing, or its end is.
func (x *chaos) accounted() {
	x.t.Helper()
	var lost, wrong []string
	defer func() {
		if len(lost)+len(wrong) > 0 {
			x.t.Logf("lost: %q\nwrong: %q", lost, wrong)
		}
	}()
	since := time.Now()
	x.await("sacct says what the jobs say", time.Minute, func() bool {
		rows := map[string][]string{}
		for line := range strings.Lines(x.head("sacct", "--duplicates", "--allocations", "--noheader", "--parsable2", "--format=JobID,State", "--jobs="+x.job)) {
			id, state, _ := strings.Cut(strings.TrimSpace(line), "|")
			rows[id] = append(rows[id], state)
		}
		lost, wrong = nil, nil
		for task := 1; task <= x.tasks; task++ {
			lines := strings.Fields(x.ledger(task))
			states := rows[fmt.Sprintf("%s_%d", x.job, task)]
			restarts := -1
			if len(lines) > 0 {
				restarts, _ = strconv.Atoi(lines[len(lines)-1])
			}
			text := fmt.Sprintf("task %d: %q, sacct %q", task, lines, states)
			switch {
			case ends(states, restarts):
			case endsBut(states, restarts):
				lost = append(lost, text)
			default:
				wrong = append(wrong, text)
			}
		}
		return len(wrong) == 0 && (len(lost) == 0 || time.Since(since) > 20*time.Second && x.uncommitted() >= len(lost)) || x.t.Failed()
	})
}

// ends tells whether states are those of a task that completed after so many restarts.
func ends(states []string, restarts int) bool {
	last := len(states) - 1
	return last >= 0 && last == restarts && slices.Index(states, "COMPLETED") == last
}

// endsBut tells whether they are, but that one is missing, or has no end.
func endsBut(states []string, restarts int) bool {
	ended := slices.DeleteFunc(slices.Clone(states), func(s string) bool { return s == "RUNNING" })
	done := slices.Index(ended, "COMPLETED")
	return len(states)-restarts <= 1 && len(ended) == restarts && (done < 0 || done == restarts-1)
}

// uncommitted is how many runs may have been lost: one with each MariaDB, if slurmdbd says that it met none when it wrote.
func (x *chaos) uncommitted() int {
	x.t.Helper()
	l, err := os.ReadFile(x.path("log", "slurmdbd.log"))
	if err != nil {
		x.t.Fatal(err)
	}
	if said := string(l); !strings.Contains(said, "commit failed") && !strings.Contains(said, "unable to re-connect to as_mysql database") {
		return 0
	}
	return x.count["mariadbd"]
}
