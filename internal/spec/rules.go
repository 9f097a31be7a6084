package spec

import (
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// checkCluster reports what the schema's table cannot say.
func checkCluster(root View) {
	checkInstance(root.Key("HeadNode").Key("InstanceType"))
	checkElasticIP(root.At("HeadNode.Networking.ElasticIp"))
	for _, pool := range root.Key("LoginNodes").Key("Pools").Items() {
		checkName(pool.Key("Name"))
		checkInstance(pool.Key("InstanceType"))
	}
	checkQueues(root.Key("Scheduling").Key("SlurmQueues"))
	checkSettings(root.Key("Scheduling").Key("SlurmSettings").Key("CustomSlurmSettings"), slurmConf)
	checkStorage(root)
}

// checkElasticIP looks for nothing where anything goes: a truth, an address or its id.
func checkElasticIP(v View) {
	if v.node != nil && v.node.null() {
		v.Errorf("schema/type", "%s has no value", v.Name()).WithHint("give it one, or remove the key")
	}
}

func checkQueues(queues View) {
	var names unique
	for _, q := range queues.Items() {
		checkName(q.Key("Name"))
		names.check(q.Key("Name"), "queue/duplicate")
		checkSettings(q.Key("CustomSlurmSettings"), slurmQueue)
		var resources unique
		for _, r := range q.Key("ComputeResources").Items() {
			checkName(r.Key("Name"))
			resources.check(r.Key("Name"), "queue/duplicate")
			checkSettings(r.Key("CustomSlurmSettings"), slurmNodes)
			checkCounts(r)
			checkResourceInstances(r)
		}
	}
}

// unique finds values that are there twice.
type unique map[string]View

func (u *unique) check(v View, code string) *diag.Diagnostic {
	return u.checkAs(v.Text(), v, code)
}

// checkAs is check for a value in a form of its own.
func (u *unique) checkAs(value string, v View, code string) *diag.Diagnostic {
	if !v.Present() || value == "" {
		return nil
	}
	if first, twice := (*u)[value]; twice {
		return v.Errorf(code, "the %s %s is here twice", v.field.name, quote(value)).
			WithHint("the first is in line %d; change or remove one of them", first.Line())
	}
	if *u == nil {
		*u = unique{}
	}
	(*u)[value] = v
	return nil
}

// maxName is ParallelCluster's limit for names of queues and the like.
const maxName = 25

var namePattern = pattern.New(`^[a-z][a-z0-9-]*$`)

// checkName holds ParallelCluster's rules for names of queues, compute
// resources and login pools. They become host names and stand in slurm.conf.
func checkName(v View) {
	if !v.Present() || v.node.kind != scalar {
		return
	}
	name := v.Text()
	switch {
	case name == "default":
		v.Errorf("queue/name", "the name %s is reserved", quote(name)).WithHint("choose another name")
	case !namePattern().MatchString(name):
		d := v.Errorf("queue/name", "%s cannot be a name", quote(name)).
			WithHint("begin with a small letter; use small letters, digits and hyphens")
		if plain := plainName(name); plain != "" {
			d.WithHint("write %s; a name has small letters, digits and hyphens, and begins with a letter", plain)
		}
	case len(name) > maxName:
		v.Errorf("queue/name", "the name %s has %d characters", quote(name), len(name)).
			WithHint("ParallelCluster allows %d", maxName)
	}
}

// plainName is the name that is nearest to one that cannot be; empty if none is.
func plainName(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == '_' || r == '.' || r == ' ':
			return '-'
		}
		return r
	}, name)
	if !namePattern().MatchString(plain) || len(plain) > maxName || plain == "default" {
		return ""
	}
	return plain
}

// maxNodes is far above what Slurm is run with; it keeps a slip of the hand
// from becoming a million node lines.
const maxNodes = 65536

