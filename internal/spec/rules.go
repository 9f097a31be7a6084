package spec

import (
	"regexp"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/diag"
)

// checkCluster reports what the schema's table cannot say.
func checkCluster(root view) {
	checkScheduler(root.key("Scheduling"))
	checkInstance(root.key("HeadNode").key("InstanceType"))
	for _, pool := range root.key("LoginNodes").key("Pools").items() {
		checkName(pool.key("Name"))
		checkInstance(pool.key("InstanceType"))
	}
	checkQueues(root.key("Scheduling").key("SlurmQueues"))
	checkSettings(root.key("Scheduling").key("SlurmSettings").key("CustomSlurmSettings"), slurmConf)
	checkStorage(root)
}

func checkScheduler(scheduling view) {
	if s := scheduling.key("Scheduler"); s.text() == "awsbatch" {
		s.errorf("scheduler/unsupported", "AWS Batch is not supported").WithHint("use Scheduler: slurm")
	}
}

func checkQueues(queues view) {
	var names unique
	for _, q := range queues.items() {
		checkName(q.key("Name"))
		names.check(q.key("Name"), "queue/duplicate")
		checkSettings(q.key("CustomSlurmSettings"), slurmQueue)
		var resources unique
		for _, r := range q.key("ComputeResources").items() {
			checkName(r.key("Name"))
			resources.check(r.key("Name"), "queue/duplicate")
			checkSettings(r.key("CustomSlurmSettings"), slurmNodes)
			checkCounts(r)
			checkResourceInstances(r)
		}
	}
}

// unique finds values that are there twice.
type unique map[string]view

func (u *unique) check(v view, code string) *diag.Diagnostic {
	return u.checkAs(v.text(), v, code)
}

// checkAs is check for a value in a form of its own.
func (u *unique) checkAs(value string, v view, code string) *diag.Diagnostic {
	if !v.present() || value == "" {
		return nil
	}
	if first, twice := (*u)[value]; twice {
		return v.errorf(code, "the %s %s is here twice", v.field.name, quote(value)).
			WithHint("the first is in line %d; change or remove one of them", first.line())
	}
	if *u == nil {
		*u = unique{}
	}
	(*u)[value] = v
	return nil
}

// maxName is ParallelCluster's limit for names of queues and the like.
const maxName = 25

var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]*$`) })

// checkName holds ParallelCluster's rules for names of queues, compute
// resources and login pools. They become host names and stand in slurm.conf.
func checkName(v view) {
	if !v.present() || v.node.kind != scalar {
		return
	}
	name := v.text()
	switch {
	case name == "default":
		v.errorf("queue/name", "the name %s is reserved", quote(name)).WithHint("choose another name")
	case !namePattern().MatchString(name):
		v.errorf("queue/name", "%s cannot be a name", quote(name)).
			WithHint("begin with a small letter; use small letters, digits and hyphens")
	case len(name) > maxName:
		v.errorf("queue/name", "the name %s has %d characters", quote(name), len(name)).
			WithHint("ParallelCluster allows %d", maxName)
	}
}

// maxNodes is far above what Slurm is run with; it keeps a slip of the hand
// from becoming a million node lines.
const maxNodes = 65536

func checkCounts(r view) {
	low, high := r.key("MinCount"), r.key("MaxCount")
	switch {
	case high.int() < 1 || low.int() < 0: // the schema says so
	case high.int() > maxNodes:
		high.errorf("queue/count", "MaxCount is %d; a cluster has at most %d nodes", high.int(), maxNodes)
	case high.int() >= low.int():
	case high.present():
		high.errorf("queue/count", "MaxCount (%d) is less than MinCount (%d)", high.int(), low.int()).
			WithHint("raise MaxCount to %d, or lower MinCount", low.int())
	default:
		low.errorf("queue/count", "MinCount (%d) is more than MaxCount, which is %d if it is not given", low.int(), high.int()).
			WithHint("add MaxCount: %d", low.int())
	}
}

func checkResourceInstances(r view) {
	single, many := r.key("InstanceType"), r.key("Instances")
	if many.present() {
		var types unique
		for _, item := range many.items() {
			checkInstance(item.key("InstanceType"))
			types.check(item.key("InstanceType"), "instance/duplicate")
		}
		return
	}
	if single.present() {
		checkInstance(single)
		return
	}
	name := r.key("Name").text()
	if !r.key("CapacityReservationTarget").key("CapacityReservationId").present() {
		r.errorf("schema/required", "compute resource %s has no InstanceType", quote(name)).
			WithHint("add InstanceType, for example InstanceType: p5e.48xlarge")
		return
	}
	r.errorf("instance/missing", "compute resource %s leaves its instance type to the capacity reservation, which is not looked up here", quote(name)).
		WithHint("add InstanceType with the type of the reservation")
}

func checkInstance(v view) {
	if !v.present() || v.node.kind != scalar {
		return
	}
	if _, ok := catalog.Lookup(v.text()); ok {
		return
	}
	d := v.errorf("instance/unknown", "the instance type %s is not known", quote(v.text()))
	family, _, dotted := strings.Cut(v.text(), ".")
	switch near := catalog.Nearest(v.text()); {
	case near != "":
		d.WithHint("did you mean %s? Types are known as of %s", near, catalog.Date)
	case !dotted:
		d.WithHint("write family.size, for example %s.large", clip(family))
	default:
		d.WithHint("types are known as of %s", catalog.Date)
	}
}
