package expect

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// FileSystem is what a shared file system does, as it was bought.
type FileSystem struct {
	// Mount is where it is mounted, What says what it is.
	Mount, What string
	// WriteGBps and ReadGBps are what all nodes together get for as long as they like, in units of 10^9 bytes a second; 0 is not known.
	// For a while, or of what its servers have in memory, it may give more.
	WriteGBps, ReadGBps float64
	// ClientGBps is the most that one node gets, 0 if that is not known.
	ClientGBps float64
	// Source is where the numbers are from.
	Source string
	// Soft is why less may be right all the same, empty if it is not.
	Soft string
	// Unrated is why nothing is expected of it, empty where something is.
	Unrated string
}

// Pages of AWS's that say what file systems do, as they were in 2026-08.
const (
	lustrePage = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html"
	zfsPage    = "https://docs.aws.amazon.com/fsx/latest/OpenZFSGuide/performance.html"
	efsPage    = "https://docs.aws.amazon.com/efs/latest/ug/performance.html"
	flowPage   = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html"
	gp3Page    = "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html"
)

const (
	// flowGBps is what one connection gets between two instances that share no placement group: 5 Gbit/s. NFS is mounted over one.
	flowGBps = 5e9 / 8 / 1e9
	mib      = 1 << 20
	// efsClientGBps is what one client of EFS gets with every throughput mode: 500 MiB/s.
	efsClientGBps = 500 * mib / 1e9
)

// FileSystems are the shared ones of a cluster on AWS, in the order of its files. w may be nil.
func FileSystems(c *spec.Cluster, w *spec.Workload) []FileSystem {
	var all []FileSystem
	head, _ := catalog.Lookup(c.HeadNode.InstanceType)
	for _, s := range c.SharedStorage {
		all = append(all, shared(s, head.NetworkMbps))
	}
	if w != nil {
		for _, made := range w.FileSystems {
			all = append(all, zfs(made))
		}
	}
	return all
}

// UnratedAt is a file system of which nothing is expected.
func UnratedAt(mount, why string) FileSystem { return FileSystem{Mount: mount, Unrated: why} }

// Together is what a number of nodes gets of it: what it has, or what they can take, if that is less. networkMbps is a node's, 0 if
// it is not known. By says what is the least, for people.
func (f FileSystem) Together(nodes, networkMbps int) (write, read float64, by string) {
	client := f.ClientGBps
	if network := float64(networkMbps) / 8e3; network > 0 && (client == 0 || network < client) {
		client = network
	}
	by = "the file system's " + f.What
	limit := client * float64(nodes)
	if limit <= 0 {
		return f.WriteGBps, f.ReadGBps, by
	}
	if limit < min(f.WriteGBps, f.ReadGBps) {
		by = fmt.Sprintf("%d × %.2f GB/s, what a node gets at most", nodes, client)
	}
	return min(f.WriteGBps, limit), min(f.ReadGBps, limit), by
}

func shared(s spec.SharedStorage, headMbps int) FileSystem {
	f := FileSystem{Mount: s.MountDir, What: s.Kind.Title()}
	switch {
	case s.ExistingID != "":
		f.Unrated = "it exists already: its settings are in no file"
	case s.Kind == spec.Lustre:
		f.lustre(s.Lustre)
	case s.Kind == spec.EFS:
		f.efs(s.EFS)
	case s.Kind == spec.EBS:
		f.ebs(s.EBS, headMbps)
	default:
		f.Unrated = "no rating of " + s.Kind.Title() + " is known"
	}
	return f
}

func (f *FileSystem) lustre(s spec.LustreSettings) {
	l := catalog.Lustre{DeploymentType: s.DeploymentType, HDD: s.StorageType == "HDD", PerTiB: s.PerUnitThroughput, CapacityGiB: s.CapacityGiB}
	if l.MBps() == 0 {
		f.Unrated = "its size or throughput is not in the file"
		return
	}
	f.What = fmt.Sprintf("Lustre %s, %d GiB, %d MB/s for each TiB", l.DeploymentType, l.CapacityGiB, l.Rate())
	f.ReadGBps = l.MBps() / 1e3
	f.WriteGBps = f.ReadGBps
	if l.DeploymentType == "SCRATCH_2" { // its disks write half as fast as they read
		f.WriteGBps /= 2
	}
	f.ClientGBps, f.Source = catalog.LustreClientMbps/8e3, lustrePage
}

func (f *FileSystem) efs(s spec.EFSSettings) {
	f.ClientGBps, f.Source = efsClientGBps, efsPage
	switch {
	case s.ThroughputMode == "provisioned" && s.ProvisionedMBps > 0:
		f.What = fmt.Sprintf("EFS, %d MiB/s provisioned", s.ProvisionedMBps)
		f.WriteGBps = float64(s.ProvisionedMBps) * mib / 1e9
		f.ReadGBps = f.WriteGBps
	case s.ThroughputMode == "elastic":
		f.What, f.WriteGBps, f.ReadGBps = "EFS, elastic", 1<<30/1e9, 3<<30/1e9
	default:
		f.What, f.WriteGBps = "EFS, bursting", 100*mib/1e9
		f.ReadGBps = f.WriteGBps
		f.Soft = "bursting EFS slows down when its credits are spent (CloudWatch: BurstCreditBalance)"
	}
}

func (f *FileSystem) ebs(s spec.EBSSettings, headMbps int) {
	if s.VolumeType != "gp3" || s.Throughput == 0 {
		f.Unrated = "the throughput of " + s.VolumeType + " volumes follows from more than the file has"
		return
	}
	one := float64(s.Throughput) * mib / 1e9
	f.What = fmt.Sprintf("gp3 with %d MiB/s, over NFS from the head node", s.Throughput)
	f.WriteGBps, f.ReadGBps = one, one
	if s.RAIDVolumes > 1 {
		f.What = fmt.Sprintf("RAID %d of %d × %s", s.RAIDLevel, s.RAIDVolumes, f.What)
		f.ReadGBps = one * float64(s.RAIDVolumes)
		if s.RAIDLevel == 0 {
			f.WriteGBps = f.ReadGBps
		}
	}
	if head := float64(headMbps) / 8e3; head > 0 {
		f.WriteGBps, f.ReadGBps = min(f.WriteGBps, head), min(f.ReadGBps, head)
	}
	f.ClientGBps, f.Source = flowGBps, gp3Page+" "+flowPage
	f.Soft = "the head node's own bandwidth to EBS may be less than its volume's"
}

func zfs(made spec.FileSystem) FileSystem {
	gbps := float64(made.ThroughputMBps) / 1e3
	return FileSystem{
		Mount: made.MountDir, What: fmt.Sprintf("OpenZFS %s, %d MB/s", made.DeploymentType, made.ThroughputMBps),
		WriteGBps: gbps, ReadGBps: gbps, ClientGBps: flowGBps, Source: zfsPage + " " + flowPage,
	}
}
