package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// exists is why file systems that are there already cost nothing here.
const exists = "it exists already: what it is and costs is not looked up"

// fileSystems are the cluster file's and those of muster.yaml.
func fileSystems(c *spec.Cluster, w *spec.Workload) []FileSystem {
	all := []FileSystem{}
	for _, s := range c.SharedStorage {
		all = append(all, fileSystem(s))
	}
	for _, made := range w.FileSystems {
		all = append(all, zfs(made))
	}
	return all
}

func fileSystem(s spec.SharedStorage) FileSystem {
	f := FileSystem{Name: s.Name, MountDir: s.MountDir, Type: s.Kind}
	if s.ExistingID != "" {
		f.What, f.Reason = existing(s.Kind)+" that exists", exists
		return f
	}
	switch s.Kind {
	case spec.Lustre:
		f.lustre(s.Lustre)
	case spec.EFS:
		f.efs(s.EFS)
	case spec.EBS:
		f.ebs(s.EBS)
	}
	return f
}

// existing is what storage that exists is called: of some kinds nothing more is known.
func existing(kind spec.StorageKind) string {
	switch {
	case kind == spec.EBS:
		return "EBS volume"
	case kind.Makeable():
		return kind.Title()
	}
	return "file system"
}

func (f *FileSystem) lustre(s spec.LustreSettings) {
	l := catalog.Lustre{
		DeploymentType: s.DeploymentType, HDD: s.StorageType == "HDD",
		PerTiB: s.PerUnitThroughput, CapacityGiB: s.CapacityGiB,
	}
	f.What = "Lustre " + l.DeploymentType
	if l.HDD {
		f.What += " on disks"
	}
	if l.Rate() > 0 {
		f.What += fmt.Sprintf(", %d MB/s for each TiB", l.Rate())
	}
	price, ok := l.Price()
	if l.Sold() {
		f.CapacityGiB, f.ThroughputMBps, f.fit = l.CapacityGiB, l.MBps(), l.Fit
	}
	switch {
	case s.BackupID != "" && s.CapacityGiB == 0:
		f.unknown("its size comes from a backup")
	case !l.Sold():
		f.unknown(fmt.Sprintf("a file system of this kind cannot have %d GiB: see muster check", l.CapacityGiB))
	case !ok:
		f.unknown("the price of this kind of Lustre is not in the catalogue")
	default:
		f.priced(price, float64(l.CapacityGiB)*price.USD)
	}
}

func (f *FileSystem) efs(s spec.EFSSettings) {
	gb, mbps := catalog.EFSPrices()
	f.What = "EFS, bursting"
	f.Reason = fmt.Sprintf("EFS costs $%.2f a month for each GB that is stored, and its throughput grows with that", gb.USD)
	f.priced(gb, 0)
	if n := s.ProvisionedMBps; s.ThroughputMode == "provisioned" && n > 0 {
		f.What = fmt.Sprintf("EFS, %d MB/s provisioned", n)
		f.Reason = fmt.Sprintf("EFS costs $%.2f a month for each GB that is stored, besides its throughput", gb.USD)
		f.ThroughputMBps = float64(n)
		f.Month.USD = float64(n) * mbps.USD
	}
	f.Month.Missing = []string{"what is stored on " + f.MountDir}
}

func (f *FileSystem) ebs(s spec.EBSSettings) {
	disk := disk{kind: s.VolumeType, gib: s.SizeGiB, iops: s.Iops, mbps: s.Throughput}
	f.What = disk.what() + ", over NFS from the head node"
	if disk.sold() {
		f.CapacityGiB, f.ThroughputMBps = disk.gib, float64(disk.mbps)
	}
	if s.RAIDVolumes > 0 {
		f.What = fmt.Sprintf("RAID %d of %d × %s", s.RAIDLevel, s.RAIDVolumes, f.What)
		if s.RAIDLevel == 0 {
			f.CapacityGiB, f.ThroughputMBps = s.RAIDVolumes*f.CapacityGiB, float64(s.RAIDVolumes)*f.ThroughputMBps
		}
	}
	if s.SnapshotSized {
		f.CapacityGiB = 0
		f.unknown("its size is that of a snapshot")
		return
	}
	price, usd, ok := disk.month()
	switch {
	case !disk.sold():
		f.unknown("there is no such volume: see muster check")
		return
	case !ok:
		f.unknown("the price of such a volume is not in the catalogue")
		return
	}
	f.priced(price, float64(s.Count())*usd)
}

func zfs(made spec.FileSystem) FileSystem {
	f := FileSystem{
		Name: made.Name, MountDir: made.MountDir, Type: made.Kind, CapacityGiB: made.CapacityGiB, ThroughputMBps: float64(made.ThroughputMBps),
		What: fmt.Sprintf("OpenZFS %s, %d MB/s", made.DeploymentType, made.ThroughputMBps),
		fit:  func(gib int) int { return max(64, gib) },
	}
	gb, mbps, iops, ok := catalog.ZFSPrices(made.DeploymentType)
	if !ok {
		f.unknown("the price of OpenZFS " + made.DeploymentType + " is not in the catalogue")
		return f
	}
	extra := max(0, made.Iops-3*made.CapacityGiB)
	f.priced(gb, gb.USD*float64(made.CapacityGiB)+mbps.USD*float64(made.ThroughputMBps)+iops.USD*float64(extra))
	return f
}

