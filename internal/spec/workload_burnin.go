package spec

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
)

// BurnIn is what a new node proves before its first job: suites of `muster verify` run on that
// machine alone, under load.
type BurnIn struct {
	// Queues are those whose new nodes have it; none is all queues.
	Queues []string `key:"Queues"`
	// Suites are what runs, each once.
	Suites []string `key:"Suites"`
	// Minutes are the most that all of it may take on a node.
	Minutes int `key:"Minutes"`
	// DiagnosisLevel is that of DCGM's diagnosis, from 1 to 4.
	DiagnosisLevel int `key:"DiagnosisLevel"`
}

// Suites of `muster verify` by whether a machine alone can run them, and those that it runs where
// the file does not say it.
var (
	aloneSuites = []string{"host", "gpu", "efa", "nccl", "collectives", "storage"}
	slurmSuites = []string{"basic", "container", "network", "slurm"}
	usualSuites = []string{"gpu", "efa", "nccl", "storage"}
)

func (b *BurnIn) build(v View) {
	v.fill(b)
	if len(b.Suites) == 0 {
		b.Suites = slices.Clone(usualSuites)
	}
}

// BurnInOf is what new nodes of a queue prove, nil for nothing. The workload may be nil.
func (w *Workload) BurnInOf(queue string) *BurnIn {
	if w == nil || w.BurnIn == nil || len(w.BurnIn.Queues) > 0 && !slices.Contains(w.BurnIn.Queues, queue) {
		return nil
	}
	return w.BurnIn
}

// Limit is the most that it takes on a node: 0 for nil, so that it can be added to a boot's own time.
func (b *BurnIn) Limit() time.Duration {
	if b == nil {
		return 0
	}
	return time.Duration(b.Minutes) * time.Minute
}

// BurnInLimit is the most that it takes on any node, 0 where there is none. The workload may be nil.
func (w *Workload) BurnInLimit() time.Duration {
	if w == nil {
		return 0
	}
	return w.BurnIn.Limit()
}

// BurnInEnds is what a burn-in may take to clean up when its time is over.
const BurnInEnds = time.Minute

// BurnInWords say of nodes that are waited for that new ones may prove themselves first; empty if they do not.
func BurnInWords(limit time.Duration) string {
	if limit <= 0 {
		return ""
	}
	return fmt.Sprintf("; new ones prove themselves first, for up to %.0f min (BurnIn of muster.yaml)", limit.Minutes())
}

// BurnInLimits are the most that it takes on a node, by the queues that have it.
func (w *Workload) BurnInLimits(c *Cluster) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, q := range c.Scheduling.Queues {
		if b := w.BurnInOf(q.Name); b != nil {
			all[q.Name] = b.Limit()
		}
	}
	return all
}

// diagnosis is how long DCGM's diagnosis of a level takes.
type diagnosis struct {
	minutes int
	words   string
}

// diagnoses are NVIDIA's own words, by the level.
// https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html
var diagnoses = [...]diagnosis{1: {0, "seconds"}, 2: {2, "up to 2 minutes"}, 3: {30, "up to 30 minutes"}, 4: {120, "one to two hours"}}

// levelWithin is the highest level whose diagnosis fits into some minutes.
func levelWithin(minutes int) int {
	level := 1
	for l, d := range diagnoses {
		if l > 1 && d.minutes <= minutes {
			level = l
		}
	}
	return level
}

// checkBurnIn checks it against the cluster, which may be nil.
func checkBurnIn(v View, w *Workload, c *Cluster) {
	if !v.Present() {
		return
	}
	var queues, suites unique
	for _, q := range v.Key("Queues").Items() {
		checkQueue(q, c)
		queues.check(q, "workload/duplicate")
	}
	for _, s := range v.Key("Suites").Items() {
		checkSuite(s)
		suites.check(s, "workload/duplicate")
	}
	if c != nil && w.BurnIn != nil {
		checkDiagnosis(v, w, c)
		checkStarts(v, w, c)
		checkNothing(v, w, c)
	}
}

