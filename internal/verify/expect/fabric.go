package expect

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
)

// fabric is EFA, with what it needs.
func (b *builder) fabric() {
	n := b.kind.EFA
	all := []Expectation{
		{Check: "efa-devices", Want: count.Of(n, "EFA device"), Must: least(float64(n)), Should: exactly(float64(n)), Source: b.listed(), Required: true,
			Why: "the network is slower by as much", Hint: "end the instance: it was launched without all of its interfaces, or one is broken"},
		{Check: "efa-installer", Want: "1.26.1 or newer, with NCCL from 2.19 on 1.29.0", Bands: b.installerBands("container-nccl"), Source: efaNotes, Required: true,
			Why: "without EFA's software NCCL falls back to TCP", Hint: "install EFA's software: " + efaGuide + recommended},
		{Check: "efa-driver", Want: "the kernel's driver is loaded", Source: efaGuide, Required: true, Hint: "install EFA's software: " + efaGuide},
		{Check: "efa-libfabric", Want: "there is one", Source: efaGuide, Required: true, Hint: "install EFA's software: " + efaGuide},
		{Check: "efa-domains", Want: fmt.Sprintf("libfabric offers %s", count.Of(n, "domain")), Must: least(float64(n)), Should: exactly(float64(n)), Source: b.listed(), Required: true,
			Why: "libfabric does not use all devices", Hint: "look at fi_info -p efa on the node"},
		{Check: "efa-memlock", Want: "unlimited locked memory", Words: []string{"unlimited"}, Source: efaGuide, Required: true,
			Why: "EFA cannot register memory beyond the limit", Hint: "set LimitMEMLOCK=infinity in slurmd's unit"},
		{Check: "efa-hugepages", Want: "5128 huge pages of 2 MiB", Must: least(5128), Soft: true, Source: "EFA's installer, which keeps 5128 pages",
			Why: "the provider takes small pages, which is slower", Hint: "look at vm.nr_hugepages"},
		{Check: "efa-plugin", Want: "if the host has the OFI plugin, 1.8.1 or newer, better 1.17.3", Bands: b.pluginBands(), Source: pluginNotes, Hint: "install a newer EFA"},
	}
	b.add(verify.EFA, b.fabricSkipped(all)...)
}

// fabricSkipped says why a machine has no EFA, where that is right. Where nothing is known, its devices are counted.
func (b *builder) fabricSkipped(all []Expectation) []Expectation {
	switch {
	case b.Role != Compute:
		return skipped("EFA is for compute nodes: here its software may be installed, and is not used", all)
	case b.known && b.kind.EFA == 0:
		return skipped(b.Type+" has no EFA", all)
	case b.Rehearsal:
		return skipped(rehearsedEFA, all)
	case b.known && !b.efa:
		return skipped("the cluster file does not enable EFA here", all)
	case !b.known:
		for i := range all {
			if all[i].Check == "efa-devices" || all[i].Check == "efa-domains" {
				all[i].Must, all[i].Should = Range{}, Range{}
				all[i].Want, all[i].Source = "as many as the kernel has", "the machine's own devices"
			}
		}
	}
	return all
}

// container is what is right in the image of a job.
func (b *builder) container() {
	if b.Role != Compute {
		return
	}
	all := []Expectation{
		{Check: "container-gpus", Want: count.Of(b.kind.GPU.Count, "GPU"), Must: exactly(float64(b.kind.GPU.Count)), Source: b.listed(), Required: true,
			Why: "the container does not see the node's GPUs", Hint: "look at NVIDIA's container toolkit on the node"},
		{Check: "container-cuda", Want: "CUDA 12.2 or newer", Bands: b.toolkitBands(), Source: cudaNotes, Hint: "take a newer image" + recommended},
		{Check: "container-cuda-driver", Want: "a driver for the image's CUDA", Source: "https://docs.nvidia.com/deploy/cuda-compatibility/", Required: true,
			Why: "CUDA of a newer major version does not start on this driver", Hint: "take an older image, or a newer driver"},
		{Check: "container-nccl", Want: "NCCL 2.18.5 or newer, better 2.24", Bands: b.ncclBands(), Source: ncclNotes, Required: true, Hint: "take a newer image"},
		{Check: "container-ofi", Want: "the OFI plugin 1.8.1 or newer, better 1.17.3", Bands: b.pluginBands(), Source: pluginNotes, Required: true,
			Why: "without it NCCL falls back to TCP", Hint: "install it into the image"},
		{Check: "container-libfabric", Want: "libfabric with EFA", Source: efaGuide, Required: true, Why: "without it NCCL falls back to TCP", Hint: "install EFA's software into the image"},
		{Check: "container-efa", Want: "EFA's device files can be opened: " + count.Of(b.kind.EFA, "device"), Must: least(float64(b.kind.EFA)), Source: b.listed(), Required: true,
			Why: "NCCL falls back to TCP", Hint: "mount /dev/infiniband into the container"},
	}
	switch {
	case b.Rehearsal:
		all = skipped(rehearsed, all)
	case b.lacksGPUs():
		all = skipped(b.Type+" has no GPUs", all)
	case !b.known:
		all[0].Must, all[0].Want, all[0].Source = Range{}, "as many as the PCI bus has", "the machine's own PCI bus"
		all[6].Must, all[6].Want, all[6].Source = Range{}, "those of the machine", "the machine's own devices"
	case !b.efa:
		for i := range all {
			if c := all[i].Check; c == "container-ofi" || c == "container-libfabric" || c == "container-efa" {
				all[i].Skip = "there is no EFA here"
			}
		}
	}
	b.add(verify.Container, all...)
	b.add(verify.Container, b.inside()...)
}

// inside is right in every image for training.
func (b *builder) inside() []Expectation {
	return []Expectation{
		{Check: "container-pytorch", Want: "PyTorch, built for CUDA", Source: "https://pytorch.org/get-started/locally/", Soft: true, Hint: "take an image with PyTorch"},
		{Check: "container-megatron", Want: "Megatron-LM, where jobs use it", Source: "https://github.com/NVIDIA/Megatron-LM"},
		{Check: "container-memlock", Want: "unlimited locked memory", Words: []string{"unlimited"}, Soft: !b.efa, Source: efaGuide, Why: "EFA cannot register memory beyond the limit",
			Hint: "set LimitMEMLOCK=infinity in slurmd's unit"},
		{Check: "container-shm", Want: "1 GiB of /dev/shm or more", Must: least(1 << 30), Source: "https://docs.nvidia.com/deeplearning/frameworks/user-guide/index.html#setincshmem",
			Why: "PyTorch's data loaders end with a bus error", Hint: "give the container the host's /dev/shm"},
		{Check: "container-environment", Want: "no variables that harm NCCL or libfabric", Source: "muster's list of variables, as in muster check job"},
	}
}
