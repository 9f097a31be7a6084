//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// basic sees that the cluster answers, and that its nodes are what jobs take them for.
func (r *run) basic(ctx context.Context, s *verify.Suite) error {
	s.Results = append(s.Results, r.daemons(ctx)...)
	partitions, err := r.partitions(ctx)
	s.Results = append(s.Results, partitions...)
	if err != nil {
		return err
	}
	s.Results = append(s.Results, r.got())
	if r.foreign != "" {
		return errors.New(r.foreign)
	}
	names := r.names()
	marks := r.leaveMarks(ctx)
	g, err := r.greet(ctx, names, sought(marks))
	takeMarks(marks)
	s.Results = append(s.Results, r.answered(ctx, g, err)...)
	s.Results = append(s.Results, r.clocks(g)...)
	s.Results = append(s.Results, r.resolved(g, names)...)
	s.Results = append(s.Results, r.seenAlike(g, marks)...)
	s.Results = append(s.Results, r.buckets(ctx)...)
	return r.mounts(ctx, s)
}

// daemons asks slurmctld and the accounting.
func (r *run) daemons(ctx context.Context) []verify.Result {
	ctl := verify.Result{Check: "slurmctld", Verdict: verify.Pass, Found: "answers", Want: "answers", Required: true}
	if err := r.Slurm.Ping(ctx); err != nil {
		ctl.Verdict, ctl.Found, ctl.Why = verify.Fail, "no answer", err.Error()
	}
	db := verify.Result{Check: "accounting", Verdict: verify.Pass, Want: "knows this cluster"}
	known, err := r.Slurm.Clusters(ctx)
	switch {
	case err != nil:
		db.Verdict, db.Why = verify.Blind, err.Error()
		db.Hint = "without slurmdbd nothing is known of jobs that have ended: sacct, fair share and limits need it"
	case !slices.Contains(known, strings.ToLower(r.report.Identity.Cluster)) && !slices.Contains(known, r.report.Identity.Cluster):
		db.Verdict, db.Found, db.Why = verify.Fail, strings.Join(known, ", "), "slurmdbd does not know this cluster"
	default:
		db.Found = "knows " + r.report.Identity.Cluster
	}
	return []verify.Result{ctl, db}
}

// lost are states of nodes that no job gets.
const lost = slurm.FlagDrain | slurm.FlagFail | slurm.FlagNotResponding | slurm.FlagInvalidRegistration

// partitions looks at all partitions and their nodes.
func (r *run) partitions(ctx context.Context) ([]verify.Result, error) {
	partitions, err := r.Slurm.Partitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the partitions: %w", err)
	}
	nodes, err := r.Slurm.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the nodes: %w", err)
	}
	var all []verify.Result
	for _, p := range partitions {
		all = append(all, partitionResult(p, nodes))
	}
	for _, n := range nodes {
		if out(n) {
			all = append(all, verify.Result{Check: "node-state", On: n.Name, Verdict: verify.Warn, Found: n.State.String(), Want: "in service",
				Why: "no job gets this node: " + said(n.Reason), Hint: "scontrol update nodename=" + n.Name + " state=resume, once its fault is mended"})
		}
	}
	return all, nil
}

func said(reason string) string {
	if reason == "" {
		return "nobody has said why"
	}
	return reason
}

// out says that no job gets a node. One that is powered down answers nobody, and comes when a job wants it.
func out(n slurm.Node) bool {
	if n.State.Flags&(slurm.FlagPoweredDown|slurm.FlagPoweringDown|slurm.FlagPoweringUp) != 0 {
		return n.State.Flags&(slurm.FlagDrain|slurm.FlagFail) != 0 || n.State.Base == slurm.BaseDown
	}
	return n.State.Flags&lost != 0 || n.State.Base == slurm.BaseDown || n.State.Base == slurm.BaseError
}

// partitionResult judges one partition.
func partitionResult(p slurm.Partition, nodes []slurm.Node) verify.Result {
	have, down := 0, 0
	for _, n := range nodes {
		if slices.Contains(n.Partitions, p.Name) {
			have++
			if out(n) {
				down++
			}
		}
	}
	result := verify.Result{Check: "partition", On: p.Name, Verdict: verify.Pass, Want: "UP, with nodes in service",
		Found: fmt.Sprintf("%s, %d of %s in service", p.State, have-down, count.Of(have, "node"))}
	switch {
	case p.State != "UP":
		result.Verdict, result.Why = verify.Fail, "no job starts in it"
		result.Hint = "scontrol update partitionname=" + p.Name + " state=up"
	case have == 0:
		result.Verdict, result.Why = verify.Warn, "it has no nodes"
	case have == down:
		result.Verdict, result.Why = verify.Fail, "none of its nodes is in service"
	}
	return result
}