// checkNothing reports queues on whose nodes none of the suites has anything to look at: those that are named, or where it is all of them.
func checkNothing(v View, w *Workload, c *Cluster) {
	if slices.ContainsFunc(w.BurnIn.Suites, func(s string) bool { return !slices.Contains(usualSuites, s) }) {
		return // the others are for all machines
	}
	var names []string
	some := false
	for _, q := range c.Scheduling.Queues {
		if w.BurnInOf(q.Name) == nil {
			continue
		}
		if slices.ContainsFunc(w.BurnIn.Suites, q.has) {
			some = true
			continue
		}
		names = append(names, q.Name)
	}
	at, named := v, v.Key("Queues").Present()
	if len(names) == 0 || some && !named {
		return
	}
	if named {
		at = v.Key("Queues")
	}
	at.Warnf("workload/burn-in-nothing", "on nodes of %s there is nothing to look at for %s", enumerate(names), enumerate(w.BurnIn.Suites)).
		WithHint("name in Queues those whose nodes have GPUs, EFA or disks of their own; host and collectives are suites for all machines")
}

// has tells whether nodes of the queue have what one of the usual suites looks at.
func (q Queue) has(suite string) bool {
	return slices.ContainsFunc(q.ComputeResources, func(r ComputeResource) bool {
		return slices.ContainsFunc(r.InstanceTypes, func(name string) bool {
			t, known := catalog.Lookup(name)
			switch suite {
			case "gpu", "nccl":
				return !known || t.GPU.Name != ""
			case "efa":
				return r.EFA
			}
			return !known || t.HasDisks()
		})
	})
}

func checkSuite(v View) {
	switch name := v.Text(); {
	case !v.Given() || slices.Contains(aloneSuites, name):
	case slices.Contains(slurmSuites, name):
		v.Errorf("workload/suite", "the suite %s needs Slurm's nodes, and a new machine is alone", quote(name)).
			WithHint("leave it out; `muster verify %s` runs it on the cluster", name)
	default:
		v.Errorf("workload/suite", "there is no suite %s", quote(name)).WithHint("%s", hintOf(name, aloneSuites, "a machine alone runs"))
	}
}

// checkDiagnosis reports a diagnosis of NVIDIA's GPUs that cannot end in time.
func checkDiagnosis(v View, w *Workload, c *Cluster) {
	minutes, level := v.Key("Minutes"), v.Key("DiagnosisLevel")
	b := w.BurnIn
	if !minutes.Sound() || !level.Sound() || b.DiagnosisLevel < 1 || b.DiagnosisLevel >= len(diagnoses) || !slices.Contains(b.Suites, "gpu") {
		return
	}
	d := diagnoses[b.DiagnosisLevel]
	if b.Minutes >= d.minutes || !slices.ContainsFunc(c.Scheduling.Queues, func(q Queue) bool { return w.BurnInOf(q.Name) != nil && q.nvidia() }) {
		return
	}
	at := minutes
	if !at.Present() {
		at = level
	}
	at.Warnf("workload/burn-in-time", "DCGM's diagnosis of level %d takes %s, and Minutes is %d: what runs out of time is blind",
		b.DiagnosisLevel, d.words, b.Minutes).
		WithHint("write Minutes: %d or more, as the other suites take their part, or DiagnosisLevel: %d", d.minutes, levelWithin(b.Minutes))
}

// checkStarts says what it means for nodes that come and go.
func checkStarts(v View, w *Workload, c *Cluster) {
	var names []string
	for _, q := range c.Scheduling.Queues {
		if w.BurnInOf(q.Name) != nil && slices.ContainsFunc(q.ComputeResources, func(r ComputeResource) bool { return r.MinCount < r.MaxCount }) {
			names = append(names, q.Name)
		}
	}
	if len(names) == 0 || !v.Key("Minutes").Sound() {
		return
	}
	at := v
	if queues := v.Key("Queues"); queues.Present() {
		at = queues
	}
	at.Infof("workload/burn-in-start", "nodes of %s start on demand: each start takes, and costs, up to %s more before its job begins",
		enumerate(names), count.Of(w.BurnIn.Minutes, "minute")).
		WithHint("nodes of MinCount stay: make it MaxCount, or name other queues in Queues")
}

// nvidia tells whether nodes of the queue have GPUs of NVIDIA's, which are what the catalogue calls
// GPUs: others are accelerators there.
func (q Queue) nvidia() bool {
	return slices.ContainsFunc(q.ComputeResources, func(r ComputeResource) bool {
		return slices.ContainsFunc(r.InstanceTypes, func(name string) bool {
			t, _ := catalog.Lookup(name)
			return t.GPU.Name != ""
		})
	})
}
