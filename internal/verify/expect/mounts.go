package expect

import (
	"fmt"
	"strconv"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
)

const (
	gib = 1 << 30
	gb  = 1e9
	// shown is how much of its size a file system shows at least: it keeps some for itself.
	shown = 0.90
	// scratchShown is the same of a node's own disks, of which EC2 tells the size in round numbers: disks sold as 30.72 TB are
	// 30400 GB by EC2's list, and 27 TiB or more in a file system.
	scratchShown = 0.95
)

func (b *builder) storage() {
	if b.Cluster != nil {
		for i, s := range b.Cluster.SharedStorage {
			b.add(verify.Basic, b.mount(s, ofFile(b.Cluster, "SharedStorage["+strconv.Itoa(i)+"]"))...)
		}
	}
	if b.Workload != nil {
		for _, made := range b.Workload.FileSystems {
			s := spec.SharedStorage{Name: made.Name, MountDir: made.MountDir, Kind: made.Kind}
			b.add(verify.Basic, b.mount(s, "muster.yaml's file system "+made.Name)...)
		}
	}
	b.add(verify.Host, b.scratch())
	b.add(verify.Host, room("/")...)
}

// mount is what is right for a file system of the file.
func (b *builder) mount(s spec.SharedStorage, source string) []Expectation {
	types := b.types(s.Kind)
	all := []Expectation{
		{Check: "mount", On: s.MountDir, Want: fmt.Sprintf("%s is mounted", s.Kind.Title()), Words: types, Source: source, Required: true,
			Why: "what jobs write there stays on the node and is lost", Hint: "look at the node's boot log"},
		{Check: "mount-writable", On: s.MountDir, Want: "it can be written to", Words: []string{"rw"}, Source: source, Required: true,
			Why: "no checkpoint can be written", Hint: "look at dmesg: a file system that finds an error stops writing"},
	}
	if n := sized(s); n > 0 {
		all = append(all, Expectation{Check: "mount-size", On: s.MountDir, Want: count.Bytes(n) + ", less what the file system keeps", Must: least(shown * float64(n)),
			Source: source + ", less a tenth that file systems keep for themselves", Why: "another file system is mounted, or a part of it is missing"})
	}
	if b.Rehearsal {
		all[0].Words = nil
		all[0].Want = "it is mounted, and stands for " + s.Kind.Title()
		for j := range all[2:] {
			all[2+j].Skip = "a rehearsal: a directory of this machine stands for " + s.Kind.Title()
		}
	}
	return append(all, room(s.MountDir)...)
}

// types are how the kernel calls file systems of a kind: the head node has volumes itself, which others get from it.
func (b *builder) types(k spec.StorageKind) []string {
	switch {
	case k == spec.Lustre || k == spec.FileCache:
		return []string{"lustre"}
	case k == spec.EBS && b.Role == Head:
		return []string{"ext4", "xfs"}
	}
	return []string{"nfs", "nfs4"}
}

// sized is the size that the file gives, 0 if it gives none.
func sized(s spec.SharedStorage) int64 {
	switch {
	case s.Kind == spec.Lustre:
		return int64(s.Lustre.CapacityGiB) * gib
	case s.Kind == spec.EBS && s.ExistingID == "" && !s.EBS.SnapshotSized && s.EBS.RAIDVolumes == 0:
		return int64(s.EBS.SizeGiB) * gib
	}
	return 0
}

// room is that a file system is not about to be full.
func room(dir string) []Expectation {
	e := Expectation{Check: "mount-free", On: dir, Want: "10 % free or more", Should: least(10), Must: least(2), Source: ownBound, Why: "writes fail once it is full", Hint: "delete what is not needed"}
	i := e
	i.Check, i.Want = "mount-inodes", "10 % of its inodes free or more"
	return []Expectation{e, i}
}

// scratch is a node's own disks, as one file system.
func (b *builder) scratch() Expectation {
	dir := b.scratchDir()
	e := Expectation{Check: "scratch", On: dir, Source: b.listed(), Required: true, Why: "jobs that keep data there fail, or fill the root volume", Hint: "look at the node's boot log"}
	size := float64(b.kind.NVMeGB) * gb
	e.Want, e.Must = count.Bytes(int64(size))+" of the instance's own disks, less what the file system keeps", least(scratchShown*size)
	switch {
	case b.Rehearsal:
		e.Skip = "a rehearsal: nodes of this machine have no disks of their own"
	case b.Role == Login:
		e.Skip = "login nodes have no scratch directory"
	case !b.known:
		e.Skip = b.unknown()
	case !b.kind.HasDisks():
		e.Skip = b.Type + " has no disks of its own"
	case b.kind.NVMeGB == 0:
		e.Want, e.Must = "the instance's own disks, whose size is not known", Range{}
	}
	if e.Skip != "" {
		e.Want, e.Must = "", Range{}
	}
	return e
}

func (b *builder) scratchDir() string { return ScratchDir(b.Subject) }

// ScratchDir is where a machine's own disks are mounted as one file system, if it has some.
func ScratchDir(b Subject) string {
	switch {
	case b.Queue != nil && b.Queue.ScratchDir != "":
		return b.Queue.ScratchDir
	case b.Role == Head && b.Cluster != nil && b.Cluster.HeadNode.ScratchDir != "":
		return b.Cluster.HeadNode.ScratchDir
	}
	return "/scratch"
}