func (f *FileSystem) priced(p catalog.Price, month float64) {
	f.Month.USD, f.Date, f.Source, f.Confirmed = cents(month), p.Date, p.Source, p.Confirmed
}

func (f *FileSystem) unknown(reason string) {
	f.Reason, f.Month.Missing = reason, []string{"the storage of " + f.MountDir}
}

// disk is an EBS volume as the file asks for it.
type disk struct {
	kind            string
	gib, iops, mbps int
}

// sold reports whether there is such a volume.
func (d disk) sold() bool {
	limits, _ := catalog.VolumeOf(d.kind)
	return limits.Sold(d.gib, d.iops, d.mbps)
}

func (d disk) what() string { return fmt.Sprintf("%s of %d GB", d.kind, d.gib) }

// month is what the disk costs. It is false where a price is not known.
func (d disk) month() (catalog.Price, float64, bool) {
	p, ok := catalog.VolumePrice(d.kind)
	usd := float64(d.gib) * p.GB.USD
	usd += float64(max(0, d.iops-p.FreeIOPS)) * p.IOPS.USD
	usd += float64(max(0, d.mbps-p.FreeMBps)) * p.MBps.USD
	return p.GB, usd, ok && d.sold() && (p.MaxIOPS == 0 || d.iops <= p.MaxIOPS)
}

// checkpointDir is where a model's checkpoints are: where muster.yaml says, or
// a directory of the model that is called checkpoints. Nothing else is guessed.
func checkpointDir(m spec.Model, w *spec.Workload) string {
	if m.Checkpoints != "" {
		return m.Checkpoints
	}
	for _, d := range (&spec.Workload{Models: []spec.Model{m}, Directories: w.Directories}).Expanded() {
		names := strings.Split(d.Path, "/")
		if slices.Contains(names, m.Name) && strings.EqualFold(names[len(names)-1], "checkpoints") {
			return d.Path
		}
	}
	return ""
}

// fileSystemOf is the file system of a directory, nil if it is on none.
func (e *Estimate) fileSystemOf(dir string) *FileSystem {
	for i, f := range e.FileSystems {
		if dir == f.MountDir || strings.HasPrefix(dir, f.MountDir+"/") {
			return &e.FileSystems[i]
		}
	}
	return nil
}

// writeSeconds is how long models together write a number of bytes: at the file
// system's throughput, or at that of their nodes if it is less. 0 is not known.
func (f *FileSystem) writeSeconds(bytes float64, models []Trained) float64 {
	rate := f.ThroughputMBps * 1e6
	if rate == 0 {
		return 0
	}
	if nodes := f.clientMbps(models) / 8 * 1e6; nodes > 0 {
		rate = min(rate, nodes)
	}
	return bytes / rate
}

// clientMbps is what the nodes of models can write together, 0 if that is not
// known. The ordinary network of nodes with EFA is not below LustreClientMbps.
func (f *FileSystem) clientMbps(models []Trained) float64 {
	sum, seen := 0, map[string]bool{} // several models can share a node
	for _, t := range models {
		for _, s := range t.slots {
			if seen[s.name.String()] {
				continue
			}
			seen[s.name.String()] = true
			each := s.node.networkMbps
			if f.Type == spec.Lustre && (each == 0 || each > catalog.LustreClientMbps) {
				each = catalog.LustreClientMbps
			}
			if each == 0 {
				return 0
			}
			sum += each
		}
	}
	return float64(sum)
}

func (f *FileSystem) use(t *Trained) {
	if f.Use == nil {
		f.Use = &Use{}
	}
	f.Use.Models = append(f.Use.Models, t.Name)
	f.Use.OneBytes += t.Checkpoint.Bytes
	f.Use.KeptBytes += t.Checkpoint.Bytes * float64(t.Checkpoint.Keep)
}

const gib = 1 << 30

// sum adds up the checkpoints of all models of a file system.
func (f *FileSystem) sum(models []Trained) {
	if f.Use == nil {
		return
	}
	u := f.Use
	writers := slices.DeleteFunc(slices.Clone(models), func(t Trained) bool { return !slices.Contains(u.Models, t.Name) })
	u.WriteSeconds = f.writeSeconds(u.OneBytes, writers)
	u.Fits = -1
	if f.CapacityGiB == 0 {
		return
	}
	u.Fits = int(float64(f.CapacityGiB) * gib / u.OneBytes)
	if u.KeptBytes > float64(f.CapacityGiB)*gib {
		wanted := int(math.Ceil(u.KeptBytes / fill / gib))
		if u.WantedGiB = wanted; f.fit != nil {
			u.WantedGiB = f.fit(wanted)
		}
	}
}

// fill is how full a file system should get. Lustre slows down and fails when
// single targets are full, which are not filled evenly.
const fill = 0.8
