package plan

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// exists is why file systems that are there already cost nothing here.
const exists = "it exists already: what it is and costs is not looked up"

// fileSystems are the cluster file's and those of muster.yaml.
func fileSystems(file spec.View, w *spec.Workload) []FileSystem {
	all := []FileSystem{}
	for _, s := range file.Key("SharedStorage").Items() {
		f := FileSystem{
			Name: s.Key("Name").Text(), MountDir: path.Clean("/" + s.Key("MountDir").Text()), Type: s.Key("StorageType").Text(),
		}
		switch f.Type {
		case "FsxLustre":
			f.lustre(s.Key("FsxLustreSettings"))
		case "Efs":
			f.efs(s.Key("EfsSettings"))
		case "Ebs":
			f.ebs(s.Key("EbsSettings"))
		default:
			f.What, f.Reason = "file system that exists", exists
		}
		all = append(all, f)
	}
	for _, made := range w.FileSystems {
		all = append(all, zfs(made))
	}
	return all
}

func (f *FileSystem) lustre(v spec.View) {
	if v.Key("FileSystemId").Present() {
		f.What, f.Reason = "Lustre that exists", exists
		return
	}
	l := catalog.Lustre{
		DeploymentType: v.Key("DeploymentType").Text(), HDD: v.Key("StorageType").Text() == "HDD",
		PerTiB: v.Key("PerUnitStorageThroughput").Int(), CapacityGiB: v.Key("StorageCapacity").Int(),
	}
	f.What = "Lustre " + l.DeploymentType
	if l.HDD {
		f.What += " on disks"
	}
	if l.Rate() > 0 {
		f.What += fmt.Sprintf(", %d MB/s for each TiB", l.Rate())
	}
	price, ok := l.Price()
	backup := v.Key("BackupId").Present() && !v.Key("StorageCapacity").Present()
	if l.Sold() {
		f.CapacityGiB, f.ThroughputMBps, f.fit = l.CapacityGiB, l.MBps(), l.Fit
	}
	switch {
	case backup:
		f.unknown("its size comes from a backup")
	case !l.Sold():
		f.unknown(fmt.Sprintf("there is none of %d GiB: see muster check", l.CapacityGiB))
	case !ok:
		f.unknown("the price of this kind of Lustre is not in the catalogue")
	default:
		f.priced(price, float64(l.CapacityGiB)*price.USD)
	}
}

func (f *FileSystem) efs(v spec.View) {
	if v.Key("FileSystemId").Present() {
		f.What, f.Reason = "EFS that exists", exists
		return
	}
	gb, mbps := catalog.EFSPrices()
	f.What = "EFS, bursting"
	f.Reason = fmt.Sprintf("EFS costs $%.2f a month for each GB that is stored, and its throughput grows with that", gb.USD)
	f.priced(gb, 0)
	if n := v.Key("ProvisionedThroughput"); v.Key("ThroughputMode").Text() == "provisioned" && n.Present() {
		f.What = fmt.Sprintf("EFS, %d MB/s provisioned", n.Int())
		f.Reason = fmt.Sprintf("EFS costs $%.2f a month for each GB that is stored, besides its throughput", gb.USD)
		f.ThroughputMBps = float64(n.Int())
		f.Month.USD = float64(n.Int()) * mbps.USD
	}
	f.Month.Missing = []string{"what is stored on " + f.MountDir}
}

func (f *FileSystem) ebs(v spec.View) {
	if v.Key("VolumeId").Present() {
		f.What, f.Reason = "EBS volume that exists", exists
		return
	}
	disk := diskOf(v)
	f.What = disk.what() + ", over NFS from the head node"
	if disk.sold() {
		f.CapacityGiB, f.ThroughputMBps = disk.gib, float64(disk.mbps)
	}
	count := 1
	if raid := v.Key("Raid"); raid.Present() {
		count = raid.Key("NumberOfVolumes").Int()
		f.What = fmt.Sprintf("RAID %d of %d × %s", raid.Key("Type").Int(), count, f.What)
		if raid.Key("Type").Int() == 0 {
			f.CapacityGiB, f.ThroughputMBps = count*f.CapacityGiB, float64(count)*f.ThroughputMBps
		}
	}
	if v.Key("SnapshotId").Present() && !v.Key("Size").Present() {
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
	f.priced(price, float64(count)*usd)
}

func zfs(made spec.FileSystem) FileSystem {
	f := FileSystem{
		Name: made.Name, MountDir: made.MountDir, Type: made.Type, CapacityGiB: made.CapacityGiB, ThroughputMBps: float64(made.ThroughputMBps),
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

func diskOf(v spec.View) disk {
	d := disk{kind: v.Key("VolumeType").Text(), gib: v.Key("Size").Int(), iops: v.Key("Iops").Int(), mbps: v.Key("Throughput").Int()}
	limits, _ := catalog.VolumeOf(d.kind)
	if !v.Key("Iops").Present() {
		d.iops = limits.DefaultIops
	}
	if !v.Key("Throughput").Present() {
		d.mbps = limits.DefaultThroughput
	}
	return d
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
			if f.Type == "FsxLustre" && (each == 0 || each > catalog.LustreClientMbps) {
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

// sum finishes what is said of the checkpoints of all models of a file system.
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
