//go:build linux

// Package suite runs suites as jobs on Slurm's nodes, gathers what they say, and has it judged. Nothing of a verification
// stays: its allocation ends with the process that asked for it, however that ends.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

// Options say what is verified.
type Options struct {
	// Suites are what runs, in this order.
	Suites []string
	// Nodes is how many nodes take part, 0 is two, or one where there is no other. All is all that can be had. NodeList, a host list,
	// names them instead.
	Nodes    int
	All      Everything
	NodeList string
	// Partition is empty for Slurm's default.
	Partition string
	// Image is what suites of containers run in; empty is none.
	Image string
	// Budget is the time for all of it, the wait for nodes included.
	Budget time.Duration
	// Drain takes nodes out of service that failed by themselves.
	Drain Drained
	// Want overrides expectations: name=value.
	Want []string
	// Diagnosis is the level of DCGM's diagnosis, 0 for the first: see scan.Options.
	Diagnosis int
	// Disk is where a machine alone has its own disks, empty where the cluster file, or EphemeralVolume's default, says it.
	Disk string
	// Earlier is a report of the same cluster that measurements are held against of which nothing is published; nil for none.
	Earlier *judge.Earlier
}

// Everything says that all nodes that can be had take part.
type Everything bool

// Drained says that nodes which failed are drained.
type Drained bool

// World is what a verification needs to know of where it runs.
type World struct {
	Slurm slurm.Client
	// Place is local, aws, or empty for a cluster that muster did not make; File is its cluster file, nil if unknown.
	Place string
	File  *spec.Cluster
	// FilePath is where the cluster file is, and FileSHA256 the sum of its text; empty if unknown.
	FilePath, FileSHA256 string
	Workload             *spec.Workload
	// Muster is the program as nodes have it. Sent says that they have it not: it is this machine's, and is sent to them.
	Muster string
	Sent   Sent
	// Alone is this machine's name where the suites look at it alone, without Slurm; else empty. Type is its instance type, empty if it
	// is not known.
	Alone, Type string
	// Head is the head node's name, as nodes call it; empty if it is not known.
	Head string
	// Buckets are those of the cluster, Reach lists one.
	Buckets []string
	Reach   func(ctx context.Context, bucket string) error
	// Ask asks whether nodes may start for this; nil where they cost nothing.
	Ask func(Wake) error
	// Version is this program's.
	Version string
	// Tell is called with what goes on, for people.
	Tell func(line string)
}

// Sent says that nodes get the program for the time of the job.
type Sent bool

// run is a verification while it runs.
type run struct {
	World
	Options
	report *verify.Report
	alloc  *allocation
	// program is muster's path on the nodes.
	program string
	// hidden is why the job may not see the GPUs of its nodes, empty if it does.
	hidden string
	// foreign is why the nodes cannot run muster, empty if they can.
	foreign string
	// left says that we have given the nodes back, and free whether the next job can have them.
	left  bool
	free  verify.Result
	types map[string]string // instance types by node, as far as they are known
	woken []string          // of the nodes, those that were powered down before
	// facts are what machines told of themselves, by node; asked says that they were asked.
	facts map[string]verify.Facts
	blind map[string]string
	asked bool
	// unfinished are measurements of storage of which something may be left.
	unfinished []pass
	// override is what the user expects instead.
	override []expect.Override
}

// bySuite are the suites. Each returns its results; an error is one of the suite as a whole, and makes it blind.
func (r *run) bySuite(name string) func(context.Context, *verify.Suite) error {
	switch name {
	case verify.Basic:
		return r.basic
	case verify.Host, verify.GPU, verify.EFA:
		return r.machines(name)
	case verify.Container:
		return r.container
	case verify.NCCL:
		return r.nccl
	case verify.Collectives:
		return r.collectives
	case verify.Network:
		return r.network
	case verify.Storage:
		return r.storage
	case verify.Slurm:
		return r.slurmItself
	}
	return nil
}

// Run verifies. The report says what was found until the context ended or the budget was spent; an error is one that kept
// it from beginning.
func Run(ctx context.Context, w World, o Options) (verify.Report, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Budget, fmt.Errorf("the budget of %s is spent", o.Budget))
	defer cancel()
	report := verify.Report{Began: began.UTC().Truncate(time.Millisecond), Partition: o.Partition, Nodes: []string{}, Suites: []verify.Suite{}}
	r := &run{World: w, Options: o, report: &report}
	for _, w := range o.Want {
		override, _, err := expect.ParseOverride(w)
		if err != nil {
			return report, err
		}
		r.override = append(r.override, override)
	}
	if err := r.identify(ctx); err != nil {
		return report, err
	}
	hold := r.hold
	if r.Alone != "" {
		hold = r.holdAlone
	}
	err := hold(ctx)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return r.unheld(began, err), nil
	case err != nil:
		return report, err
	}
	defer r.leave()
	if r.Earlier != nil && !r.likened() {
		r.Tell(fmt.Sprintf("%s is of %s, and these are %d: no measurement is held against it", r.Earlier.Name, count.Of(len(r.Earlier.Nodes), "node"), len(report.Nodes)))
	}
	for _, name := range o.Suites {
		r.one(ctx, name)
	}
	if r.Alone != "" {
		r.seenAfterLoad(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		report.Error = err.Error()
	} else {
		report.Error = r.lost()
	}
	if r.Alone == "" {
		r.after(context.WithoutCancel(ctx))
		r.drain(context.WithoutCancel(ctx))
	}
	report.Seconds = time.Since(began).Seconds()
	report.Close()
	return report, nil
}

