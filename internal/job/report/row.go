package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// NodeTime is the time of one node, in milliseconds: two nodes that are held for a second are 2,000.
type NodeTime int64

// Hours is the same in node-hours.
func (n NodeTime) Hours() float64 { return float64(n) / float64(time.Hour/time.Millisecond) }

// Seconds is the same in node-seconds.
func (n NodeTime) Seconds() float64 { return float64(n) / float64(time.Second/time.Millisecond) }

// Row is what one job, user, account or node has of the time that was held.
type Row struct {
	// Key is the job's label, or the name of who has it. Job, Name, User, Account and State are a job's.
	Key                 string
	Job                 int
	Name, User, Account string
	State               string
	// Jobs and Runs count. Interrupted are runs after which the job ran again, or that a lost node ended.
	Jobs, Runs, Interrupted int
	// Queued is how long the jobs waited, without nodes.
	Queued time.Duration
	// Held is all of Of.
	Held NodeTime
	Of   [classes]NodeTime
	// USD is what the time cost of which the price is known, USDOf the same by class; Unpriced is the other time.
	USD      float64
	USDOf    [classes]float64
	Unpriced NodeTime
	// Estimated says that times were reckoned which nobody wrote down.
	Estimated bool

	jobs map[int]bool
}

// Goodput is which part of the held time trained, and at most could have, were all trained that is not known. It is
// false of no time.
func (r Row) Goodput() (least, most float64, ok bool) {
	if r.Held <= 0 {
		return 0, 0, false
	}
	held := float64(r.Held)
	return float64(r.Of[Training]) / held, float64(r.Of[Training]+r.Of[Unknown]) / held, true
}

// Worst is the class that took the most of the time that did not train, and whether there is one.
func (r Row) Worst() (Class, bool) {
	worst := Unknown
	for _, c := range Classes() {
		if c != Training && r.Of[c] > r.Of[worst] {
			worst = c
		}
	}
	return worst, r.Of[worst] > 0
}

// By is whose time a row is.
type By string

// What rows can be of.
const (
	ByJob     By = "job"
	ByUser    By = "user"
	ByAccount By = "account"
	ByNode    By = "node"
)

// Window is the time that a report is about; zero is open.
type Window struct{ From, To time.Time }

// Rows adds up splits: a row for each job, user, account or node, those first that held most; and all together.
func Rows(splits []Split, by By, w Window, machines Machines) (rows []Row, total Row) {
	all := map[string]*Row{}
	total = Row{Key: "total", jobs: map[int]bool{}}
	for _, s := range splits {
		s = s.within(w)
		nodes := nodesOf(s.Run)
		for key, held := range shares(s.Run, by, nodes) {
			r := all[key]
			if r == nil {
				r = &Row{Key: key, jobs: map[int]bool{}}
				all[key] = r
			}
			r.add(s, held, machines)
			r.describe(s.Run, by)
		}
		total.add(s, nodes, machines)
	}
	rows = make([]Row, 0, len(all))
	for _, r := range all {
		rows = append(rows, *r)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Key, b.Key))
	})
	return rows, total
}

// shares are which nodes of a run each row has.
func shares(r slurm.Held, by By, nodes []string) map[string][]string {
	switch by {
	case ByUser:
		return map[string][]string{cmp.Or(r.User, "(nobody)"): nodes}
	case ByAccount:
		return map[string][]string{cmp.Or(r.Account, "(none)"): nodes}
	case ByNode:
		each := map[string][]string{}
		for _, n := range nodes {
			each[n] = []string{n}
		}
		return each
	}
	return map[string][]string{cmp.Or(r.Label, strconv.Itoa(r.ID)): nodes}
}

// nodesOf are the nodes of a run by name; where the list cannot be read, as many without one.
func nodesOf(r slurm.Held) []string {
	if names, err := slurm.Expand(r.NodeList); err == nil && len(names) > 0 {
		return names
	}
	return make([]string, max(1, r.NumNodes))
}

func (r *Row) describe(run slurm.Held, by By) {
	if by == ByJob {
		r.Job, r.Name, r.User, r.Account, r.State = run.ID, run.Name, run.User, run.Account, run.State
	}
}

// add adds the time of a run on nodes.
func (r *Row) add(s Split, nodes []string, machines Machines) {
	r.jobs[s.Run.ID] = true
	r.Jobs = len(r.jobs)
	r.Runs++
	if Interrupted(s.Run) {
		r.Interrupted++
	}
	r.Queued += s.Queued
	r.Estimated = r.Estimated || s.Estimated
	hourly, priced := machines.hourly(s.Run, nodes)
	var all NodeTime // of one node
	for _, p := range s.Spans {
		span := NodeTime(p.To.Sub(p.From).Milliseconds())
		all += span
		r.Of[p.Class] += span * NodeTime(len(nodes))
		r.USDOf[p.Class] += hourly * span.Hours()
	}
	r.Held += all * NodeTime(len(nodes))
	r.USD += hourly * all.Hours()
	r.Unpriced += all * NodeTime(len(nodes)-priced)
}

// Interrupted says that a run ended because of something else than its program, a user or its time limit. A job that goes
// on without a node that it lost begins a new record (RESIZING).
func Interrupted(r slurm.Held) bool {
	switch r.State {
	case "NODE_FAIL", "REQUEUED", "RESIZING", "PREEMPTED", "BOOT_FAIL", "LAUNCH_FAILED":
		return true
	}
	return false
}

// within is the part of a split that is in a window.
func (s Split) within(w Window) Split {
	var spans []Span
	for _, p := range s.Spans {
		if !w.From.IsZero() {
			p.From = later(p.From, w.From)
		}
		if !w.To.IsZero() {
			p.To = earlier(p.To, w.To)
		}
		if p.To.After(p.From) {
			spans = append(spans, p)
		}
	}
	if waited := s.Run.Start.Add(-s.Queued); !w.From.IsZero() && waited.Before(w.From) {
		s.Queued = max(0, s.Run.Start.Sub(w.From))
	}
	s.Spans = spans
	return s
}
