package expect

import "slices"

// Where bus bandwidths were published. ml-engineering is https://github.com/stas00/ml-engineering/tree/master/network/benchmarks, as of
// commit 744d01e; awsome-distributed-training that of aws-samples, micro-benchmarks/nccl-tests, as of 7219859f.
const (
	mlEngineering = "ml-engineering (github.com/stas00/ml-engineering, network/benchmarks)"
	awsTraining   = "awsome-distributed-training (github.com/aws-samples, micro-benchmarks/nccl-tests)"
	azureChecks   = "the threshold of azurehpc-health-checks (github.com/Azure) for ND H100 v5"
	readiness     = "a report of NVIDIA's Cluster Readiness Engine on AWS with EFA"
)

// row is a measurement that was published.
type row struct {
	types       []string
	nodes, gpus int
	collective  string
	Bandwidth
}

// published finds what was measured on such nodes.
func published(g Group) (Bandwidth, bool) {
	for _, r := range rows() {
		if r.nodes == g.Nodes && r.gpus == g.GPUs && r.collective == g.Collective && slices.Contains(r.types, g.InstanceType) {
			return r.Bandwidth, true
		}
	}
	return Bandwidth{}, false
}

func rows() []row {
	a100, h100 := []string{"p4d.24xlarge", "p4de.24xlarge"}, []string{"p5.48xlarge"}
	h200, b200 := []string{"p5e.48xlarge", "p5en.48xlarge"}, []string{"p6-b200.48xlarge"}
	measured := func(source string, at ...SizeRate) Bandwidth {
		return Bandwidth{At: at, Confidence: Measured, Source: source}
	}
	return []row{
		{a100, 1, 8, "all_reduce", measured(mlEngineering, SizeRate{16 * gib, 234.9})},
		{h100, 1, 8, "all_reduce", Bandwidth{At: []SizeRate{{8 * gib, 460}}, Confidence: Modelled, Source: azureChecks}},
		{h200, 1, 8, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 473})},
		{h200, 1, 8, "all_gather", measured(mlEngineering, SizeRate{16 * gib, 361.4})},
		{h200, 1, 8, "reduce_scatter", measured(mlEngineering, SizeRate{16 * gib, 362.9})},
		{h200, 1, 4, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 363})},
		{h200, 1, 5, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 414})},
		{h200, 1, 6, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 436})},
		{h200, 1, 7, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 460})},
		{b200, 1, 8, "all_reduce", measured(mlEngineering, SizeRate{4 * gib, 741}, SizeRate{8 * gib, 838}, SizeRate{16 * gib, 846})},
		{b200, 1, 4, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 673})},
		{b200, 1, 5, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 678})},
		{b200, 1, 6, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 778})},
		{b200, 1, 7, "all_reduce", measured(mlEngineering, SizeRate{8 * gib, 811})},
		{a100[1:], 2, 8, "all_reduce", measured(awsTraining, SizeRate{2 * gib, 78.3})},
		{h100, 2, 8, "all_reduce", measured(awsTraining, SizeRate{gib, 437}, SizeRate{4 * gib, 466}, SizeRate{16 * gib, 487})},
		{h100, 2, 8, "all_gather", measured(readiness, SizeRate{16 * gib, 338.6})},
		{h100, 2, 8, "alltoall", measured(readiness, SizeRate{16 * gib, 79.1})},
		{h200[1:], 4, 8, "all_reduce", measured(mlEngineering, SizeRate{4 * gib, 364.9})},
		{b200, 4, 8, "all_reduce", measured(mlEngineering, SizeRate{gib, 362}, SizeRate{4 * gib, 377}, SizeRate{16 * gib, 382})},
	}
}