// unheld is the report of a verification whose nodes did not come before its budget was spent.
func (r *run) unheld(began time.Time, err error) verify.Report {
	r.report.Error = err.Error()
	for _, name := range r.Suites {
		r.report.Suites = append(r.report.Suites, verify.Suite{Name: name, Began: r.report.Began, Verdict: verify.Blind, Why: r.report.Error, Results: []verify.Result{}})
	}
	r.report.Seconds = time.Since(began).Seconds()
	r.report.Close()
	return *r.report
}

// one runs one suite.
func (r *run) one(ctx context.Context, name string) {
	s := verify.Suite{Name: name, Began: time.Now().UTC().Truncate(time.Millisecond), Results: []verify.Result{}}
	if why := r.gone(ctx); why != "" {
		s.Verdict, s.Why = verify.Blind, why
		s.Results = append(s.Results, verify.Result{Check: name, Verdict: verify.Blind, Why: why})
		r.report.Suites = append(r.report.Suites, s)
		return
	}
	r.Tell(fmt.Sprintf("suite %s%s", name, r.on()))
	do := r.bySuite(name)
	if r.foreign != "" && name != verify.Basic && name != verify.Slurm {
		do = func(context.Context, *verify.Suite) error { return errors.New(r.foreign) }
	}
	if err := do(ctx, &s); err != nil {
		why := r.gone(ctx)
		s.Why = cmp.Or(why, err.Error())
		// What was cut off is blind, and no fault of the cluster's.
		s.Results = append(s.Results, verify.Result{Check: name, Verdict: verify.Blind, Why: s.Why, Required: why == ""})
	}
	s.Seconds = time.Since(s.Began).Seconds()
	if r.likened() {
		judge.Beside(name, s.Results, *r.Earlier, r.loose())
	}
	s.Verdict = verify.Sum(s.Results)
	if r.alloc != nil && r.alloc.job > 0 {
		s.Jobs = append(s.Jobs, r.alloc.job)
	}
	r.report.Suites = append(r.report.Suites, s)
	r.Tell(fmt.Sprintf("suite %s: %s%s, %.1f s", name, s.Verdict, tally(s.Results), s.Seconds))
}

// gone says why nothing can be looked at any more, empty if it can.
func (r *run) gone(ctx context.Context) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	return r.lost()
}

// on says where suites run.
func (r *run) on() string {
	if r.alloc == nil {
		return ""
	}
	return " on " + count.Of(len(r.alloc.nodes), "node")
}

// tally counts verdicts other than pass.
func tally(results []verify.Result) string {
	var said []string
	for _, v := range []verify.Verdict{verify.Fail, verify.Blind, verify.Warn, verify.Skip, verify.Pass} {
		n := 0
		for _, r := range results {
			if r.Verdict == v {
				n++
			}
		}
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, v))
		}
	}
	return " (" + strings.Join(said, ", ") + ")"
}

// identify finds out which cluster this is.
func (r *run) identify(ctx context.Context) error {
	conf := map[string]string{}
	if r.Alone == "" {
		var err error
		if conf, err = r.Slurm.Conf(ctx); err != nil {
			return fmt.Errorf("ask Slurm for its configuration: %w", err)
		}
	}
	r.report.Identity = verify.Identity{
		Cluster: conf["ClusterName"], Place: r.Place, Muster: r.Version, Slurm: conf["SLURM_VERSION"],
		File: r.FilePath, FileSHA256: r.FileSHA256, InstanceTypes: []string{}, Versions: map[string]string{},
	}
	if r.Earlier != nil && r.Earlier.Identity.Cluster != conf["ClusterName"] {
		return fmt.Errorf("compare with %s: it is of the cluster %q, and this is %q", r.Earlier.Name, r.Earlier.Identity.Cluster, conf["ClusterName"])
	}
	return nil
}

// likened says that there is an earlier report of as many nodes: what they come to together depends on that.
func (r *run) likened() bool {
	return r.Earlier != nil && len(r.Earlier.Nodes) == len(r.report.Nodes)
}

// loose is why being slower than earlier is no failure, empty if it is one.
func (r *run) loose() string {
	if r.Place == "local" {
		return rehearsal
	}
	return ""
}
