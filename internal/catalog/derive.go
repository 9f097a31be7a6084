package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// The rules below are EC2's published specifications of its general purpose,
// compute, memory and storage families, put shortly: a size fixes the vCPUs
// (large 2, xlarge 4, Nxlarge 4N), a family fixes the memory for each vCPU.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/
// The tables are made when they are first needed.

// sizes are the sizes that exist; a family has some of them.
var sizes = []string{
	"nano", "micro", "small", "medium", "large", "xlarge", "2xlarge", "3xlarge", "4xlarge", "6xlarge", "8xlarge",
	"9xlarge", "10xlarge", "12xlarge", "16xlarge", "18xlarge", "24xlarge", "32xlarge", "36xlarge", "48xlarge",
	"56xlarge", "64xlarge", "96xlarge", "112xlarge", "224xlarge", "480xlarge", "metal", "metal-12xl", "metal-16xl",
	"metal-24xl", "metal-32xl", "metal-48xl", "metal-96xl",
}

// memoryPerCPU is GiB for each vCPU: of a family where it differs from its
// letters, or of the letters that all families of a kind begin with.
var memoryPerCPU = sync.OnceValue(func() map[string]float64 {
	return map[string]float64{
		"a": 2, "c": 2, "m": 4, "r": 8, "z": 8, "h": 4, "vt": 2,
		"c3": 1.875, "c4": 1.875, "c5n": 2.625, "m3": 3.75, "r3": 7.625, "r4": 7.625,
		"x": 16, "x1": 15.25, "x1e": 30.5, "x2iedn": 32, "x2iezn": 32, "x8aedz": 32,
		"i": 8, "i2": 7.625, "i3": 7.625, "im": 4, "is": 6,
		"d": 8, "d2": 7.625, "d3en": 4, "f1": 15.25, "f2": 32.0 / 3,
	}
})

// shape is a size that breaks its family's rule.
type shape struct{ vcpus, memoryMiB int }

const gib = 1024

var exceptions = sync.OnceValue(func() map[string]shape {
	return map[string]shape{
		"c4.8xlarge": {36, 60 * gib}, "d2.8xlarge": {36, 244 * gib}, "m3.medium": {1, 3840},
		"c5n.9xlarge": {36, 96 * gib}, "c5n.18xlarge": {72, 192 * gib}, "c5n.metal": {72, 192 * gib},
		// Cores of HPC types run one thread, and sizes of one type differ in cores only.
		"hpc6a.48xlarge": {96, 384 * gib}, "hpc6id.32xlarge": {64, 1024 * gib},
		"hpc7a.12xlarge": {24, 768 * gib}, "hpc7a.24xlarge": {48, 768 * gib},
		"hpc7a.48xlarge": {96, 768 * gib}, "hpc7a.96xlarge": {192, 768 * gib},
		"hpc7g.4xlarge": {16, 128 * gib}, "hpc7g.8xlarge": {32, 128 * gib}, "hpc7g.16xlarge": {64, 128 * gib},
		"hpc8a.96xlarge": {192, 768 * gib},
	}
})

// burstable are the sizes of t families below large. T2 has one vCPU up to
// small, the later ones have two.
var burstable = sync.OnceValue(func() map[string]shape {
	return map[string]shape{
		"nano": {2, 512}, "micro": {2, 1 * gib}, "small": {2, 2 * gib}, "medium": {2, 4 * gib}, "large": {2, 8 * gib},
	}
})

// metalCPUs are the vCPUs of sizes called just "metal".
var metalCPUs = sync.OnceValue(func() map[string]int {
	return map[string]int{
		"a1": 16, "i3": 72, "z1d": 48, "m5zn": 48, "x2iezn": 48, "c6g": 64, "c6gd": 64, "m6g": 64, "m6gd": 64, "r6g": 64,
		"r6gd": 64, "x2gd": 64, "c7g": 64, "c7gd": 64, "c7gn": 64, "m7g": 64, "m7gd": 64, "r7g": 64, "r7gd": 64,
		"c5": 96, "c5d": 96, "m5": 96, "m5d": 96, "m5n": 96, "m5dn": 96, "r5": 96, "r5b": 96, "r5d": 96, "r5n": 96,
		"r5dn": 96, "i3en": 96, "c6a": 192, "m6a": 192, "r6a": 192, "c6i": 128, "c6id": 128, "c6in": 128, "m6i": 128,
		"m6id": 128, "m6in": 128, "m6idn": 128, "r6i": 128, "r6id": 128, "r6in": 128, "r6idn": 128, "i4i": 128,
		"x2idn": 128, "x2iedn": 128,
	}
})

