package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// made is what muster.yaml adds.
func made(w *spec.Workload) []Made {
	all := []Made{}
	for _, f := range w.FileSystems {
		all = append(all, Made{
			Kind: "file system", Name: f.Name, Local: "a directory at " + f.MountDir,
			What: fmt.Sprintf("FSx for OpenZFS %s, %d GiB, %d MB/s, at %s", f.DeploymentType, f.CapacityGiB, f.ThroughputMBps, f.MountDir),
		})
	}
	for _, b := range w.Buckets {
		all = append(all, Made{Kind: "bucket", Name: b, What: "S3 bucket, made if it is not there", Local: "a bucket of the cluster's own S3 server"})
	}
	if w.Grafana.Enabled {
		all = append(all, Made{Kind: "dashboards", Name: "Grafana", What: "open to " + w.Grafana.AllowedIps, Local: "not made"})
	}
	return all
}

// notef adds a note, once.
func (e *Estimate) notef(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(e.Notes, note) {
		e.Notes = append(e.Notes, note)
	}
}

// note adds the notes that a buyer should read.
func (e *Estimate) note(q Question) {
	if e.RunHours == 0 {
		e.notef("nobody has said how long the run is: put Run: {Days: 14} into muster.yaml, or give --run 14d")
	}
	e.notePrices(q)
	e.noteReservations()
	e.noteBlocks()
	e.noteModels(q)
	e.noteCheckpoints()
	for _, s := range e.Spare {
		if s.Wanted > s.Nodes {
			e.notef("queue %s has %s of %s left over and should have %s: without a spare, a model that loses a node waits until it is replaced (%.4g h)",
				s.Queue, count.Of(s.Nodes, "node"), strings.Join(s.InstanceTypes, or), count.Of(s.Wanted, "node"), e.Failures.ReplacementHours)
		}
	}
}

func hours(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) + " h" }

func (e *Estimate) notePrices(q Question) {
	var asked []string
	for _, t := range e.Price.Types {
		if flag := fmt.Sprintf("--price %s=DOLLARS", t.InstanceType); !t.Known && !slices.Contains(asked, flag) {
			asked = append(asked, flag)
		}
	}
	if len(asked) > 0 {
		e.notef("give the price of an hour where it is not known: %s", strings.Join(asked, " "))
	}
	for _, g := range e.Fleet.Groups {
		if len(g.InstanceTypes) > 1 {
			e.notef("nodes of %s are one of %d instance types: what they have is the least of them, what they cost the most", g.Name, len(g.InstanceTypes))
		}
	}
	for _, t := range e.Price.Types {
		if bought := e.Price.bought(t.InstanceType); t.Source == ownPrice && len(bought) > 1 {
			e.notef("the price of --price for %s is used for all of it: %s", t.InstanceType, strings.Join(bought, ", "))
		}
	}
	if q.Cluster.HeadNode.SharedEFS {
		e.notef("not counted: the EFS of HeadNode.SharedStorageType")
	}
	e.notef("not counted: S3, data transfer, NAT gateways, CloudWatch, taxes, and root volumes for which the file gives no Size")
}

func (e *Estimate) noteReservations() {
	for _, g := range e.Fleet.Groups {
		if g.Reserved && g.CapacityType == "ONDEMAND" && g.MinCount < g.MaxCount {
			e.notef("a reservation is paid from its first hour, used or not: MinCount %d of %s saves nothing while it lasts", g.MinCount, g.Name)
		}
	}
}

func (e *Estimate) noteBlocks() {
	all := 0
	for _, b := range e.Blocks {
		all += b.Instances
		switch {
		case b.Asked:
		case b.Reserved:
			e.notef("if the reservation of %s is a Capacity Block, the queue %s needs CapacityType: CAPACITY_BLOCK and MinCount equal to MaxCount", b.InstanceType, b.Queue)
		default:
			e.notef("%s has no price on demand; for Capacity Blocks the queue %s needs CapacityType: CAPACITY_BLOCK and MinCount equal to MaxCount", b.InstanceType, b.Queue)
		}
		if len(b.LengthsDays) > 1 {
			e.notef("no block is longer than %s: the %d of %s follow each other, and nothing promises that the next can be had",
				count.Of(catalog.BlockDays, "day"), len(b.LengthsDays), b.Queue)
		}
		if b.UsableHours < e.RunHours {
			e.notef("of %s in blocks, %s can be used: buy more if the run needs all of it", count.Of(b.Days(), "day"), hours(b.UsableHours))
		}
		if len(b.Sizes) > 1 {
			e.notef("%d blocks are as many reservations: each needs a compute resource of its own in %s", len(b.Sizes), b.Queue)
		}
		e.notef("blocks end at %s UTC, and instances are ended from %.0f minutes before: the last checkpoint must be written by then",
			catalog.BlockEnd, catalog.BlockTail.Minutes())
		e.notef("what AWS offers can be up to a day shorter or longer than the length that is asked for, and costs as much less or more")
	}
	if all > catalog.AllBlockInstances {
		e.notef("%d instances are more than the %d that an account can have in Capacity Blocks: ask AWS", all, catalog.AllBlockInstances)
	}
}

// noteModels says what keeps the models from running as planned.
func (e *Estimate) noteModels(q Question) {
	parts := false
	var homeless []string
	for _, t := range e.Models {
		parts = parts || t.Part
		if t.Nodes == 0 {
			homeless = append(homeless, t.Name)
		}
		if len(t.slots) < 2 || t.GPUs == 0 {
			continue
		}
		if n := t.slowest(); !n.EFA && n.EFAInterfaces > 0 {
			e.notef("%s runs on %s of %s without EFA: add Efa: {Enabled: true}", t.Name, count.Of(t.Nodes, "node"), strings.Join(strings.Fields(t.slots[0].pool), or))
		}
	}
	if len(homeless) > 0 {
		e.notef("no Nodes or GPUs in muster.yaml, so no place here: %s", strings.Join(homeless, ", "))
	}
	if parts && !q.Cluster.Scheduling.Slurm.MemoryBasedScheduling {
		e.notef("models share nodes, but EnableMemoryBasedScheduling is off: each can take the memory of the others")
	}
	for _, g := range e.Fleet.Groups {
		if g.CapacityType == "SPOT" {
			e.notef("AWS takes spot nodes of %s back with two minutes' notice, which no rate here counts", g.Queue)
		}
	}
	if e.Failures.GPUs > 0 {
		e.notef("failures are reckoned with what Llama 3 had on %s GPUs; other machines have other rates", strings.ToUpper(e.Failures.MeasuredOn))
	}
}

func (e *Estimate) noteCheckpoints() {
	var sizeless, nowhere []string
	for _, t := range e.Models {
		switch c := t.Checkpoint; {
		case c == nil:
			sizeless = append(sizeless, t.Name)
		case c.FileSystem == "":
			nowhere = append(nowhere, t.Name)
		}
	}
	if len(sizeless) > 0 {
		e.notef("no Parameters in muster.yaml, so nothing is known of the checkpoints: %s", strings.Join(sizeless, ", "))
	}
	if len(nowhere) > 0 {
		e.notef("nothing says where checkpoints are written, give Checkpoints in muster.yaml: %s", strings.Join(nowhere, ", "))
	}
	for _, f := range e.FileSystems {
		if f.Use != nil && f.Use.WantedGiB > 0 {
			e.notef("%s does not hold the checkpoints that are kept: %d GiB would, four fifths full", f.MountDir, f.Use.WantedGiB)
		}
	}
}
