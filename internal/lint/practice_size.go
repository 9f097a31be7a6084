package lint

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// reservedAddresses are those of a subnet that AWS keeps.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
const reservedAddresses = 5

// manyAddresses is more than a /24 network has.
const manyAddresses = 256 - reservedAddresses

// subnetAddresses says how large a queue's subnet has to be. Until 3.14 every
// network card of a node has an address of its own; since 3.15 a node has one.
func subnetAddresses(q spec.View, level spec.Level) {
	subnets := q.At("Networking.SubnetIds")
	if len(subnets.Texts()) != 1 {
		return
	}
	nodes, addresses := 0, 0
	for _, r := range q.Key("ComputeResources").Items() {
		if !r.Key("MaxCount").Sound() {
			return
		}
		n := r.Key("MaxCount").Int()
		cards := 1
		if traits, ok := catalog.TraitsOf(r.Key("InstanceType").Text()); ok && r.At("Efa.Enabled").Bool() {
			cards = traits.Cards
		}
		nodes += n
		addresses += n * cards
	}
	if addresses <= manyAddresses {
		return
	}
	prefix := 32 - bits.Len(uint(addresses+reservedAddresses-1))
	hint := fmt.Sprintf("the subnet should be a /%d or larger", prefix)
	switch {
	case nodes == addresses:
		subnets.Infof("network/addresses", "%d nodes take %d addresses of the subnet", nodes, nodes).WithHint("%s", hint)
	case level < 15:
		subnets.Infof("network/addresses", "%d nodes take %d addresses of the subnet, one for each EFA interface", nodes, addresses).WithHint("%s", hint)
	default:
		subnets.Infof("network/addresses", "%d nodes take %d addresses of the subnet, and before ParallelCluster 3.15 one for each EFA interface: %d",
			nodes, nodes, addresses).WithHint("%s", hint)
	}
}

// sharedNodes finds GPU machines on which one job can take another's memory.
func sharedNodes(scheduling spec.View) {
	if scheduling.At("SlurmSettings.EnableMemoryBasedScheduling").Bool() {
		return
	}
	for _, q := range scheduling.Key("SlurmQueues").Items() {
		if q.Key("JobExclusiveAllocation").Bool() {
			continue
		}
		for _, r := range q.Key("ComputeResources").Items() {
			if in, ok := machine(r); ok && in.GPU.Count > 1 {
				q.Key("Name").Infof("practice/shared-memory", "jobs that share a node of %s can take each other's memory", q.Key("Name").Text()).
					WithHint("write EnableMemoryBasedScheduling: true below SlurmSettings, or JobExclusiveAllocation: true in the queue")
				break
			}
		}
	}
}

// unknownSockets finds machines of two processors whose cores Slurm does not know:
// ParallelCluster tells it the number of CPUs only, and Slurm takes each for a
// processor of its own, so that tasks are bound badly.
// https://github.com/aws/aws-parallelcluster/issues/5797
func unknownSockets(r spec.View) {
	in, ok := machine(r)
	if !ok || in.GPU.Count < 8 || in.ThreadsPerCore == 0 {
		return
	}
	for _, e := range r.Key("CustomSlurmSettings").Entries() {
		switch strings.ToLower(e.Key) {
		case "sockets", "socketsperboard", "corespersocket", "threadspercore", "boards":
			return
		}
	}
	threads := in.ThreadsPerCore
	if r.Key("DisableSimultaneousMultithreading").Bool() {
		threads = 1
	}
	r.Key("InstanceType").Infof("practice/sockets", "Slurm is not told the sockets and cores of %s, and takes each of its CPUs for a socket", in.Type).
		WithHint("write CustomSlurmSettings with what lscpu says on a node, for example {Sockets: 2, CoresPerSocket: %d, ThreadsPerCore: %d}",
			in.VCPUs/2/in.ThreadsPerCore, threads)
}

// noAccounting says what is not kept without a database.
func noAccounting(scheduling spec.View) {
	settings := scheduling.Key("SlurmSettings")
	if settings.Key("Database").Present() || settings.Key("ExternalSlurmdbd").Present() || len(gangs(scheduling)) == 0 {
		return
	}
	settings.Infof("practice/no-accounting", "without a Database, ParallelCluster's sacct knows no job that has ended").
		WithHint("muster's head node has a database of its own; write Database for one that outlives the cluster")
}

// unsupported are operating systems that get no security updates any more, and
// since when.
// https://aws.amazon.com/amazon-linux-2/faqs/ https://ubuntu.com/about/release-cycle
var unsupported = map[string]string{"alinux2": "2026-06-30", "ubuntu2004": "2025-05-31"}

