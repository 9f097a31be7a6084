// Package services knows the services of a head node: which programs, as whom, in
// which order, with which files. It promises that each keeps to the cluster's
// own files, sockets and network. Keeping them running is supervise's business.
package services

import (
	"path"
	"slices"

	"github.com/muster-hpc/muster/internal/spec"
)

// Where a machine of the cluster finds things.
const (
	SlurmDir = "/etc/slurm"
	BinDir   = "/opt/muster/bin"
	Muster   = BinDir + "/muster"
	// Slurm's ResumeProgram and SuspendProgram.
	ResumeProgram  = BinDir + "/resume"
	SuspendProgram = BinDir + "/suspend"
	// RebootProgram boots a node of a local cluster anew.
	RebootProgram = BinDir + "/reboot"
	// Seff says what a job used of what it was given.
	Seff = BinDir + "/seff"
	// JobProlog is slurmctld's prolog of a job, PrologSlurmctld.
	JobProlog = BinDir + "/prolog"
	RunDir    = "/run/muster"
	// SocketDir is the folder of a local cluster's run directory with what its machines see
	// below /run. It is closed: only machines of the cluster reach the sockets.
	SocketDir = "run/in"
	// AWSDir has the configuration that leads AWS programs to the cluster's own S3
	// server; the credentials lie beside it.
	AWSDir = "/etc/muster-aws"
	// ConfDir has what muster's own commands look for on every machine: the
	// accounts of the cluster's registry, as Docker's clients keep them, of its owner and
	// of its readers, the cluster file, and, in one line, the directory of its container
	// images.
	ConfDir      = "/etc/muster"
	ClusterFile  = ConfDir + "/cluster.yaml"
	WorkloadFile = ConfDir + "/muster.yaml"
	RegistryFile = ConfDir + "/registry.json"
	ReaderFile   = ConfDir + "/registry-reader.json"
	ImagesFile   = ConfDir + "/images"
	// SiteFile is what a cluster on AWS was made of.
	SiteFile = ConfDir + "/site.json"
	StateDir = "/var/spool/slurmctld"
	SpoolDir = "/var/spool/slurmd"
	GPUDir   = SlurmDir + "/gpu"
	// RESTSocket is slurmrestd's socket on the head node.
	RESTSocket = RunDir + "/rest/slurmrestd.sock"
)

// ControllerSocket is where the controller answers on a head node on AWS.
const ControllerSocket = RunDir + "/controller.sock"

// TicketFile says what a machine on AWS is.
const TicketFile = ConfDir + "/ticket.json"

// ImageDir is where a cluster keeps its container images: on the first shared
// file system of its file that is not /home, or else there.
func ImageDir(c *spec.Cluster) string {
	return path.Join(ImageStorage(c).MountDir, "containers", "images")
}

// ImageStorage is the file system that has ImageDir.
func ImageStorage(c *spec.Cluster) spec.SharedStorage {
	i := slices.IndexFunc(c.SharedStorage, func(s spec.SharedStorage) bool { return s.MountDir != "/home" })
	if i < 0 {
		return spec.SharedStorage{Name: "home", MountDir: "/home"}
	}
	return c.SharedStorage[i]
}
