package judge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// look finds what a check is about among a machine's facts.
type look func(*verify.Facts, expect.Expectation) []sight

// looks are all of them, by their checks.
func looks() map[string]look {
	all := map[string]look{}
	for _, some := range []map[string]look{hostLooks(), gpuLooks(), efaLooks(), containerLooks()} {
		maps.Copy(all, some)
	}
	return all
}

// seeing is a look that needs no more than a machine's facts.
func seeing(see func(*verify.Facts) []sight) look {
	return func(f *verify.Facts, _ expect.Expectation) []sight { return see(f) }
}

// ofEach is a look at each GPU.
func ofEach(see func(verify.GPUCard) sight) look {
	return func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, see) }
}

// ofEachBy is ofEach where what is right counts already for what is seen.
func ofEachBy(see func(verify.GPUCard, expect.Expectation) sight) look {
	return func(f *verify.Facts, e expect.Expectation) []sight {
		return each(f, func(c verify.GPUCard) sight { return see(c, e) })
	}
}

func hostLooks() map[string]look {
	return map[string]look{
		"arch": seeing(func(f *verify.Facts) []sight {
			return []sight{word(verify.Look[string]{Value: notEmpty(f.Machine.Arch)})}
		}),
		"cpus":               seeing(func(f *verify.Facts) []sight { return number(f.Machine.CPUs, "CPU") }),
		"memory":             seeing(func(f *verify.Facts) []sight { return amount(f.Machine.MemoryMiB, "MiB") }),
		"clock":              clock,
		"clock-synchronised": seeing(func(f *verify.Facts) []sight { return truth(f.Clock.Synchronised) }),
		"daemons":            daemons,
		"containers":         containers,
		"docker":             func(f *verify.Facts, e expect.Expectation) []sight { return optional(f.Software.Docker, e) },
		"enroot":             func(f *verify.Facts, e expect.Expectation) []sight { return optional(f.Software.Enroot, e) },
		"nofile":             nofile,
		"stack":              stack,
		"environment":        environment,
		"idle":               idle,
		"mount":              mounted,
		"mount-writable":     writable,
		"mount-size":         size,
		"mount-free":         free,
		"mount-inodes":       inodes,
		"scratch":            size,
	}
}

func gpuLooks() map[string]look {
	return map[string]look{
		"gpu-count":          gpuCount,
		"gpu-model":          model,
		"gpu-driver":         driver,
		"gpu-cuda":           servedCUDA,
		"gpu-memory":         ofEach(gpuMemory),
		"gpu-pcie-width":     ofEachBy(width),
		"gpu-pcie-gen":       ofEachBy(generation),
		"gpu-nvlinks":        ofEachBy(nvlinks),
		"gpu-topology":       topology,
		"gpu-dcgm":           dcgm,
		"gpu-fabric":         ofEach(fabric),
		"gpu-fabric-manager": fabricManager,
		"gpu-fabric-version": fabricVersion,
		"gpu-ecc":            ofEach(func(c verify.GPUCard) sight { return word(c.ECC) }),
		"gpu-ecc-errors":     ofEach(func(c verify.GPUCard) sight { return errorCount(c.ECCVolatile) }),
		"gpu-ecc-past":       ofEach(func(c verify.GPUCard) sight { return errorCount(c.ECCAggregate) }),
		"gpu-remap":          ofEach(remap),
		"gpu-persistence":    ofEach(func(c verify.GPUCard) sight { return word(c.Persistence) }),
		"gpu-power":          ofEach(power),
		"gpu-throttle":       ofEach(throttle),
		"gpu-temperature":    ofEach(temperature),
		"gpu-mig":            ofEach(func(c verify.GPUCard) sight { return word(c.MIG) }),
		"gpu-xid":            xid,
		"gpu-processes":      processes,
	}
}

func efaLooks() map[string]look {
	return map[string]look{
		"efa-devices":   efaDevices,
		"efa-domains":   efaDomains,
		"efa-hugepages": hugePages,
		"efa-installer": seeing(func(f *verify.Facts) []sight { return needed(f.EFA.Installer, "EFA's software is not installed") }),
		"efa-driver":    seeing(func(f *verify.Facts) []sight { return needed(f.EFA.Driver, "the kernel has no driver of EFA") }),
		"efa-libfabric": seeing(func(f *verify.Facts) []sight { return needed(f.EFA.Libfabric, "there is no libfabric with fi_info") }),
		"efa-plugin":    func(f *verify.Facts, e expect.Expectation) []sight { return optional(f.EFA.Plugin, e) },
		"efa-memlock":   memlock,
	}
}

func containerLooks() map[string]look {
	return map[string]look{
		"container-gpus":        gpuCount,
		"container-cuda":        cuda,
		"container-cuda-driver": cudaDriver,
		"container-nccl":        nccl,
		"container-efa":         deviceFiles,
		"container-ofi":         seeing(func(f *verify.Facts) []sight { return needed(f.EFA.Plugin, "there is no OFI plugin") }),
		"container-libfabric":   seeing(func(f *verify.Facts) []sight { return needed(f.EFA.Libfabric, "there is no libfabric with fi_info") }),
		"container-pytorch":     pytorch,
		"container-megatron":    megatron,
		"container-memlock":     memlock,
		"container-shm":         shm,
		"container-environment": environment,
	}
}