// oldSystem finds operating systems that an older schema level still takes.
func oldSystem(os spec.View) {
	if since := unsupported[os.Text()]; os.Given() && since != "" {
		os.Warnf("image/end-of-life", "%s has had no security updates since %s", os.Text(), since).
			WithHint("write Os: alinux2023 or ubuntu2404, and check your scripts on it")
	}
}

// manyNodes is a cluster whose head node has work to do.
const manyNodes = 32

// smallHead finds head nodes that serve many nodes with little.
func smallHead(root spec.View) {
	nodes := 0
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		for _, r := range q.Key("ComputeResources").Items() {
			nodes += r.Key("MaxCount").Int()
		}
	}
	head := root.Key("HeadNode")
	kind := head.Key("InstanceType")
	if nodes < manyNodes || !kind.Given() {
		return
	}
	if in, ok := catalog.Lookup(kind.Text()); ok && (in.VCPUs < 4 || strings.HasPrefix(in.Type, "t")) {
		kind.Warnf("head/small", "%s is little for %d nodes: it schedules their jobs and serves their home directories", in.Type, nodes).
			WithHint("take 8 vCPUs or more that do not burst, for example c6i.4xlarge")
	}
	if size := head.At("LocalStorage.RootVolume.Size"); head.Key("SharedStorageType").Text() != "Efs" && !mounted(root, "/home") && !size.Present() {
		kind.Infof("head/root-size", "/home of %d nodes is on the head node's root volume, which has the image's size", nodes).
			WithHint("write LocalStorage: {RootVolume: {Size: 200}}, SharedStorageType: Efs, or mount a file system at /home")
	}
}

// mounted reports whether shared storage has a mount point.
func mounted(root spec.View, dir string) bool {
	for _, s := range root.Key("SharedStorage").Items() {
		if "/"+strings.Trim(s.Key("MountDir").Text(), "/") == dir {
			return true
		}
	}
	return false
}

// resultWords are in names of file systems that hold what a team cannot make
// again.
var resultWords = [...]string{"checkpoint", "ckpt", "result", "output", "model", "weight"}

// holdsResults guesses from its names whether a file system holds the results of
// training, and says by which word.
func holdsResults(s spec.View) (string, bool) {
	names := []string{s.Key("Name").Text(), s.Key("MountDir").Text()}
	for _, r := range s.At("FsxLustreSettings.DataRepositoryAssociations").Items() {
		names = append(names, r.Key("FileSystemPath").Text(), r.Key("Name").Text())
	}
	for _, name := range names {
		for _, word := range resultWords {
			if strings.Contains(strings.ToLower(name), word) {
				return name, true
			}
		}
	}
	return "", false
}

// exported reports whether a Lustre file system writes what is new to S3.
func exported(s spec.View) bool {
	for _, r := range s.At("FsxLustreSettings.DataRepositoryAssociations").Items() {
		for _, event := range r.Key("AutoExportPolicy").Texts() {
			if event == "NEW" {
				return true
			}
		}
	}
	return false
}

// deletedResults finds results on file systems that go with the cluster.
func deletedResults(s spec.View) {
	name, results := holdsResults(s)
	settings, ok := managed(s)
	if !results || !ok || exported(s) || settings.Key("DeletionPolicy").Text() != "Delete" || !settings.Key("DeletionPolicy").Sound() {
		return
	}
	settings.Key("DeletionPolicy").Warnf("storage/results-deleted", "ParallelCluster deletes %q with the cluster, and muster with `down --delete-data`: all that training has written there", name).
		WithHint("write DeletionPolicy: Retain in its settings, or export it to S3 with AutoExportPolicy")
}

// scratchResults finds results on file systems that keep no second copy.
func scratchResults(s spec.View) {
	kind := s.At("FsxLustreSettings.DeploymentType")
	name, results := holdsResults(s)
	if results && kind.Sound() && spec.KindOf(s) == spec.Lustre && strings.HasPrefix(kind.Text(), "SCRATCH") && !exported(s) &&
		!s.At("FsxLustreSettings.FileSystemId").Present() {
		kind.Warnf("storage/results-on-scratch", "%q is on a %s file system, which loses data when a server fails", name, kind.Text()).
			WithHint("write DeploymentType: PERSISTENT_2, or export it to S3 with AutoExportPolicy")
	}
}

// managed are the settings of a storage that is made with the cluster; false if
// it exists already or has no deletion policy.
func managed(s spec.View) (spec.View, bool) {
	switch spec.KindOf(s) {
	case spec.EBS, spec.EFS, spec.Lustre:
		return settingsOf(s), !existingID(s).Present()
	default:
		return spec.View{}, false
	}
}
