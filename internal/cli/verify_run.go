//go:build linux

package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/suite"
)

// verifyOn verifies the cluster whose Slurm's programs lead to.
func (a *app) verifyOn(ctx context.Context, s slurm.Client, o proofOptions) error {
	if err := reportPlace(o.report); err != nil {
		return err
	}
	w, err := a.verifyWorld(s, o)
	if err != nil {
		return err
	}
	return a.verifyIn(ctx, w, o)
}

// verifyIn verifies, and tells the report.
func (a *app) verifyIn(ctx context.Context, w suite.World, o proofOptions) error {
	n, _ := strconv.Atoi(o.nodes)
	earlier, err := earlierReport(ctx, o.baseline)
	if err != nil {
		return err
	}
	report, err := suite.Run(ctx, w, suite.Options{
		Suites: o.suites, Nodes: n, All: o.nodes == "all", NodeList: o.nodeList, Partition: o.partition,
		Image: o.image, Budget: o.budget, Want: o.want, Diagnosis: o.diagnosis, Disk: o.disk, Drain: suite.Drained(o.drain), Earlier: earlier,
	})
	if err != nil {
		return err
	}
	if err := a.answer(report, func() error { return a.verifyText(report) }); err != nil {
		return err
	}
	if o.report != "" {
		if err := a.writeReport(o.report, report, ""); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return fault.Exit(fault.ExitInterrupted)
	}
	return reportError(report, o.strict)
}

// earlierReport is what --baseline names, nil if it names nothing.
func earlierReport(ctx context.Context, path string) (*judge.Earlier, error) {
	if path == "" {
		return nil, nil
	}
	path = reportIn(path)
	r, err := readReport(ctx, path)
	if err != nil {
		return nil, err
	}
	return &judge.Earlier{Report: r, Name: filepath.Base(path)}, nil
}

// verifyWorld is what there is to know of the cluster.
func (a *app) verifyWorld(s slurm.Client, o proofOptions) (suite.World, error) {
	w := suite.World{Slurm: s, Version: runningVersion(), Tell: func(line string) { a.note("%s", line) }}
	self, err := os.Executable()
	if err != nil {
		return w, err
	}
	w.Muster, w.Sent = self, true
	w.Ask = func(n suite.Wake) error { return a.mayWake(n, w.File, o.yes) }
	if o.here || !inside() {
		return w, nil
	}
	w.Muster, w.Sent, w.Place = services.Muster, false, "local"
	if onCloudHead() {
		w.Place = "aws"
	} else {
		w.Ask = nil // nodes are processes of this machine
	}
	if guest() { // ParallelCluster made it
		w.Muster, w.Sent, w.Place = self, true, ""
	}
	w.Head, _ = os.Hostname()
	w.File, _ = spec.Load(services.ClusterFile)
	if text, err := os.ReadFile(services.ClusterFile); err == nil && w.File != nil {
		w.FilePath, w.FileSHA256 = services.ClusterFile, fmt.Sprintf("%x", sha256.Sum256(text))
	}
	w.Workload = workloadHere()
	w.Buckets = bucketsHere(w.File)
	w.Reach = a.reach
	return w, nil
}

// mayWake asks whether nodes may start, with what they cost.
func (a *app) mayWake(n suite.Wake, c *spec.Cluster, yes bool) error {
	a.note("%s of partition %s would start for this%s", count.Of(n.Nodes, "node"), n.Partition, wakeCost(n, c))
	if yes {
		return nil
	}
	return talk{a}.Confirm("Start them?")
}

// wakeCost is what nodes cost that start, as far as it is known.
func wakeCost(n suite.Wake, c *spec.Cluster) string {
	dearest, of := catalog.Price{}, ""
	for _, q := range queuesOf(c) {
		if q.Name != n.Partition {
			continue
		}
		for _, r := range q.ComputeResources {
			for _, t := range r.InstanceTypes {
				if p, ok := catalog.OnDemand(t); ok && p.USD > dearest.USD {
					dearest, of = p, t
				}
			}
		}
	}
	if of == "" {
		return "; what they cost is not known here"
	}
	hour := dearest.USD * float64(n.Nodes)
	return fmt.Sprintf(": %s costs %s an hour (on demand in %s), so that is %s an hour, at the most %s in %s and what they are idle for after it",
		of, count.Dollars(dearest.USD), catalog.PriceRegion(), count.Dollars(hour), count.Dollars(hour*n.Budget.Hours()), n.Budget)
}

func queuesOf(c *spec.Cluster) []spec.Queue {
	if c == nil {
		return nil
	}
	return c.Scheduling.Queues
}

// bucketsHere are the buckets that the cluster's files name.
func bucketsHere(c *spec.Cluster) []string {
	var all []string
	if c != nil {
		for _, s := range c.SharedStorage {
			for _, r := range s.Repositories {
				all = append(all, r.Bucket)
			}
		}
	}
	if w := workloadHere(); w != nil {
		all = append(all, w.Buckets...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reach lists a bucket, as far as its first object.
func (a *app) reach(ctx context.Context, bucket string) error {
	c, err := a.bucketPlace(ctx, bucketFlags{})
	if err != nil {
		return err
	}
	c.Bucket = bucket
	if c.Dial == nil {
		c = store.Located(ctx, c)
	}
	s3, err := store.Open(ctx, c)
	if err != nil {
		return err
	}
	for _, err := range s3.List(ctx, "") {
		return err
	}
	return nil
}

// runningVersion is this program's version and revision.
func runningVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info).Version
}