func checkCounts(r View) {
	low, high := r.Key("MinCount"), r.Key("MaxCount")
	switch {
	case high.Int() < 1 || low.Int() < 0: // the schema says so
	case high.Int() > maxNodes:
		high.Errorf("queue/count", "MaxCount is %d; a cluster has at most %d nodes", high.Int(), maxNodes)
	case high.Int() >= low.Int():
	case high.Present():
		high.Errorf("queue/count", "MaxCount (%d) is less than MinCount (%d)", high.Int(), low.Int()).
			WithHint("raise MaxCount to %d, or lower MinCount", low.Int())
	default:
		low.Errorf("queue/count", "MinCount (%d) is more than MaxCount, which is %d if it is not given", low.Int(), high.Int()).
			WithHint("add MaxCount: %d", low.Int())
	}
}

func checkResourceInstances(r View) {
	single, many := r.Key("InstanceType"), r.Key("Instances")
	if len(many.Items()) > 0 || many.Present() && !many.Sound() {
		var types unique
		for _, item := range many.Items() {
			checkInstance(item.Key("InstanceType"))
			types.check(item.Key("InstanceType"), "instance/duplicate")
		}
		return
	}
	if single.Present() {
		checkInstance(single)
		return
	}
	name := r.Key("Name").Text()
	if !r.Key("CapacityReservationTarget").Key("CapacityReservationId").Present() {
		r.Errorf("schema/required", "compute resource %s has no InstanceType", quote(name)).
			WithHint("add InstanceType, for example InstanceType: p5e.48xlarge")
		return
	}
	unknownType(r, name)
}

// unknownType reports that only AWS can tell a compute resource's type. Of such a
// file, only AWS can make a cluster.
func unknownType(r View, name string) {
	if r.doc.aws {
		r.doc.partial = true
		r.Blindf("instance/missing", "the instance type of compute resource %s is not looked up: only its capacity reservation has it", quote(name)).
			WithHint("add InstanceType with the type of the reservation")
		return
	}
	r.Errorf("instance/missing", "compute resource %s leaves its instance type to the capacity reservation, which is not looked up here", quote(name)).
		WithHint("add InstanceType with the type of the reservation")
}

// typeForm is how EC2 writes names of instance types.
var typeForm = pattern.New(`^[a-z][a-z0-9-]*[0-9][a-z0-9-]*\.(nano|micro|small|medium|large|[0-9]*xlarge|metal(-[0-9]+xl)?)$`)

// maybeNewer tells whether an instance type that no list has is rather newer than the
// lists than misspelt: it looks like one, and is either like none that is known or like
// one of another generation.
func maybeNewer(name, near string) bool {
	letters := func(family string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, family)
	}
	family, size, _ := strings.Cut(name, ".")
	known, knownSize, _ := strings.Cut(near, ".")
	otherGeneration := family != known && size == knownSize && letters(family) == letters(known)
	otherName := near != "" && near[0] != name[0]
	return typeForm().MatchString(name) && (near == "" || otherName || otherGeneration)
}

// checkInstance refuses types that are misspelt. One that may just be newer than the
// list cannot be judged here; a place that is not AWS needs its CPUs.
func checkInstance(v View) {
	if !v.Present() || v.node.kind != scalar {
		return
	}
	if _, ok := catalog.Lookup(v.Text()); ok {
		return
	}
	near := catalog.Nearest(v.Text())
	if v.doc.aws && maybeNewer(v.Text(), near) {
		v.doc.partial = true
		v.Blindf("instance/unknown", "the instance type %s is not in the list of %s", quote(v.Text()), catalog.AsOf()).
			WithHint("`muster catalog update` asks AWS for newer types")
		return
	}
	d := v.Errorf("instance/unknown", "the instance type %s is not known", quote(v.Text()))
	switch {
	case near != "" && strings.HasPrefix(near, v.Text()[:min(1, len(v.Text()))]):
		d.WithHint("did you mean %s? Types are known as of %s", near, catalog.AsOf())
	case !strings.Contains(v.Text(), "."):
		d.WithHint("write family.size, for example c6i.large")
	default:
		d.WithHint("types are known as of %s; `muster catalog update` asks AWS for newer ones", catalog.AsOf())
	}
}
