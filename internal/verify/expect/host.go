package expect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
)

// Sources that several expectations share.
const (
	mungeSource = "muster's own bounds: munge refuses credentials of more than 300 s, https://github.com/dun/munge/wiki/Man-7-munge"
	efaGuide    = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html"
	ownBound    = "muster's own bound"
	slurmUnit   = "Slurm's slurmd.service, https://github.com/SchedMD/slurm/blob/master/etc/slurmd.service.in"
)

// fraction of an instance type's memory is what Slurm is told of it.
const fraction = 0.95

func (b *builder) host() {
	b.add(verify.Host, b.parts()...)
	b.add(verify.Host, b.clock()...)
	b.add(verify.Host, b.programs()...)
	b.add(verify.Host, b.files(), b.stack(),
		b.environment(),
		b.idle(),
	)
}

// environment is that of a job, which runs on compute nodes.
func (b *builder) environment() Expectation {
	e := Expectation{Check: "environment", Want: "no variables that harm NCCL or libfabric", Source: "muster's list of variables, as in muster check job"}
	if b.Role != Compute {
		e.Skip = "no job runs here"
	}
	return e
}

// files is how many files a job may have open.
func (b *builder) files() Expectation {
	e := Expectation{Check: "nofile", Want: "131072 open files or more at the hard limit", Must: least(131072), Soft: true, Source: slurmUnit,
		Why: "ranks of a large job open thousands of files and sockets", Hint: "raise it where slurmd starts: LimitNOFILE in its systemd unit, or ulimit -Hn of who ran muster up for a cluster on one machine"}
	if b.Rehearsal {
		e.Skip = "a rehearsal: the limit is that of whoever started the cluster"
	}
	return e
}

// stack is the limit that threads' stacks are made of, where nobody asks for another.
func (b *builder) stack() Expectation {
	e := Expectation{Check: "stack", Want: "no limit of the stack that a job cannot lift", Words: []string{"unlimited"}, Soft: true, Source: slurmUnit,
		Why: "programs that need deep stacks end with a segmentation fault", Hint: "lift it where slurmd starts: LimitSTACK=infinity in its systemd unit, or ulimit -Hs of who ran muster up for a cluster on one machine"}
	switch {
	case b.Rehearsal:
		e.Skip = "a rehearsal: the limit is that of whoever started the cluster"
	case b.Role != Compute:
		e.Skip = "no job runs here"
	}
	return e
}

// parts are the machine's CPUs and memory.
func (b *builder) parts() []Expectation {
	all := []Expectation{
		{Check: "arch", Want: b.kind.Arch, Words: []string{b.kind.Arch}, Source: b.listed(), Required: true},
		{Check: "cpus", Want: count.Of(b.cpus(), "CPU"), Must: exactly(float64(b.cpus())), Source: b.listed(), Required: true},
		b.memory(),
	}
	switch {
	case b.Rehearsal:
		return skipped("a rehearsal: this machine's CPUs and memory are shared by all nodes", all)
	case !b.known:
		return skipped(b.unknown(), all)
	}
	return all
}

func (b *builder) unknown() string {
	if b.Type == "" {
		return "the instance type is not known"
	}
	return "nothing is known of " + b.Type
}

// cpus are threads, or cores where the file has one thread for each.
func (b *builder) cpus() int {
	off := b.Resource != nil && b.Resource.DisableSMT || b.Role == Head && b.Cluster != nil && b.Cluster.HeadNode.DisableSMT
	if off && b.kind.ThreadsPerCore > 1 {
		return b.kind.VCPUs / b.kind.ThreadsPerCore
	}
	return b.kind.VCPUs
}

func (b *builder) memory() Expectation {
	mib := fraction * float64(b.kind.MemoryMiB)
	source := "what Slurm is told: 95 % of the type's memory, https://docs.aws.amazon.com/parallelcluster/latest/ug/slurm-mem-based-scheduling-v3.html"
	if b.Resource != nil && b.Resource.SchedulableMemoryMiB > 0 {
		mib, source = float64(b.Resource.SchedulableMemoryMiB), ofFile(b.Cluster, "SchedulableMemory")
	}
	return Expectation{Check: "memory", Want: fmt.Sprintf("%.0f MiB or more", mib), Must: least(mib), Source: source, Required: true,
		Why: "Slurm drains a node that has less memory than it was told", Hint: "end the instance: a module of its memory may be missing"}
}

