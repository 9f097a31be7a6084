package expect

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/verify"
)

// Where the versions are from.
const (
	cudaNotes   = "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html"
	pluginNotes = "https://github.com/aws/aws-ofi-nccl/releases"
	efaNotes    = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-changelog.html"
	ncclNotes   = "https://docs.nvidia.com/deeplearning/nccl/release-notes/index.html"
	restartBug  = "https://github.com/NVIDIA/nvidia-resiliency-ext"
)

// family is an instance type's, such as p5.
func (b *builder) family() string {
	name, _, _ := strings.Cut(b.Type, ".")
	return name
}

// driverBands are drivers that are too old for what images are built with, or for the GPU.
func (b *builder) driverBands() []Band {
	bands := []Band{{Below: "535.54.03", Verdict: b.floor(), Why: "it is older than the driver of CUDA 12.2", Source: cudaNotes}}
	if l, ok := b.large(); ok && l.driver != "" {
		bands = append([]Band{{Below: l.driver, Verdict: verify.Fail, Why: l.why, Source: cudaNotes}}, bands...)
	}
	return bands
}

// floor is what a version below the least one is: types before P5 work with older ones.
func (b *builder) floor() verify.Verdict {
	if b.known && !strings.HasPrefix(b.family(), "p5") && !strings.HasPrefix(b.family(), "p6") {
		return verify.Warn
	}
	return verify.Fail
}

func cudaBands() []Band {
	return []Band{{Below: "12.2", Verdict: verify.Warn, Why: "images for CUDA 12.2 and newer do not run", Source: cudaNotes}}
}

// toolkitBands are toolkits that are too old for the GPU, or for what it is used for.
func (b *builder) toolkitBands() []Band {
	bands := []Band{{Below: "12.2", Verdict: b.floor(), Why: "it is older than CUDA 12.2", Source: cudaNotes}}
	if slices.Contains([]string{"b200", "b300"}, b.kind.GPU.Name) {
		bands = append([]Band{{Below: "12.8", Verdict: verify.Fail, Why: "it makes no code for Blackwell", Source: cudaNotes}}, bands...)
	}
	return bands
}

func (b *builder) ncclBands() []Band {
	return []Band{
		{Below: "2.18.5", Verdict: b.floor(), Why: "it is older than 2.18.5", Source: ncclNotes},
		{From: "2.28.3", Below: "2.28.9", Verdict: verify.Warn, Why: "these versions break restarts within a process", Source: restartBug},
		{Below: "2.24", Verdict: verify.Warn, Why: "it cannot be asked for its ranks when a job hangs (RAS, from 2.24)", Source: ncclNotes},
	}
}

// installerBands are of EFA's installer. nccl is the check that has NCCL's version beside it.
func (b *builder) installerBands(nccl string) []Band {
	return []Band{
		{Below: "1.26.1", Verdict: verify.Fail, Why: "it is older than 1.26.1", Source: efaNotes},
		{Below: "1.29.0", With: nccl, WithFrom: "2.19", Verdict: verify.Fail, Why: "NCCL from 2.19 on fails with it", Source: efaNotes},
	}
}

// pluginBands are of the OFI plugin: some instance types need one that knows them.
func (b *builder) pluginBands() []Band {
	bands := []Band{
		{Below: "1.8.1", Verdict: verify.Fail, Why: "it is older than 1.8.1", Source: pluginNotes},
		{Below: "1.17.3", Verdict: verify.Warn, Why: "it leaks memory of the host (mended in 1.17.3)", Source: pluginNotes},
	}
	for _, need := range []struct{ family, from string }{{"p6-b200", "1.15.0"}, {"p6-b300", "1.18.0"}, {"g7e", "1.17.2"}} {
		if b.family() == need.family {
			bands = append([]Band{{Below: need.from, Verdict: verify.Fail, Why: "versions before " + need.from + " do not know " + need.family, Source: pluginNotes}}, bands...)
		}
	}
	return bands
}

// recommended is the newest that is known to work together.
const recommended = " (tested together: CUDA 12.9.1, EFA 1.47.0, NCCL 2.29.3, https://github.com/aws-samples/awsome-distributed-training)"
