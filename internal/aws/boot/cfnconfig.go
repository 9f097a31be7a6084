package boot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// Facts are what a machine's scripts ask about it, as ParallelCluster's documentation
// teaches them to: by reading a file of shell variables.
//
// https://docs.aws.amazon.com/parallelcluster/latest/ug/custom-bootstrap-actions-v3.html
type Facts struct {
	Cluster, Region string
	// NodeType is HeadNode, ComputeFleet or LoginNode.
	NodeType string
	// User is the image's default user.
	User string
	// CPUs is the number of hardware threads.
	CPUs int
	// Scratch is where the instance's own disks are, Shared where EBS volumes are.
	Scratch string
	Shared  []string
	// Head and HeadAddress are the head node's name and address, and Queue is the
	// machine's; the head node has none of them.
	Head, HeadAddress, Queue string
	// Volumes are the head node's.
	Volumes []string
}

// The file, and the other path at which images of ParallelCluster's have it.
const (
	factsFile = "/etc/parallelcluster/cfnconfig"
	factsLink = "/opt/parallelcluster/cfnconfig"
)

// WriteFacts writes the file of a machine's facts.
func (m Machine) WriteFacts(f Facts) (string, error) {
	if _, err := m.Write(factsFile, f.shell(), 0o644, ""); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(m.path(factsLink)), 0o755); err != nil {
		return "", err
	}
	err := os.Symlink(factsFile, m.path(factsLink))
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return factsFile, err
}

// shell are the facts as shell reads them.
func (f Facts) shell() string {
	lines := []string{"# Written by muster, for scripts that were made for ParallelCluster."}
	set := func(name, value string) { lines = append(lines, name+"="+word(value)) }
	set("stack_name", f.Cluster)
	set("cfn_region", f.Region)
	set("cfn_scheduler", "slurm")
	set("cfn_scheduler_slots", "vcpus")
	set("cfn_instance_slots", strconv.Itoa(f.CPUs))
	set("cfn_ephemeral_dir", f.Scratch)
	set("cfn_ebs_shared_dirs", strings.Join(f.Shared, ","))
	set("cfn_proxy", "NONE")
	set("cfn_node_type", f.NodeType)
	set("cfn_cluster_user", f.User)
	if f.HeadAddress != "" {
		set("cfn_head_node", f.Head)
		set("cfn_head_node_private_ip", f.HeadAddress)
	}
	if f.Queue != "" {
		set("cfn_scheduler_queue_name", f.Queue)
	}
	if len(f.Volumes) > 0 {
		set("cfn_volume", strings.Join(f.Volumes, ","))
	}
	return strings.Join(lines, "\n") + "\n"
}

// word is one word of shell.
func word(s string) string {
	if s == "" {
		return ""
	}
	return shell.Line([]string{s})
}
