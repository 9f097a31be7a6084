package test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/soak"
)

// What a training of this test is: every saveEach batches it saves a checkpoint, and there are as many before the last one.
const (
	killedSteps = 100
	saveEach    = 10
)

const killedJob = `Job: %[1]s
Nodes: 2
Ranks: 1
Launcher: %[2]s
Script: code/train.py
Python: /usr/bin/python3
Arguments: [--data-dir, %[3]s, --checkpoint-dir, %[4]s/checkpoints, --log-dir, %[4]s/own, --output-dir, %[4]s/outputs,
  --model-name, m, --layers, 1, --width, 32, --sequence, 32, --steps, %[5]d, --checkpoint-freq, %[6]d, --seed, 1]
Checkpoints: %[4]s/checkpoints
Environment: {USE_LIBUV: 0}
Time: 60
`

// fromEnvironment is a number that a variable says.
func fromEnvironment[N int | uint64](t *testing.T, name string, otherwise N) N {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), fmt.Sprint(otherwise)), 10, 63)
	if err != nil {
		t.Fatalf("%s is %q", name, os.Getenv(name))
	}
	return N(n)
}

// TestSoak_kills kills a node of each of MUSTER_KILLS trainings, any of its nodes at any moment: each ends with the weights of one
// that nothing happened to, and has lost no more than what it did since its last checkpoint. MUSTER_SEED chooses nodes and
// moments.
func TestSoak_kills(t *testing.T) {
	soak.Only(t, "trains for minutes; TestSpare_and_no_more kills nodes of a job with spares")
	t.Parallel()
	launcher := torchLauncher(t)
	seed := fromEnvironment(t, "MUSTER_SEED", uint64(time.Now().UnixNano()))
	k := &killing{cluster: newCluster(t, fileOf(8)), launcher: launcher, random: rand.New(rand.NewPCG(seed, 0)), want: fromEnvironment(t, "MUSTER_KILLS", 4)}
	t.Logf("MUSTER_SEED=%d", seed)
	if err := os.CopyFS(filepath.Join(k.dir, "code"), os.DirFS("../examples/train")); err != nil {
		t.Fatal(err)
	}
	k.head("/usr/bin/python3", "code/prepare.py", "--data-dir", "data")
	calm := k.train("calm")
	for range k.want {
		k.another()
	}
	k.await("all nodes are killed", time.Duration(k.want+2)*2*time.Minute, k.round)
	weights := calm.ends()
	for _, v := range k.victims {
		k.survived(v, weights)
	}
}

// killing are trainings of which each loses a node.
type killing struct {
	*cluster
	launcher string
	random   *rand.Rand
	want     int
	victims  []*victim
	drawn    int
}

// training is a job of the cluster, in a directory of its own.
type training struct {
	*cluster
	name, id string
}

// victim is a training that loses a node: late after it has done a batch, or after it began if the batch is none.
type victim struct {
	training
	batch int
	late  time.Duration
	which int

	due    time.Time
	killed time.Time
	node   string
	// at is what it was at when the node died.
	at string
}

// train submits a training.
func (k *killing) train(name string) training {
	k.t.Helper()
	k.file(name+".yaml", fmt.Sprintf(killedJob, name, k.launcher, filepath.Join(k.dir, "data"), filepath.Join(k.dir, name), killedSteps, saveEach))
	return training{k.cluster, name, strings.TrimSpace(k.must("job", "submit", name+".yaml"))}
}

// another submits a victim. One in five loses its node before its first batch.
func (k *killing) another() {
	k.t.Helper()
	k.drawn++
	v := &victim{batch: k.random.IntN(killedSteps*5/4) - killedSteps/4, which: k.random.IntN(2), late: time.Duration(k.random.IntN(300)) * time.Millisecond}
	if v.batch < 0 {
		v.batch, v.late = -1, time.Duration(k.random.IntN(5000))*time.Millisecond
	}
	v.training = k.train(fmt.Sprintf("hurt%d", k.drawn))
	k.victims = append(k.victims, v)
}

// round kills the nodes whose moment has come, and reports whether all have died. What ended before its moment makes room
// for another.
func (k *killing) round() bool {
	k.t.Helper()
	for i, v := range k.victims {
		switch {
		case !v.killed.IsZero():
		case strings.Contains(v.own(), "Final weights"):
			k.t.Logf("%s ended before its moment came", v.name)
			k.victims = slices.Delete(k.victims, i, i+1)
			k.another()
			return false
		case v.due.IsZero() && v.reached():
			v.due = time.Now().Add(v.late)
		case !v.due.IsZero() && time.Now().After(v.due):
			v.loses()
		}
	}
	return !slices.ContainsFunc(k.victims, func(v *victim) bool { return v.killed.IsZero() })
}

