package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// gathered is what a report is made of.
type gathered struct {
	now    time.Time
	window report.Window
	held   []slurm.Held
	jobs   map[int]*report.Job
	proofs map[int]*report.Job // muster's own verifications
	living map[int]slurm.Job
	keeps  map[int]client.JobReport
	nodes  report.Machines
	prices []reportPrice
	fails  []report.Failure
	// unplaced are jobs of several nodes that a lost node ended, of which nobody knows which it was.
	unplaced int
	blind    []string
}

func (g *gathered) miss(what string, err error) {
	g.blind = append(g.blind, fmt.Sprintf("%s: %v", what, err))
}

// runs are those of the jobs that the report is about.
func (g *gathered) runs(ctx context.Context, s slurm.Client, o reportOptions) error {
	w := slurm.Window{Since: g.window.From}
	if len(o.ids) > 0 {
		w = slurm.Ever()
		for _, text := range o.ids {
			id, err := jobID(ctx, s, text)
			if err != nil {
				return err
			}
			w.Jobs = append(w.Jobs, id)
		}
	}
	held, odd, err := s.Held(ctx, w)
	if err != nil {
		return err
	}
	for _, p := range odd {
		g.miss("a job", p)
	}
	g.jobs, g.proofs = map[int]*report.Job{}, map[int]*report.Job{}
	for _, h := range held {
		if o.user != "" && h.User != o.user {
			continue
		}
		g.held = append(g.held, h)
		if g.apart(h, o) {
			continue
		}
		if g.jobs[h.ID] == nil {
			g.jobs[h.ID] = &report.Job{}
		}
		g.jobs[h.ID].Runs = append(g.jobs[h.ID].Runs, h)
	}
	for _, id := range w.Jobs {
		if g.jobs[id] == nil {
			return noJob(id)
		}
	}
	return nil
}

// queue are the jobs that slurmctld knows: where they write, and the last run of those that accounting lags behind of.
func (g *gathered) queue(ctx context.Context, s slurm.Client) {
	jobs, _, err := s.Jobs(ctx)
	if err != nil {
		g.miss("the queue", err)
	}
	g.living = map[int]slurm.Job{}
	for _, j := range jobs {
		g.living[j.ID] = job.Resolved(j)
	}
}

// kept are the jobs that are kept, which also knows their checkpoints. A cluster that muster did not make has no keeper.
func (g *gathered) kept(ctx context.Context) {
	g.keeps = map[int]client.JobReport{}
	all, err := client.In(services.RunDir).Jobs(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.miss("which jobs are kept", err)
	}
	for _, r := range all {
		g.keeps[r.ID] = r
	}
}

// machines are what the nodes are, and what they cost.
func (g *gathered) machines(ctx context.Context, s slurm.Client, given []string) error {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		g.miss("the nodes", err)
	}
	g.nodes = report.Machines{}
	types := map[string]bool{}
	for _, n := range nodes {
		m := report.Machine{Type: typeOf(n), CPUs: n.CPUs, GPUs: slurm.GPUs(n.CfgTRES)}
		types[m.Type] = true
		g.nodes[n.Name] = m
	}
	delete(types, "")
	known := slices.Sorted(maps.Keys(types))
	for _, text := range given {
		if name, _, ok := strings.Cut(text, "="); ok && !types[name] && len(known) > 0 {
			return fault.Usage(fmt.Errorf("--price %s: no node of Slurm is one; there are %s", text, strings.Join(known, ", ")))
		}
	}
	own, err := userPrices(given, known)
	if err != nil {
		return err
	}
	for _, name := range known {
		g.prices = append(g.prices, priceOfType(name, own))
	}
	for name, m := range g.nodes {
		if i := slices.IndexFunc(g.prices, func(p reportPrice) bool { return p.InstanceType == m.Type }); i >= 0 {
			m.USDPerHour = g.prices[i].USDPerHour
			g.nodes[name] = m
		}
	}
	return nil
}

// typeOf is a node's instance type: what Slurm says, or the one that its features name, as ParallelCluster has it.
func typeOf(n slurm.Node) string {
	for _, name := range append([]string{n.InstanceType}, n.Features...) {
		if _, ok := catalog.TraitsOf(name); ok {
			return name
		}
		if _, ok := catalog.OnDemand(name); ok {
			return name
		}
	}
	return ""
}

// priceOfType is what an hour of an instance type costs: the user's own price, or the catalogue's.
func priceOfType(name string, own map[string]float64) reportPrice {
	if usd := own[name]; usd > 0 {
		return reportPrice{InstanceType: name, USDPerHour: usd, Source: "--price"}
	}
	if p, ok := catalog.OnDemand(name); ok {
		return reportPrice{InstanceType: name, USDPerHour: p.USD, Date: p.Date, Source: p.Source}
	}
	return reportPrice{InstanceType: name}
}

const (
	// mostLogs are of how many jobs logs are read: those that held most.
	mostLogs = 200
	// mostLog and mostAllLogs are how much is read of one log and of all, in bytes. A second reads 200 MB.
	mostLog, mostAllLogs = 1 << 30, 4 << 30
)