func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// word is a text that was seen.
func word(l verify.Look[string]) sight {
	text, blind := l.See()
	return unless(blind, sight{text: text})
}

// unless is a sight, or that nothing was seen.
func unless(blind string, s sight) sight {
	switch blind {
	case "":
		return s
	case verify.NoSuch:
		return sight{none: blind}
	}
	return sight{blind: blind}
}

func number(l verify.Look[int], noun string) []sight {
	n, blind := l.See()
	return []sight{unless(blind, sight{text: count.Of(n, noun), number: float64(n), numeric: true})}
}

func amount(l verify.Look[int64], unit string) []sight {
	n, blind := l.See()
	return []sight{unless(blind, sight{text: fmt.Sprintf("%d %s", n, unit), number: float64(n), numeric: true})}
}

func truth(l verify.Look[bool]) []sight {
	yes, blind := l.See()
	return []sight{unless(blind, sight{text: yesNo(yes)})}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// needed is a version that has to be there.
func needed(l verify.Look[string], absent string) []sight {
	s := word(l)
	if s.blind == "" && s.none == "" && s.text == "" {
		s.text, s.verdict, s.why = "none", verify.Fail, absent
	}
	return []sight{s}
}

// optional is a version that need not be there.
func optional(l verify.Look[string], e expect.Expectation) []sight {
	s := word(l)
	if s.blind == "" && s.text == "" {
		s.none = "there is none, and none is needed: " + e.Want
	}
	return []sight{s}
}

// clock is how far the machine's clock is off, by the times between which it was read.
func clock(f *verify.Facts, e expect.Expectation) []sight {
	c := f.Clock
	if c.Asked.IsZero() || c.Back.IsZero() || c.Now.IsZero() {
		return []sight{{blind: "nobody said what time it was when the machine was asked"}}
	}
	low, high := c.Now.Sub(c.Back), c.Now.Sub(c.Asked)
	least := max(0, low, -high).Seconds()
	doubt := count.Brief(high - low)
	text := fmt.Sprintf("%.1f s off, or up to %s more", least, doubt)
	if least == 0 {
		text = "within " + count.Brief(max(low.Abs(), high.Abs()))
	}
	if most := max(low.Abs(), high.Abs()).Seconds(); e.Must.Holds(least) && !e.Must.Holds(most) {
		return []sight{{blind: "the answer took " + doubt + ", so that nobody knows how far the clock is off"}}
	}
	return []sight{{text: text, number: least, numeric: true}}
}

func daemons(f *verify.Facts, e expect.Expectation) []sight {
	have, blind := f.Machine.Daemons.See()
	if blind != "" {
		return []sight{{blind: blind}}
	}
	var all []sight
	for _, d := range e.Words {
		s := sight{of: d, text: d, verdict: verify.Pass}
		if !slices.Contains(have, d) {
			s = sight{text: "no " + d, verdict: verify.Fail}
		}
		all = append(all, s)
	}
	return all
}

// containers says besides what other programs for containers there are.
func containers(f *verify.Facts, _ expect.Expectation) []sight {
	all := truth(f.Software.Pyxis)
	if gpus, blind := f.Software.ShowsGPUs.See(); blind == "" && all[0].blind == "" && gpus != "" {
		all[0].evidence = []string{"GPUs are shown in containers by " + gpus}
	}
	return all
}

func limitOf(f *verify.Facts, name string) (verify.Limit, string) {
	all, blind := f.Limits.See()
	i := slices.IndexFunc(all, func(l verify.Limit) bool { return l.Name == name })
	if blind == "" && i < 0 {
		blind = "the limit " + name + " was not told"
	}
	if blind != "" {
		return verify.Limit{}, blind
	}
	return all[i], ""
}

func limitText(n int64) string {
	if n == verify.Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}

func nofile(f *verify.Facts, _ expect.Expectation) []sight {
	l, blind := limitOf(f, "nofile")
	n := float64(l.Hard)
	if l.Hard == verify.Unlimited {
		n = math.MaxInt64
	}
	return []sight{unless(blind, sight{text: fmt.Sprintf("%s, %s unless asked for", limitText(l.Hard), limitText(l.Soft)), number: n, numeric: true})}
}

// memlock is the limit that programs have without asking for more.
func memlock(f *verify.Facts, _ expect.Expectation) []sight {
	l, blind := limitOf(f, "memlock")
	return []sight{unless(blind, sight{text: limitText(l.Soft)})}
}

func stack(f *verify.Facts, _ expect.Expectation) []sight {
	l, blind := limitOf(f, "stack")
	return []sight{unless(blind, sight{text: limitText(l.Hard)})}
}

func idle(f *verify.Facts, _ expect.Expectation) []sight {
	share, blind := f.Machine.PressureCPU.See()
	return []sight{unless(blind, sight{text: fmt.Sprintf("%.0f %%", share), number: share, numeric: true})}
}

func hugePages(f *verify.Facts, _ expect.Expectation) []sight {
	n, blind := f.Machine.HugePages.See()
	const kib = 2048
	if blind == "" && f.Machine.HugePageKiB != kib {
		n = 0
	}
	return []sight{unless(blind, sight{text: fmt.Sprintf("%d of 2 MiB", n), number: float64(n), numeric: true})}
}

func list(all []string) string { return strings.Join(all, ", ") }
