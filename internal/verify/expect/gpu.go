package expect

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
)

// Sources of what is right for GPUs.
const (
	smiSource      = "nvidia-smi's own answer of what the GPU can do"
	nvmlSource     = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html"
	eccSource      = "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html"
	fabricSource   = "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html"
	persistSource  = "https://docs.nvidia.com/deploy/driver-persistence/index.html"
	nvlinkSource   = "NVIDIA's datasheets: 12 NVLinks for each A100, 18 for each H100, H200 and B200"
	dcgmSource     = "https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html"
	topologySource = "nvidia-smi topo -m, and NVIDIA's datasheets: NVSwitches join all A100, H100, H200 and B200 of an instance"
	xidSource      = "https://docs.nvidia.com/deploy/xid-errors/index.html"
	replaceAdvice  = "drain the node and have it replaced"
	resetAdvice    = "reset the GPU or restart the instance; if it comes again, have the node replaced"
	restartManager = "look at journalctl -u nvidia-fabricmanager on the node"
)

func (b *builder) gpu() {
	all := b.gpuPlaces()
	all = append(all, b.gpuLinks()...)
	all = append(all, gpuHealth(max(1, b.Diagnosis))...)
	all = append(all, gpuState()...)
	switch {
	case b.Rehearsal:
		all = skipped(rehearsed, all)
	case b.lacksGPUs():
		// That there is none is looked at; nothing else is.
		for i := range all {
			if all[i].Check != "gpu-count" {
				all[i].Skip = b.whyNoGPUs()
			}
		}
	}
	b.add(verify.GPU, all...)
}

func (b *builder) whyNoGPUs() string {
	if b.Role == Head {
		return fmt.Sprintf("a head node needs no GPU, and %s has none", b.Type)
	}
	return b.Type + " has no GPUs"
}

// gpuPlaces are how many GPUs there are, and which.
func (b *builder) gpuPlaces() []Expectation {
	g := b.kind.GPU
	n := Expectation{Check: "gpu-count", Want: count.Of(g.Count, "GPU"), Must: exactly(float64(g.Count)), Source: b.listed(), Required: true,
		Why: "jobs that ask for all GPUs of the node fail or hang", Hint: replaceAdvice}
	switch {
	case b.lacksGPUs():
		n.Want = "no GPU"
	case !b.known:
		n.Want, n.Must, n.Source = "as many as the PCI bus has", Range{}, "the machine's own PCI bus"
	}
	all := []Expectation{n}
	if b.known && g.Count > 0 {
		name := strings.ToUpper(g.Name)
		all = append(all,
			Expectation{Check: "gpu-model", Want: name, Words: []string{name}, Source: b.listed(), Required: true},
			Expectation{Check: "gpu-memory", Want: fmt.Sprintf("%d MiB each, less what the driver keeps", g.MemoryMiB), Must: least(0.9 * float64(g.MemoryMiB)),
				Source: b.listed() + ", less a tenth for ECC and the driver", Required: true, Hint: replaceAdvice})
	}
	return append(all,
		Expectation{Check: "gpu-driver", Want: "535.54.03 or newer", Bands: b.driverBands(), Source: "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html", Required: true,
			Hint: "use an image with a newer driver"},
		Expectation{Check: "gpu-cuda", Want: "a driver that serves CUDA 12.2 or newer", Bands: cudaBands(),
			Source: "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html", Hint: "use an image with a newer driver"})
}

