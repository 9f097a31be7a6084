package spec

import "strings"

// ownPlaces are directories where muster has files of its own on the machines of every
// cluster, here and on AWS. ParallelCluster knows nothing of them.
var ownPlaces = []string{
	"/etc/munge", "/etc/muster", "/etc/muster-aws", "/etc/slurm", "/opt/muster", "/run/munge", "/run/muster", "/run/mysqld", "/var/lib/mysql",
	"/var/spool/slurmctld", "/var/spool/slurmd",
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
