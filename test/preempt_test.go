package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/soak"
)

// models is how many are trained beside each other: MUSTER_MODELS, by default as many as two cores start within a minute.
func models(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("MUSTER_MODELS"), "3"))
	if err != nil || n < 2 {
		t.Fatalf("MUSTER_MODELS is %q", os.Getenv("MUSTER_MODELS"))
	}
	return n
}

// heldModels are held to an account and to QoS, and those of one give way.
const heldModels = `Accounts:
  - {Name: research, Users: [root], GrpTRES: "node=8"}
QOS:
  - {Name: train, Priority: 10, GraceTime: 300}
  - {Name: urgent, Priority: 1000, Preempt: [train]}
`

// listedJob is what these tests look at in job list -o json.
type listedJob struct {
	ID       int       `json:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Account  string    `json:"account"`
	QOS      string    `json:"qos"`
	Attempts int       `json:"attempts"`
	Why      string    `json:"why"`
	Submit   time.Time `json:"submit"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
}

func (c *cluster) jobs() map[string]listedJob {
	c.t.Helper()
	var answer struct{ Jobs []listedJob }
	if err := json.Unmarshal([]byte(c.must("job", "list", "-o", "json")), &answer); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]listedJob{}
	for _, j := range answer.Jobs {
		all[j.Name] = j
	}
	return all
}

// TestPreempt: models fill the nodes, and one more job comes that is urgent. One of them saves what it has done within its grace, gives
// its node away, is queued again, and goes on where it was; the others are left alone.
func TestPreempt(t *testing.T) {
	t.Parallel()
	need(t)
	const n = 3
	c := unmade(t, fileOf(n))
	c.file("muster.yaml", heldModels)
	up := c.run("up", "--no-test", "cluster.yaml")
	if up.code != 0 || !strings.Contains(up.stderr+up.stdout, "set accounts: add QOS train: GraceTime=300, Priority=10") {
		t.Fatalf("%d\n%s%s", up.code, up.stdout, up.stderr)
	}
	if up = c.run("up", "--no-test", "cluster.yaml"); !strings.Contains(up.stderr+up.stdout, "set accounts: 1 account and 2 QOS as the file says") {
		t.Errorf("a second up changes something: %d\n%s%s", up.code, up.stdout, up.stderr)
	}
	c.refusesStrangers()
	othersAccounts(c, heldModels)
	c.file("count.sh", countingModel)
	for i := range n {
		c.startModel(fmt.Sprintf("model%d", i+1), "ALL", "count.sh")
	}
	c.allTrain(n)
	c.runsUrgentJob()
	gave, _ := c.gaveWay(n)
	c.file("go", "")
	c.modelsEnd(n)
	for i := range n {
		name := fmt.Sprintf("model%d", i+1)
		var steps []string
		for _, m := range regexp.MustCompile(`(?m)^Batch (\d+) Loss`).FindAllStringSubmatch(c.read(name+".out"), -1) {
			steps = append(steps, m[1])
		}
		for k, step := range steps {
			if step != strconv.Itoa(k+1) {
				t.Fatalf("%s does not go on where it was: steps %v", name, steps)
			}
		}
		c.heldAsSaid(name, name == gave)
	}
}

// countingModel saves its step when it has to give way, as examples/train/train.sbatch does, and ends when it may.
const countingModel = `#!/bin/bash
#SBATCH --requeue --signal=B:USR1@60 --open-mode=append
set -euo pipefail
step=0 stop=
echo "Run $((${SLURM_RESTART_COUNT:-0} + 1))"
if [[ -e $SLURM_JOB_NAME.step ]]; then step=$(<"$SLURM_JOB_NAME.step"); fi
give_way() { if scontrol --oneliner show job "$SLURM_JOB_ID" | grep -q ' PreemptTime=[0-9]'; then stop=1; fi; }
trap give_way USR1
until [[ -e go ]]; do
    step=$((step + 1))
    echo "Batch $step Loss: 1.0"
    if [[ -n $stop ]]; then
        echo "$step" >"$SLURM_JOB_NAME.step"
        echo "Stopped before batch $((step + 1))"
        if [[ $(scontrol --version) == *" "2[0-3].* ]]; then
            scontrol requeue "$SLURM_JOB_ID"
            sleep 300
        fi
        exit 0
    fi
    sleep 1
done
`

// TestSoak_preempted_training is TestPreempt with models that are trained: the one that gives way ends with the bits of the others,
// which are the same model.
func TestSoak_preempted_training(t *testing.T) {
	soak.Only(t, "trains models with PyTorch; TestPreempt lets programs that only count give way")
	t.Parallel()
	torchLauncher(t)
	n := models(t)
	c := unmade(t, fileOf(n))
	c.file("muster.yaml", heldModels)
	c.must("up", "--no-test", "cluster.yaml")
	train := filepath.Join(c.dir, "code") // where nodes see it, wherever the repository is
	if err := os.CopyFS(train, os.DirFS("../examples/train")); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := fmt.Sprintf("model%d", i+1)
		dir := func(what string) string { return strings.ToUpper(what) + "_DIR=" + filepath.Join(c.dir, name, what) }
		env := []string{"ALL", "MODEL=" + name, "STEPS=200", "CHECKPOINT_FREQ=1000", "TRAIN_DIR=" + train, dir("data"), dir("checkpoint"), dir("output"), dir("log")}
		c.startModel(name, strings.Join(env, ","), filepath.Join(train, "train.sbatch"))
	}
	c.allTrain(n)
	c.runsUrgentJob()
	gave, other := c.gaveWay(n)
	c.modelsEnd(n)
	c.sameWeights(gave, other)
}