// reached reports whether the training has got to where it is to be hurt.
func (v *victim) reached() bool {
	if v.batch < 0 {
		return strings.Contains(v.printed(), ", attempt 1, on ")
	}
	return strings.Contains(v.own(), fmt.Sprintf(" Batch %d Loss", v.batch))
}

// loses kills a node of the training.
func (v *victim) loses() {
	v.t.Helper()
	nodes := v.show(v.id).Nodes
	v.node = nodes[v.which%len(nodes)]
	v.must("node", "kill", v.node)
	v.killed, v.at = time.Now(), "start-up"
	if runs := courses(v.own()); len(runs) > 0 {
		v.at = runs[0].last
	}
}

// own is what the training itself writes into its directory, each line at once and with the time.
func (t training) own() string { return t.read(t.name + "/own/m.log") }

// printed is what the job prints.
func (t training) printed() string { return t.read("logs/" + t.name + "-" + t.id + ".out") }

// ends waits until the training is over, and returns its weights.
func (t training) ends() string {
	t.t.Helper()
	t.await(t.name+" is trained", 10*time.Minute, func() bool { return strings.Contains(t.printed(), " with exit code 0") })
	found := weights(t.own())
	if found == "" {
		t.t.Fatalf("%s has no weights:\n%s", t.name, t.printed())
	}
	return found
}

// course is what a run of a training did, as its own log says.
type course struct {
	// from is the batch that it began with, until the last one that it did and one more.
	from, until int
	last        string // line
	// gap is where batches do not follow each other.
	gap string
}

var (
	resumed  = regexp.MustCompile(`Resumed from \S+ at batch (\d+)$`)
	ownBatch = regexp.MustCompile(`^\S+ Batch (\d+) Loss: `)
)

// courses are the runs in a training's own log. Those that died before they said anything are none.
func courses(own string) (runs []course) {
	for line := range strings.Lines(own) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, " Data ") {
			runs = append(runs, course{})
		}
		if len(runs) == 0 {
			continue
		}
		run := &runs[len(runs)-1]
		_, run.last, _ = strings.Cut(line, " ")
		if m := resumed.FindStringSubmatch(line); m != nil {
			run.from, _ = strconv.Atoi(m[1])
			run.until = run.from
		}
		if m := ownBatch.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			if n != run.until {
				run.gap += fmt.Sprintf("batch %d follows %d batches; ", n, run.until)
			}
			run.until = n + 1
		}
	}
	return runs
}

// survived holds that a training ended as if nothing had happened, and says what the kill cost.
func (k *killing) survived(v *victim, want string) {
	k.t.Helper()
	if got := v.ends(); got != want {
		k.t.Errorf("%s has the weights %s, and without a kill they are %s", v.name, got, want)
	}
	runs := courses(v.own())
	done, lost := 0, 0
	for _, run := range runs {
		if over := done - run.from; over < 0 || over > saveEach {
			k.t.Errorf("%s: %d batches were done, and a run began with batch %d", v.name, done, run.from)
		} else {
			lost += over
		}
		if run.gap != "" {
			k.t.Errorf("%s: %s", v.name, run.gap)
		}
		done = max(done, run.until)
	}
	if done != killedSteps || lost > saveEach {
		k.t.Errorf("%s did %d batches of %d, and %d of them again, with a checkpoint every %d", v.name, done, killedSteps, lost, saveEach)
	}
	var j shownKept
	k.await(v.name+" is judged", 2*time.Minute, func() bool {
		j = (&kept{cluster: k.cluster, id: v.id}).look()
		return j.State != "COMPLETING" && j.Kept != nil && j.Kept.Phase == "ended"
	})
	if strings.HasPrefix(v.at, "Final weights") && j.State == "COMPLETED" && j.Kept.Restarts == 0 {
		return // all was done when the node died
	}
	first := j.Kept.Rounds[0]
	if j.State != "COMPLETED" || j.Kept.Restarts != 1 || first.Class != "node-lost" || first.AtFault != v.node {
		k.t.Errorf("%s lost %s: %s, %+v", v.name, v.node, j.State, j.Kept)
	}
	k.t.Logf("%s lost node %d of 2 at %q: %d batches done again", v.name, v.which+1, strings.ReplaceAll(v.at, k.dir, ""), lost)
}