// clock bounds are in seconds.
func (b *builder) clock() []Expectation {
	all := []Expectation{
		{Check: "clock", Want: "within 1 s of the asker's clock", Should: most(1), Must: most(60), Source: mungeSource, Required: true,
			Why: "munge and S3 refuse what comes from another time, and logs cannot be compared", Hint: "look at chronyc tracking on the node"},
		{Check: "clock-synchronised", Want: "the kernel's clock follows a server's", Words: []string{"yes"}, Soft: true,
			Source: "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configure-ec2-ntp.html", Why: "the clock drifts", Hint: "start chronyd"},
	}
	if b.Role == Head {
		all[0].Skip = "the head node asks: its clock is the one that others are held against"
	}
	if b.Alone {
		all[0].Skip = "the machine is looked at alone: it asks itself"
	}
	if b.Rehearsal {
		all[1].Skip = "a rehearsal: the clock is this machine's"
	}
	return all
}

// programs are those without which nothing runs here.
func (b *builder) programs() []Expectation {
	daemons := map[Role][]string{Head: {"munged", "slurmctld"}, Login: {"munged"}, Compute: {"munged", "slurmd"}}[b.Role]
	if b.Role == Compute && (b.Rehearsal || b.Cluster == nil) { // nodes of a rehearsal share one munged; other clusters may use auth/slurm
		daemons = []string{"slurmd"}
	}
	all := []Expectation{{Check: "daemons", Want: strings.Join(daemons, " and ") + " running", Words: daemons, Required: true,
		Source: "https://slurm.schedmd.com/quickstart_admin.html", Why: "Slurm cannot use this machine", Hint: "look at the logs of what is missing"}}
	if b.Role == Compute {
		all = append(all, Expectation{Check: "containers", Want: "srun knows --container-image", Words: []string{"yes"}, Soft: true,
			Source: "https://github.com/NVIDIA/pyxis", Why: "no job can run in an image by srun", Hint: "install Pyxis and Enroot, or let muster make the cluster"})
	}
	if b.Alone {
		all = skipped("the machine is looked at alone, without Slurm", all)
	}
	return append(all,
		Expectation{Check: "docker", Want: "muster builds and imports images without it", Source: "muster image build"},
		Expectation{Check: "enroot", Want: "muster's containers stand in for it", Source: "muster's plugin for srun"})
}

// idle is that nothing else runs while measurements are made.
func (b *builder) idle() Expectation {
	e := Expectation{Check: "idle", Want: "tasks wait for a CPU for at most 10 % of the time", Should: most(10), Source: ownBound,
		Why: "what else runs here makes measurements worse", Hint: "look at top on the node"}
	switch {
	case b.Rehearsal:
		e.Skip = "a rehearsal: all nodes share this machine"
	case b.Role != Compute:
		e.Skip = "nothing is measured here"
	}
	return e
}

// lacksGPUs says that the machine has none, which is right.
func (b *builder) lacksGPUs() bool { return b.known && b.kind.GPU.Count == 0 }

// large are GPUs that are joined by NVLink and NVSwitch, and what is known of them.
type large struct {
	name         string
	links        int
	lanes, speed int // PCIe's
	driver, why  string
}

// NVLinks: NVIDIA's datasheets of A100, H100, H200 and B200. Drivers: notes of the CUDA releases that know the GPU first.
var larges = [...]large{
	{name: "a100", links: 12, lanes: 16, speed: 4},
	{name: "h100", links: 18, lanes: 16, speed: 5},
	{name: "h200", links: 18, lanes: 16, speed: 5},
	{name: "b200", links: 18, lanes: 16, speed: 5, driver: "570", why: "drivers before 570 do not know B200"},
	{name: "b300", links: 18, lanes: 16, driver: "575", why: "drivers before 575 do not know B300"},
}

func (b *builder) large() (large, bool) {
	i := slices.IndexFunc(larges[:], func(l large) bool { return l.name == b.kind.GPU.Name })
	if i < 0 {
		return large{}, false
	}
	return larges[i], true
}
