// Package nodes runs clusters on this machine: an anchor process whose
// namespaces hold a whole cluster, nodes that are process trees with a network
// and a root of their own inside it, and the end of all that. It promises that
// nothing which runs on a node changes the host, that a cluster goes on when the process
// that made it ends, and that nothing outlives the anchor. Other packages decide what
// runs on a head node and when nodes come and go.
package nodes

import (
	"path/filepath"
	"strings"
)

// Layout is the run directory of one local cluster and who owns it. All that a
// cluster has on the host lies below Dir.
//
//	cluster.json   what was asked for: see Record
//	anchor.json    the anchor process and its namespaces
//	record.lock    held while cluster.json is changed
//	bin/           the muster that the cluster runs
//	etc/           slurm/, munge/, hosts, services.json, credentials
//	links/         what was imported from buckets and exported to them
//	log/           one file for each daemon and node
//	mnt/           a memory file system: every machine's own root
//	nodes/         every node's own disk: /tmp and /scratch; and what came of its burn-in
//	run/           which services run; in/ has sockets, as machines have them below /run
//	s3/            buckets
//	shared/        the cluster file's mounts
//	state/         slurmctld's and MariaDB's files
type Layout struct {
	Dir string
	// Rootless clusters live in a user namespace of an ordinary user, whose IDs
	// UID and GID are; all jobs run as that user.
	Rootless bool
	UID, GID int
}

// Path is a file or directory of the run directory.
func (l *Layout) Path(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

func (l *Layout) machineDir(name string) string { return l.Path("mnt", name) }

// headDir is the head node's folder beside those of the nodes.
const headDir = "head"

// nodeName reports whether a node can have this name: its folders are named for it.
func nodeName(name string) bool {
	return name != headDir && name != "." && filepath.IsLocal(name) && !strings.Contains(name, "/")
}
