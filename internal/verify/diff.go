package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Difference is what two reports differ in, the earlier one A and the later one B. What differs in the same way on
// several nodes is one entry.
type Difference struct {
	// Schema is 1.
	Schema int  `json:"schema"`
	A      Head `json:"a"`
	B      Head `json:"b"`
	// Identity are versions, files and kinds of nodes that differ; NodesGone and NodesNew the nodes that one of them has.
	Identity  []IdentityChange `json:"identity"`
	NodesGone []string         `json:"nodes_gone"`
	NodesNew  []string         `json:"nodes_new"`
	// Worse and Better are results that changed in that way, Other those of which neither can be said: what did not apply
	// before or does not now.
	Worse  []Change `json:"worse"`
	Better []Change `json:"better"`
	Other  []Change `json:"other"`
	// New and Gone are results that one of the reports has.
	New  []Change `json:"new"`
	Gone []Change `json:"gone"`
	// Same is how many results are alike.
	Same int `json:"same"`
}

// Head is which report it is.
type Head struct {
	Began   time.Time `json:"began"`
	Verdict Verdict   `json:"verdict"`
	Nodes   int       `json:"nodes"`
	Error   string    `json:"error,omitempty"`
}

// IdentityChange is a fact of the identity that differs; empty is not known.
type IdentityChange struct {
	What string `json:"what"`
	A    string `json:"a,omitempty"`
	B    string `json:"b,omitempty"`
}

// Change is how results of a check differ.
type Change struct {
	Suite string `json:"suite"`
	Check string `json:"check"`
	// On are where: nodes, pairs, mounts; empty for the cluster.
	On []string `json:"on"`
	// From and To are the verdicts, one of them empty where one report has no such result.
	From Verdict `json:"from,omitempty"`
	To   Verdict `json:"to,omitempty"`
	// A and B are medians of what was measured, nil where nothing was. Part is by how much it changed for the worst of On (for
	// the best, where it got better), as a part of A: -0.1 is a tenth less. Margin is what chance may explain.
	A      *float64 `json:"a,omitempty"`
	B      *float64 `json:"b,omitempty"`
	Unit   string   `json:"unit,omitempty"`
	Part   float64  `json:"part,omitempty"`
	Margin float64  `json:"margin,omitempty"`
	// FoundA and FoundB are what was seen on the first of On, and Why is why B is no pass there.
	FoundA string `json:"found_a,omitempty"`
	FoundB string `json:"found_b,omitempty"`
	Why    string `json:"why,omitempty"`
}

// Diff compares two reports.
func Diff(a, b Report) Difference {
	d := Difference{
		Schema: 1, A: headOf(a), B: headOf(b), Identity: identityChanges(a, b),
		NodesGone: without(a.Nodes, b.Nodes), NodesNew: without(b.Nodes, a.Nodes),
	}
	was, is := placed(a), placed(b)
	found := compared{margins: marginsOf(was, is)}
	for _, k := range keysOf(was, is) {
		x, before := was[k]
		y, now := is[k]
		switch {
		case !before:
			found.gone(&found.isNew, k, Result{}, y)
		case !now:
			found.gone(&found.isGone, k, x, Result{})
		default:
			found.both(k, x, y)
		}
	}
	found.unseen(a, b)
	d.Worse, d.Better, d.Other = gather(found.worse), gather(found.better), gather(found.other)
	d.New, d.Gone, d.Same = gather(found.isNew), gather(found.isGone), found.same
	return d
}

func headOf(r Report) Head {
	return Head{Began: r.Began, Verdict: r.Verdict, Nodes: len(r.Nodes), Error: r.Error}
}

// without are the names of a that b has not, in order, never nil.
func without(a, b []string) []string {
	have := map[string]bool{}
	for _, n := range b {
		have[n] = true
	}
	rest := slices.DeleteFunc(slices.Clone(a), func(n string) bool { return have[n] })
	slices.Sort(rest)
	return append([]string{}, slices.Compact(rest)...)
}

// identityChanges are the facts of who was verified that differ.
func identityChanges(a, b Report) []IdentityChange {
	x, y := facts(a), facts(b)
	all := maps.Clone(x)
	maps.Copy(all, y)
	changes := []IdentityChange{}
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if x[what] != y[what] {
			changes = append(changes, IdentityChange{What: what, A: x[what], B: y[what]})
		}
	}
	return changes
}

func facts(r Report) map[string]string {
	types := slices.Clone(r.Identity.InstanceTypes)
	slices.Sort(types)
	f := map[string]string{
		"cluster": r.Identity.Cluster, "place": r.Identity.Place, "file": r.Identity.FileSHA256, "muster": r.Identity.Muster,
		"Slurm": r.Identity.Slurm, "instance types": strings.Join(types, ", "), "partition": r.Partition,
	}
	for name, version := range r.Identity.Versions {
		f["version of "+name] = version
	}
	return f
}

// key is which result it is: the nth of its check at its place.
type key struct {
	suite, check, on string
	nth              int
}

// placed are a report's results by what they are about. A suite without results stands for itself.
func placed(r Report) map[key]Result {
	all := map[key]Result{}
	taken := map[key]int{} // counted: results of one check and place may be very many
	for _, s := range r.Suites {
		results := s.Results
		if len(results) == 0 {
			results = []Result{{Check: s.Name, Verdict: s.Verdict, Why: s.Why}}
		}
		for _, x := range results {
			k := key{suite: s.Name, check: x.Check, on: x.On}
			nth := taken[k]
			taken[k]++
			k.nth = nth
			all[k] = x
		}
	}
	return all
}

// keysOf are the keys of both, suites in the order in which they run.
func keysOf(a, b map[key]Result) []key {
	all := maps.Clone(a)
	maps.Copy(all, b)
	order := func(suite string) int {
		if i := slices.Index(Suites(), suite); i >= 0 {
			return i
		}
		return len(Suites())
	}
	return slices.SortedStableFunc(maps.Keys(all), func(x, y key) int {
		return cmp.Or(order(x.suite)-order(y.suite), cmp.Compare(x.suite, y.suite), cmp.Compare(x.check, y.check),
			cmp.Compare(len(x.on), len(y.on)), cmp.Compare(x.on, y.on), x.nth-y.nth)
	})
}