// runsUrgentJob waits until a job that has no free node has run.
func (c *cluster) runsUrgentJob() {
	c.t.Helper()
	submitted := time.Now()
	c.file("urgent.sh", "#!/bin/bash\n#SBATCH --job-name=urgent --account=research --qos=urgent --nodes=1 --exclusive --output=urgent.out\nhostname\n")
	c.head("sbatch", "urgent.sh")
	c.await("the urgent job has run", 5*time.Minute, func() bool { return c.jobs()["urgent"].State == "COMPLETED" })
	c.t.Logf("the urgent job started %s after it was submitted", c.jobs()["urgent"].Start.Sub(submitted).Round(time.Second))
}

// modelsEnd waits until the models have ended well.
func (c *cluster) modelsEnd(n int) {
	c.t.Helper()
	for i := range n {
		name := fmt.Sprintf("model%d", i+1)
		c.await(name+" is trained", 15*time.Minute, func() bool {
			switch j := c.jobs()[name]; j.State {
			case "FAILED", "TIMEOUT", "PREEMPTED", "CANCELLED":
				c.t.Fatalf("%s ended as %s\n%s", name, j.State, c.read(name+".out"))
			case "COMPLETED":
				return true
			}
			return false
		})
	}
}

// gaveWay are the model that gave way, of which there is one, and another.
func (c *cluster) gaveWay(n int) (gave, other string) {
	c.t.Helper()
	for i := range n {
		name := fmt.Sprintf("model%d", i+1)
		switch stopped := strings.Contains(c.read(name+".out"), "\nStopped before batch "); {
		case stopped && gave != "":
			c.t.Errorf("%s and %s gave way for one job on one node", gave, name)
		case stopped:
			gave = name
		default:
			other = name
		}
	}
	if gave == "" {
		c.t.Fatal("no model saved a checkpoint before it gave its node away")
	}
	return gave, other
}

// refusesStrangers: who has no account gets no job, and is told why.
func (c *cluster) refusesStrangers() {
	c.t.Helper()
	r := c.run("exec", "--", "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "sbatch", "--chdir=/", "--output=/dev/null", "--wrap=true")
	if r.code == 0 || !strings.Contains(r.stderr, "Invalid account") {
		c.t.Errorf("a stranger's job: %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// startModel submits a model that takes a node whole.
func (c *cluster) startModel(name, env, script string) {
	c.t.Helper()
	c.head("sbatch", "--job-name="+name, "--account=research", "--qos=train", "--partition=gpu", "--nodes=1", "--exclusive", "--cpus-per-task=4",
		"--output="+name+".out", "--error="+name+".out", "--export="+env, script)
}

// allTrain waits until all models train.
func (c *cluster) allTrain(n int) {
	c.t.Helper()
	name := func(i int) string { return fmt.Sprintf("model%d", i+1) }
	outputs := map[string]string{}
	defer func() {
		if c.t.Failed() {
			c.t.Logf("the models said %q", outputs)
		}
	}()
	c.await("all models train", 10*time.Minute, func() bool {
		for i := range n {
			out := c.read(name(i) + ".out")
			outputs[name(i)] = out[max(0, len(out)-500):]
			if strings.Contains(out, "\nBatch 1 Loss") && !strings.Contains(out, "exit code") {
				continue
			}
			if strings.Contains(out, "exit code") || strings.Contains(out, "Traceback") {
				c.t.Fatalf("%s has ended", name(i))
			}
			return false
		}
		return true
	})
}

var trainedWeights = regexp.MustCompile(`(?m)^Final weights sha256: ([0-9a-f]{64})$`)

// sameWeights: the model that gave way went on where it was, and has the bits of one that did not.
func (c *cluster) sameWeights(gave, other string) {
	c.t.Helper()
	bits := map[string]string{}
	for _, name := range []string{gave, other} {
		out := c.read(name + ".out")
		m := trainedWeights.FindStringSubmatch(out)
		if m == nil {
			c.t.Fatalf("%s has no weights\n%s", name, out)
		}
		bits[name] = m[1]
		if resumed := strings.Contains(out, "\nResumed from "); resumed != (name == gave) {
			c.t.Errorf("%s resumed: %v\n%s", name, resumed, out)
		}
	}
	if bits[gave] != bits[other] {
		c.t.Errorf("the weights are %s after the interruption, and %s without one", bits[gave], bits[other])
	}
	c.heldAsSaid(gave, true)
}

// heldAsSaid: a model has its account and QOS, and a second run only if it gave way.
func (c *cluster) heldAsSaid(name string, gave bool) {
	c.t.Helper()
	attempts := 1
	if gave {
		attempts = 2
	}
	if j := c.jobs()[name]; j.Account != "research" || j.QOS != "train" || j.Attempts != attempts {
		c.t.Errorf("%s: %+v, want %d runs", name, j, attempts)
	}
}