// got is how the nodes came.
func (r *run) got() verify.Result {
	return verify.Result{Check: "nodes-came", On: slurm.Compress(r.alloc.nodes), Verdict: verify.Pass, Found: fmt.Sprintf("job %d got them after %.1f s", r.alloc.job, r.alloc.waited.Seconds()),
		Value: &verify.Value{Number: r.alloc.waited.Seconds(), Unit: "s", Lower: true}}
}

// answered is which nodes ran what the job started.
func (r *run) answered(ctx context.Context, g greeted, err error) []verify.Result {
	var all []verify.Result
	why := errSilent
	if err != nil {
		why = err
	}
	for _, n := range r.alloc.nodes {
		result := verify.Result{Check: "job-step", On: n, Verdict: verify.Pass, Found: "ran", Want: "runs what a job starts", Required: true}
		if !g.there[n] {
			result.Verdict, result.Found, result.Why = verify.Fail, "", why.Error()
			result.Hint = "slurmd's log on the node says more"
			if cut := r.gone(ctx); cut != "" {
				result.Verdict, result.Why, result.Hint, result.Required = verify.Blind, cut, "", false
			}
		}
		all = append(all, result)
	}
	return all
}

// clockMost is how far clocks may be apart: files that one node wrote are not yet there for make and rsync on another, and
// logs of nodes cannot be put in order. munge refuses credentials that are 300 s off (its time-to-live).
const (
	clockWarn = time.Second
	clockFail = 30 * time.Second
)

// clocks are how far the nodes' clocks are from this one.
func (r *run) clocks(g greeted) []verify.Result {
	var all []verify.Result
	for _, n := range r.alloc.nodes {
		if !g.there[n] {
			continue // its job step says so
		}
		c, ok := g.clocks[n]
		result := verify.Result{Check: "clock", On: n, Verdict: verify.Pass, Found: c.String(), Want: "within 1 s of the head node",
			Source: "munge(7): credentials live 300 s; make and rsync compare times of files of several nodes",
			Value:  &verify.Value{Number: c.Ahead.Seconds(), Unit: "s", Lower: true, Doubt: c.Within.Seconds()}}
		switch off := c.Ahead.Abs() - c.Within; {
		case !ok:
			result.Verdict, result.Found, result.Why, result.Value = verify.Blind, "", errSilent.Error(), nil
		case off > clockFail:
			result.Verdict, result.Why = verify.Fail, "Slurm's and S3's credentials will be refused"
		case off > clockWarn:
			result.Verdict, result.Why = verify.Warn, "files and logs of several nodes come in the wrong order"
		case c.Within > clockWarn:
			result.Verdict, result.Why = verify.Blind, fmt.Sprintf("the answer took %.1f s, so that a second cannot be told", 2*c.Within.Seconds())
		}
		if result.Verdict == verify.Fail || result.Verdict == verify.Warn {
			result.Hint = "chronyc makestep on the node; on AWS, chrony asks 169.254.169.123"
		}
		all = append(all, result)
	}
	return all
}

// names are what each node has to know an address of: the head node, and the first and last node that take part.
func (r *run) names() []string {
	names := []string{r.alloc.nodes[0], r.alloc.nodes[len(r.alloc.nodes)-1]}
	if r.Head != "" {
		names = append(names, r.Head)
	}
	if r.Place == "aws" && r.File != nil {
		names = append(names, "s3."+r.File.Region+".amazonaws.com")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resolved is which names nodes know.
func (r *run) resolved(g greeted, names []string) []verify.Result {
	var all []verify.Result
	for _, n := range r.alloc.nodes {
		if _, ok := g.clocks[n]; !ok {
			continue
		}
		result := verify.Result{Check: "names", On: n, Verdict: verify.Pass, Found: "knows " + count.Of(len(names), "name"), Want: strings.Join(names, ", ")}
		for _, name := range names {
			if why := g.unknown[n][name]; why != "" {
				result.Verdict, result.Found = verify.Fail, "does not know "+name
				result.Why = why
				result.Hint = "getent hosts " + name + " on the node; /etc/hosts, /etc/resolv.conf and the private DNS zone decide"
				break
			}
		}
		all = append(all, result)
	}
	return all
}

// buckets asks for each bucket of the cluster.
func (r *run) buckets(ctx context.Context) []verify.Result {
	if len(r.Buckets) == 0 {
		return []verify.Result{{Check: "bucket", Verdict: verify.Skip, Why: "no file names a bucket of this cluster"}}
	}
	var all []verify.Result
	for _, b := range r.Buckets {
		result := verify.Result{Check: "bucket", On: "s3://" + b, Verdict: verify.Pass, Found: "can be listed", Want: "can be listed from the head node"}
		if err := r.Reach(ctx, b); err != nil {
			result.Verdict, result.Found, result.Why = verify.Fail, "", err.Error()
		}
		all = append(all, result)
	}
	return all
}