// logs reads what the jobs wrote.
func (g *gathered) logs(ctx context.Context, s slurm.Client) {
	ids := g.heaviest()
	if len(ids) > mostLogs {
		g.blind = append(g.blind, fmt.Sprintf("the logs of %d jobs, which held least of all", len(ids)-mostLogs))
		ids = ids[:mostLogs]
	}
	scripts := g.scripts(ctx, s, ids)
	files := filesOf()
	defer files.close()
	left := int64(mostAllLogs)
	for _, id := range ids {
		j, script := g.jobs[id], scripts[id]
		last := j.Runs[len(j.Runs)-1].Run
		path, uid := g.living[id].StdOut, g.living[id].UID
		if _, lives := g.living[id]; !lives && script != nil {
			path, uid = job.OutputOf(script, last), last.UID
		}
		left -= g.log(id, path, uid, left)
		j.LogWhole = job.Appends(script)
		if _, kept := g.keeps[id]; kept {
			g.keeper(id)
		} else {
			g.saved(ctx, files, id, job.CheckpointDirs(script, last))
		}
	}
}

// scripts are the batch scripts of jobs: the accounting has them, if it is told to, or else Slurm as long as it knows a job.
func (g *gathered) scripts(ctx context.Context, s slurm.Client, ids []int) map[int][]byte {
	scripts, err := s.Scripts(ctx, ids)
	if err != nil {
		g.miss("where jobs wrote", err)
	}
	for _, id := range ids {
		if _, lives := g.living[id]; !lives || scripts[id] != nil {
			continue
		}
		if script, err := s.BatchScript(ctx, id); err == nil && script != nil { // other users' are not shown
			if scripts == nil {
				scripts = map[int][]byte{}
			}
			scripts[id] = script
		}
	}
	return scripts
}

// saved adds the checkpoints that a job has which nobody keeps. What it deleted nobody knows of.
func (g *gathered) saved(ctx context.Context, l savedFinder, id int, dirs []string) {
	if len(dirs) == 0 {
		return
	}
	all, err := l.checkpoints(ctx, g.jobs[id].Runs[0].UID, dirs)
	if err != nil {
		g.miss(fmt.Sprintf("the checkpoints of job %d", id), err)
	}
	g.jobs[id].Saved = all
}

// heaviest are the jobs that held nodes, those first that held most.
func (g *gathered) heaviest() []int {
	held := map[int]time.Duration{}
	for _, h := range g.held {
		if g.jobs[h.ID] != nil && !h.Start.IsZero() && h.NodeList != "" {
			end := h.End
			if end.IsZero() {
				end = g.now
			}
			held[h.ID] += end.Sub(h.Start) * time.Duration(max(1, h.NumNodes))
		}
	}
	return slices.SortedStableFunc(maps.Keys(held), func(a, b int) int { return cmp.Or(cmp.Compare(held[b], held[a]), a-b) })
}

// log reads one job's output, and returns how much that was.
func (g *gathered) log(id int, path string, uid int, most int64) int64 {
	if path == "" || most <= 0 {
		return 0
	}
	w, err := job.ReadSamples(path, uid, min(mostLog, most))
	if err != nil {
		g.miss(fmt.Sprintf("the output of job %d", id), err)
		return 0
	}
	j := g.jobs[id]
	j.Marks = report.MarksOf(w.Samples, w.Changed, j.Runs, g.now, time.Local, time.UTC)
	return w.Bytes
}

// keeper adds what the keeper knows of a job: steps where its log has no times, and checkpoints.
func (g *gathered) keeper(id int) {
	r, ok := g.keeps[id]
	if !ok {
		return
	}
	j := g.jobs[id]
	if len(j.Marks) == 0 || j.Marks[0].Estimated {
		j.Marks = nil
		for _, s := range r.Samples {
			if s.Eval || s.Step >= 0 {
				j.Marks = append(j.Marks, report.Mark{At: s.At, Step: s.Step, Eval: s.Eval})
			}
		}
	}
	j.Saved, j.SavedFrom = savedOf(r), r.SavedSince
	j.SavedKnown = len(j.Saved) > 0 // else there may be a directory that the keeper was not told of
}

// savedOf are the checkpoints of a kept job. Of some, an older keeper has written down no more than their step.
func savedOf(r client.JobReport) (all []report.Saved) {
	known := map[int64]bool{}
	add := func(step int64, at time.Time) {
		if known[step] && at.IsZero() {
			return
		}
		known[step] = true
		all = append(all, report.Saved{At: at, Step: step})
	}
	for _, s := range r.Saved {
		add(s.Step, s.At)
	}
	if c := r.Checkpoint; c != nil && c.Step >= 0 && !known[c.Step] {
		add(c.Step, c.At)
	}
	for _, round := range r.Rounds {
		if round.Checkpoint >= 0 {
			add(round.Checkpoint, time.Time{})
		}
	}
	return all
}

// failures are those of nodes.
func (g *gathered) failures(ctx context.Context, s slurm.Client) {
	events, odd, err := s.NodeEvents(ctx, slurm.Window{Since: g.window.From})
	if err != nil {
		g.miss("what happened to nodes", err)
	}
	for _, p := range odd {
		g.miss("what happened to a node", p)
	}
	g.fails, g.unplaced = report.FailuresOf(events, g.held)
}

// missing are the instance types whose price is not known, and whether nodes have none that is known.
func (g *gathered) missing() (types []string, nameless bool) {
	for _, p := range g.prices {
		if p.USDPerHour == 0 {
			types = append(types, p.InstanceType)
		}
	}
	for _, m := range g.nodes {
		nameless = nameless || m.Type == ""
	}
	return types, nameless || len(g.nodes) == 0
}

// splits are where the time of all runs went, of each job, and of all.
func (g *gathered) splits() (of map[string][]report.Split, all []report.Split) {
	of = map[string][]report.Split{}
	for _, id := range slices.Sorted(maps.Keys(g.jobs)) {
		one := report.Of(*g.jobs[id], g.now)
		all = append(all, one...)
		if len(one) > 0 {
			of[strings.TrimSpace(one[0].Run.Label)] = one
		}
	}
	return of, all
}