// gpuLinks are what joins the GPUs with each other and with the CPUs.
func (b *builder) gpuLinks() []Expectation {
	width := Expectation{Check: "gpu-pcie-width", Want: "as many lanes as the GPU can use", Source: smiSource, Required: true,
		Why: "copies between host and GPU are slower by as much", Hint: replaceAdvice}
	speed := Expectation{Check: "gpu-pcie-gen", Want: "the newest PCIe that the GPU can use", Source: smiSource, Soft: true,
		Why: "copies between host and GPU are slower by as much", Hint: replaceAdvice}
	links := Expectation{Check: "gpu-nvlinks", Want: "all NVLinks up", Source: "nvidia-smi nvlink --status", Required: true,
		Why: "collectives within the node are slower, or fail", Hint: replaceAdvice}
	l, ok := b.large()
	if ok {
		width.Want, width.Must = fmt.Sprintf("x%d", l.lanes), least(float64(l.lanes))
		links.Want, links.Must, links.Source = fmt.Sprintf("%d NVLinks up of each GPU", l.links), exactly(float64(l.links)), nvlinkSource
	}
	if ok && l.speed > 0 {
		speed.Want, speed.Must = fmt.Sprintf("gen %d", l.speed), least(float64(l.speed))
	}
	if b.known && b.kind.GPU.Count > 0 && (!ok || b.kind.GPU.Count < 2) {
		links.Skip = "no NVLinks join the GPUs of " + b.Type
	}
	fabric := []Expectation{
		{Check: "gpu-fabric", Want: "Completed, Success", Words: []string{"Completed"}, Source: fabricSource, Why: "CUDA does not start on this GPU", Hint: restartManager},
		{Check: "gpu-fabric-manager", Want: "active", Words: []string{"active"}, Source: fabricSource, Why: "CUDA does not start without it", Hint: restartManager},
		{Check: "gpu-fabric-version", Want: "the driver's version", Source: fabricSource, Why: "a fabric manager of another version does not start",
			Hint: "install nvidia-fabricmanager of the driver's version"},
	}
	if b.known && b.kind.GPU.Count > 0 && (!ok || b.kind.GPU.Count < 2) {
		fabric = skipped("no NVSwitch joins the GPUs of "+b.Type, fabric)
	}
	ways := Expectation{Check: "gpu-topology", Want: "NVLink between all pairs of GPUs", Source: topologySource, Required: true,
		Why: "data between these GPUs goes over PCIe", Hint: replaceAdvice}
	if !ok || b.kind.GPU.Count < 2 {
		ways.Required = false
		ways.Skip = "no NVLink joins all GPUs of such a node, as far as is known"
	}
	return append([]Expectation{width, speed, links, ways}, fabric...)
}

// gpuHealth is what a GPU counts of its errors.
func gpuHealth(level int) []Expectation {
	return []Expectation{
		{Check: "gpu-ecc", Want: "Enabled", Words: []string{"Enabled"}, Source: eccSource, Why: "errors of its memory go unseen", Hint: "nvidia-smi -e 1, and restart"},
		{Check: "gpu-ecc-errors", Want: "no uncorrected errors since the driver was loaded", Must: most(0), Source: eccSource, Why: "its memory loses data", Hint: resetAdvice},
		{Check: "gpu-ecc-past", Want: "no uncorrected errors ever", Must: most(0), Soft: true, Source: eccSource, Why: "its memory has lost data before",
			Hint: "keep an eye on it: a GPU that fails again fails often"},
		{Check: "gpu-remap", Want: "no rows waiting to be remapped, and none that could not be", Words: []string{"No", "no", "0"}, Source: eccSource,
			Why: "a row of its memory is broken", Hint: resetAdvice},
		{Check: "gpu-dcgm", Want: fmt.Sprintf("DCGM's diagnosis of level %d finds nothing", level), Source: dcgmSource, Why: "DCGM says that a GPU is not sound", Hint: "dcgmi diag -r 3 on the node says more; " + replaceAdvice},
		{Check: "gpu-xid", Want: "no Xid that condemns the GPU in the kernel's log", Must: most(0), Source: xidSource, Why: "the kernel says that a GPU failed", Hint: resetAdvice},
	}
}

// gpuState is how a GPU is set, and how it fares.
func gpuState() []Expectation {
	return []Expectation{
		{Check: "gpu-persistence", Want: "Enabled", Words: []string{"Enabled"}, Soft: true, Source: persistSource,
			Why: "each start of CUDA takes seconds for each GPU", Hint: "start nvidia-persistenced"},
		{Check: "gpu-power", Want: "the power limit that it has by default", Soft: true, Source: smiSource, Why: "the GPU is held below its speed",
			Hint: "nvidia-smi --power-limit, with the default"},
		{Check: "gpu-throttle", Want: "nothing slows the clocks but idleness", Source: nvmlSource, Why: "the GPU is slower than others, and all wait for it",
			Hint: "drain the node; have it replaced if it does not go away"},
		{Check: "gpu-temperature", Want: "below 85 °C", Should: most(84), Must: most(94), Source: "bounds that others' cluster checks use: 85 °C warns, 95 °C fails",
			Why: "a GPU slows down as it gets hot", Hint: replaceAdvice},
		{Check: "gpu-mig", Want: "Disabled", Words: []string{"Disabled"}, Soft: true, Source: "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
			Why: "a GPU in parts is no GPU for NCCL", Hint: "nvidia-smi -mig 0"},
		{Check: "gpu-processes", Want: "no process but this job's uses a GPU", Must: most(0), Soft: true, Source: ownBound,
			Why: "memory is taken, and measurements are worse", Hint: "end it; what has no process is gone after a reset of the GPU"},
	}
}
