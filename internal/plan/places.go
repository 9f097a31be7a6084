package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// Kept is a directory and what is kept there.
type Kept struct {
	// Path can have {model} for each model.
	Path string `json:"path"`
	// On is what carries it, FileSystem the name of a shared file system.
	On         string `json:"on"`
	FileSystem string `json:"file_system,omitempty"`
	// Holds is empty where only the name of the directory says it.
	Holds string `json:"holds,omitempty"`
	// Bytes are one checkpoint of each model, 0 if not known or not checkpoints.
	Bytes float64 `json:"one_of_each_bytes,omitempty"`
	// From and To are places in S3 that fill the directory, and that get what is
	// written there.
	From []string `json:"from_s3,omitempty"`
	To   []string `json:"to_s3,omitempty"`
}

// kept says what goes where: the directories of muster.yaml and of checkpoints,
// what is linked with S3, file systems that nothing else names, and what is on
// the machines themselves.
func kept(e *Estimate, q Question) []Kept {
	all := []Kept{}
	add := func(dir string) {
		f := e.fileSystemOf(dir)
		if f == nil || slices.ContainsFunc(all, func(k Kept) bool { return k.Path == dir }) {
			return
		}
		k := Kept{Path: dir, On: f.What, FileSystem: f.Name}
		k.linked(q.Cluster)
		k.exported(q.Workload)
		k.checkpoints(e, q.Workload)
		all = append(all, k)
	}
	for _, d := range q.Workload.Directories {
		add(d.Path)
	}
	for _, t := range e.Models {
		if c := t.Checkpoint; c != nil && !slices.ContainsFunc(all, func(k Kept) bool { return slices.Contains(k.expanded(q.Workload), c.Dir) }) {
			add(c.Dir)
		}
	}
	for _, s := range q.Cluster.SharedStorage {
		for _, r := range s.Repositories {
			if !slices.ContainsFunc(all, func(k Kept) bool { return within(k.Path, r.Dir) }) {
				add(r.Dir)
			}
		}
	}
	for _, x := range q.Workload.Exports {
		if !slices.ContainsFunc(all, func(k Kept) bool { return within(k.Path, x.Directory) }) {
			add(x.Directory)
		}
	}
	for _, f := range e.FileSystems {
		if !slices.ContainsFunc(all, func(k Kept) bool { return k.FileSystem == f.Name }) {
			add(f.MountDir)
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int { return e.mount(a) - e.mount(b) })
	return append(all, machines(e, q)...)
}

// mount is the place of a directory's file system in their list.
func (e *Estimate) mount(k Kept) int {
	return slices.IndexFunc(e.FileSystems, func(f FileSystem) bool { return f.Name == k.FileSystem })
}

// within reports whether a directory is another one or below it.
func within(dir, parent string) bool {
	parent = path.Clean(parent)
	return dir == parent || strings.HasPrefix(dir, strings.TrimSuffix(parent, "/")+"/")
}

func (k Kept) expanded(w *spec.Workload) []string {
	var paths []string
	for _, d := range (&spec.Workload{Models: w.Models, Directories: []spec.Directory{{Path: k.Path}}}).Expanded() {
		paths = append(paths, d.Path)
	}
	return paths
}

// linked finds the places in S3 of a directory.
func (k *Kept) linked(c *spec.Cluster) {
	for _, s := range c.SharedStorage {
		for _, r := range s.Repositories {
			if !within(k.Path, r.Dir) {
				continue
			}
			url := "s3://" + r.Bucket + "/" + r.Prefix
			if len(r.AutoExport) > 0 {
				k.To = append(k.To, url)
			}
			if len(r.AutoImport) > 0 || len(r.AutoExport) == 0 {
				k.From = append(k.From, url)
			}
		}
	}
}

// exported finds the places in S3 to which muster.yaml exports a directory.
func (k *Kept) exported(w *spec.Workload) {
	for _, x := range w.Exports {
		if within(k.Path, x.Directory) {
			k.To = append(k.To, "s3://"+x.Bucket+"/"+x.Prefix)
		}
	}
}

// checkpoints says so if models write theirs into a directory.
func (k *Kept) checkpoints(e *Estimate, w *spec.Workload) {
	dirs, state := k.expanded(w), false
	for _, t := range e.Models {
		if t.Checkpoint != nil && slices.Contains(dirs, t.Checkpoint.Dir) {
			k.Bytes += t.Checkpoint.Bytes
			state = state || t.Checkpoint.Bytes > t.Checkpoint.WeightBytes
		}
	}
	switch {
	case k.Bytes == 0:
	case state:
		k.Holds = "checkpoints: weights and optimizer state"
	default:
		k.Holds = "checkpoints: weights"
	}
}

// machines are the directories on the machines' own disks.
func machines(e *Estimate, q Question) []Kept {
	var all []Kept
	for _, queue := range q.Cluster.Scheduling.Queues {
		disks := slices.ContainsFunc(e.Fleet.Groups, func(g Group) bool { return g.Queue == queue.Name && (g.Node.ScratchGB > 0 || !g.Node.DisksKnown) })
		dir := queue.ScratchDir
		if !disks || dir == "/" {
			continue
		}
		if i := slices.IndexFunc(all, func(k Kept) bool { return k.Path == dir }); i >= 0 {
			all[i].On += ", " + queue.Name
			continue
		}
		all = append(all, Kept{Path: dir, On: "own disks of each node of " + queue.Name, Holds: "temporary files: lost when the node ends"})
	}
	if e.fileSystemOf("/home") == nil {
		all = append(all, home(q.Cluster.HeadNode))
	}
	return all
}

// home is where /home is that no shared file system has.
func home(head spec.HeadNode) Kept {
	if head.SharedEFS {
		return Kept{Path: "/home", On: "an EFS that ParallelCluster makes", Holds: "home directories: lost with the cluster"}
	}
	k := Kept{Path: "/home", On: "root volume of the head node, over NFS", Holds: "home directories"}
	if !head.KeepRoot {
		k.Holds += ": lost with the cluster"
	}
	return k
}
