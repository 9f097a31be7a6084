package spec

import (
	"fmt"
	"slices"
	"strings"
)

// ownPlaces are directories where muster has files of its own on the machines of every
// cluster, here and on AWS. ParallelCluster knows nothing of them.
var ownPlaces = []string{
	"/etc/munge", "/etc/muster", "/etc/muster-aws", "/etc/slurm", "/etc/ssh", "/opt/muster", "/run/munge", "/run/muster", "/run/muster-ssh", "/run/mysqld",
	"/var/lib/mysql", "/var/spool/slurmctld", "/var/spool/slurmd",
}

// OwnPlace is muster's own directory that a mount directory hides or lies in, empty if
// there is none.
func OwnPlace(mountDir string) string {
	for _, place := range ownPlaces {
		if mountDir == place || strings.HasPrefix(mountDir, place+"/") {
			return place
		}
	}
	return ""
}

// warnOwnPlace warns of mount directories that ParallelCluster takes and muster refuses.
func warnOwnPlace(v View) {
	if place := OwnPlace(mountDir(v)); place != "" {
		v.Warnf("storage/mount", "muster has files of its own in %s, and makes no cluster with this", place).
			WithHint("choose another directory, for example /shared")
	}
}

// ownSettings are the settings of slurm.conf, in small letters, that a cluster on one
// machine sets itself. ParallelCluster passes them on; what it refuses is in denied.
var ownSettings = []string{
	"accountingstoragehost", "accountingstorageport", "accountingstoragetype", "authtype", "clustername", "credtype", "plugstackconfig",
	"slurmctldaddr", "slurmctldpidfile", "slurmctldport", "slurmdport", "slurmdspooldir", "slurmduser", "statesavelocation",
}

// OwnSetting tells whether a setting of slurm.conf is a local cluster's own.
func OwnSetting(key string) bool { return slices.Contains(ownSettings, strings.ToLower(key)) }

// RefuseMounts is why muster makes no cluster with the mount directories of a file, nil if
// it does.
func (c *Cluster) RefuseMounts() error {
	dirs := c.ScratchDirs()
	for _, s := range c.SharedStorage {
		dirs = append(dirs, s.MountDir)
	}
	for _, dir := range dirs {
		if place := OwnPlace(dir); place != "" {
			return fmt.Errorf("%s cannot be a MountDir: a cluster has files of its own in %s; choose another directory, for example /shared", dir, place)
		}
	}
	return nil
}

// ScratchDirs are the directories where machines' own disks are mounted.
func (c *Cluster) ScratchDirs() []string {
	dirs := []string{c.HeadNode.ScratchDir}
	for _, q := range c.Scheduling.Queues {
		dirs = append(dirs, q.ScratchDir)
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(d string) bool { return d == "" })
}