// family is a type's name before the dot, such as "c7gn": letters, generation
// and attributes.
type family struct {
	name, letters string
	generation    int
	attributes    string
	// terabytes is the memory of high-memory families, which have it in their name.
	terabytes int
}

var familyPattern = pattern.New(`^([a-z]{1,3})(?:(\d{1,2})([a-z]*)(?:-flex)?|(?:(\d)[a-z]*)?-(\d{1,2})tb(?:\d)?)$`)

// derive works out an instance type from its name. Families with accelerators
// are not derived: the number of GPUs does not follow from a name.
func derive(instanceType string) (Instance, bool) {
	name, size, ok := strings.Cut(instanceType, ".")
	if !ok || len(instanceType) > 32 || !slices.Contains(sizes, size) || !exists(name, size) {
		return Instance{}, false
	}
	f, ok := parseFamily(name)
	if !ok || f.accelerated() {
		return Instance{}, false
	}
	s, ok := f.shape(size)
	if !ok {
		return Instance{}, false
	}
	return Instance{
		Type: instanceType, VCPUs: s.vcpus, MemoryMiB: s.memoryMiB,
		Arch: f.arch(), ThreadsPerCore: f.threads(s), Derived: true,
	}, true
}

func parseFamily(name string) (family, bool) {
	m := familyPattern().FindStringSubmatch(name)
	if m == nil {
		return family{}, false
	}
	f := family{name: name, letters: m[1], attributes: m[3]}
	f.generation, _ = strconv.Atoi(m[2] + m[4])
	f.terabytes, _ = strconv.Atoi(m[5])
	if f.terabytes > 0 && f.letters != "u" {
		return family{}, false
	}
	return f, true
}

// accelerated reports whether the family's machines have GPUs or other
// accelerators: g*, p*, inf*, trn*, dl*.
func (f family) accelerated() bool {
	switch f.letters {
	case "g", "gr", "p", "inf", "trn", "dl":
		return true
	default:
		return false
	}
}

func (f family) shape(size string) (shape, bool) {
	if s, ok := exceptions()[f.name+"."+size]; ok {
		return s, true
	}
	if f.letters == "t" {
		return f.burstable(size)
	}
	vcpus := f.vcpus(size)
	if f.terabytes > 0 {
		return shape{vcpus, f.terabytes * 1024 * gib}, vcpus >= 112
	}
	ratio, ok := memoryPerCPU()[f.name]
	if !ok {
		ratio = memoryPerCPU()[f.letters]
	}
	return shape{vcpus, int(math.Round(float64(vcpus) * ratio * gib))}, vcpus > 0 && ratio > 0
}

func (f family) burstable(size string) (shape, bool) {
	s, ok := burstable()[size]
	switch {
	case !ok && (size == "xlarge" || size == "2xlarge"):
		n := f.vcpus(size)
		return shape{n, n * 4 * gib}, true
	case f.name == "t2" && s.memoryMiB <= 2*gib:
		s.vcpus = 1
	}
	return s, ok
}

// vcpus of a size by the general rule, 0 if the family has no such size.
func (f family) vcpus(size string) int {
	switch {
	case size == "medium" && (f.arch() == "arm64" || f.amd() && f.generation >= 7):
		return 1
	case size == "large":
		return 2
	case size == "xlarge":
		return 4
	case size == "metal":
		return metalCPUs()[f.name]
	}
	n := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(size, "metal-"), "xlarge"), "xl")
	times, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return 4 * times
}

// arch is arm64 for Graviton, which has a g among its attributes (a1 is the
// first of them).
func (f family) arch() string {
	if f.letters == "a" || strings.Contains(f.attributes, "g") {
		return "arm64"
	}
	return "amd64"
}

// amd reports whether AMD makes the processors.
func (f family) amd() bool { return strings.Contains(f.attributes, "a") }

// threads per core: Graviton, AMD from the seventh generation, HPC types, T2
// and machines of one vCPU have one.
func (f family) threads(s shape) int {
	if f.arch() == "arm64" || f.letters == "hpc" || f.name == "t2" || s.vcpus == 1 || f.amd() && f.generation >= 7 {
		return 1
	}
	return 2
}
