package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// look finds what a check is about among a machine's facts.
type look func(*verify.Facts, expect.Expectation) []sight

// looks are all of them, by their checks.
func looks() map[string]look {
	return map[string]look{
		"arch":               func(f *verify.Facts, _ expect.Expectation) []sight { return []sight{{text: f.Machine.Arch}} },
		"cpus":               func(f *verify.Facts, _ expect.Expectation) []sight { return number(f.Machine.CPUs, "CPU") },
		"memory":             func(f *verify.Facts, _ expect.Expectation) []sight { return amount(f.Machine.MemoryMiB, "MiB") },
		"clock":              clock,
		"clock-synchronised": func(f *verify.Facts, _ expect.Expectation) []sight { return truth(f.Clock.Synchronised) },
		"daemons":            daemons,
		"containers":         containers,
		"docker":             func(f *verify.Facts, e expect.Expectation) []sight { return optional(f.Software.Docker, e) },
		"enroot":             func(f *verify.Facts, e expect.Expectation) []sight { return optional(f.Software.Enroot, e) },
		"nofile":             nofile,
		"environment":        environment,
		"idle":               idle,
		"mount":              mounted, "mount-writable": writable, "mount-size": size, "mount-free": free, "mount-inodes": inodes, "scratch": size,

		"gpu-count": gpuCount, "gpu-model": model, "gpu-driver": driver, "gpu-cuda": servedCUDA,
		"gpu-memory": func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, gpuMemory) },
		"gpu-pcie-width": func(f *verify.Facts, e expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return width(c, e) })
		},
		"gpu-pcie-gen": func(f *verify.Facts, e expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return generation(c, e) })
		},
		"gpu-nvlinks": func(f *verify.Facts, e expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return nvlinks(c, e) })
		},
		"gpu-fabric": func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, fabric) },
		"gpu-ecc": func(f *verify.Facts, _ expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return word(c.ECC) })
		},
		"gpu-ecc-errors": func(f *verify.Facts, _ expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return errorCount(c.ECCVolatile) })
		},
		"gpu-ecc-past": func(f *verify.Facts, _ expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return errorCount(c.ECCAggregate) })
		},
		"gpu-remap": func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, remap) },
		"gpu-persistence": func(f *verify.Facts, _ expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return word(c.Persistence) })
		},
		"gpu-power":       func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, power) },
		"gpu-throttle":    func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, throttle) },
		"gpu-temperature": func(f *verify.Facts, _ expect.Expectation) []sight { return each(f, temperature) },
		"gpu-mig": func(f *verify.Facts, _ expect.Expectation) []sight {
			return each(f, func(c verify.GPUCard) sight { return word(c.MIG) })
		},
		"gpu-xid": xid, "gpu-processes": processes, "gpu-fabric-manager": fabricManager, "gpu-fabric-version": fabricVersion,

		"efa-devices": efaDevices, "efa-domains": efaDomains, "efa-hugepages": hugePages,
		"efa-installer": func(f *verify.Facts, _ expect.Expectation) []sight {
			return needed(f.EFA.Installer, "EFA's software is not installed")
		},
		"efa-driver": func(f *verify.Facts, _ expect.Expectation) []sight {
			return needed(f.EFA.Driver, "the kernel has no driver of EFA")
		},
		"efa-libfabric": func(f *verify.Facts, _ expect.Expectation) []sight {
			return needed(f.EFA.Libfabric, "there is no libfabric with fi_info")
		},
		"efa-plugin":  func(f *verify.Facts, e expect.Expectation) []sight { return optional(f.EFA.Plugin, e) },
		"efa-memlock": memlock,

		"container-gpus": gpuCount, "container-cuda": cuda, "container-cuda-driver": cudaDriver, "container-nccl": nccl, "container-efa": deviceFiles,
		"container-ofi": func(f *verify.Facts, _ expect.Expectation) []sight {
			return needed(f.EFA.Plugin, "there is no OFI plugin")
		},
		"container-libfabric": func(f *verify.Facts, _ expect.Expectation) []sight {
			return needed(f.EFA.Libfabric, "there is no libfabric with fi_info")
		},
		"container-pytorch":     pytorch,
		"container-megatron":    megatron,
		"container-memlock":     memlock,
		"container-shm":         shm,
		"container-environment": environment,
	}
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
	doubt := (high - low).Round(time.Millisecond)
	text := fmt.Sprintf("%.1f s off, or up to %s more", least, doubt)
	if most := max(low.Abs(), high.Abs()).Seconds(); e.Must.Holds(least) && !e.Must.Holds(most) {
		return []sight{{blind: "the answer took " + doubt.String() + ", so that nobody knows how far the clock is off"}}
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

func idle(f *verify.Facts, _ expect.Expectation) []sight {
	share, blind := f.Machine.PressureCPU.See()
	return []sight{unless(blind, sight{text: fmt.Sprintf("%.0f %%", share), number: share, numeric: true})}
}

// mountAt is the file system that is mounted at a directory.
func mountAt(f *verify.Facts, dir string) (verify.Mount, sight) {
	all, blind := f.Mounts.See()
	if blind != "" {
		return verify.Mount{}, sight{blind: blind}
	}
	i := slices.IndexFunc(all, func(m verify.Mount) bool { return m.Dir == dir })
	if i < 0 {
		return verify.Mount{}, sight{text: "not mounted", verdict: verify.Fail, why: "nothing is mounted at " + dir}
	}
	return all[i], sight{text: all[i].Type}
}

func mounted(f *verify.Facts, e expect.Expectation) []sight {
	_, s := mountAt(f, e.On)
	return []sight{s}
}

func writable(f *verify.Facts, e expect.Expectation) []sight {
	m, s := mountAt(f, e.On)
	if s.blind == "" && s.verdict == "" {
		s.text = "rw"
		if m.ReadOnly {
			s.text, s.verdict = "read-only", verify.Fail
		}
	}
	return []sight{s}
}

// measured is a file system whose size was seen.
func measured(f *verify.Facts, e expect.Expectation) (verify.Mount, sight) {
	m, s := mountAt(f, e.On)
	if s.blind == "" && m.Blind != "" {
		s = sight{blind: m.Blind}
	}
	return m, s
}

func size(f *verify.Facts, e expect.Expectation) []sight {
	m, s := measured(f, e)
	if s.blind == "" && s.verdict == "" {
		s = sight{text: count.Bytes(m.SizeBytes), number: float64(m.SizeBytes), numeric: true}
	}
	return []sight{s}
}

func free(f *verify.Facts, e expect.Expectation) []sight {
	m, s := measured(f, e)
	if s.blind == "" && s.verdict == "" {
		s = share(m.FreeBytes, m.SizeBytes, count.Bytes(m.FreeBytes))
	}
	return []sight{s}
}

func inodes(f *verify.Facts, e expect.Expectation) []sight {
	m, s := measured(f, e)
	if s.blind == "" && s.verdict == "" {
		s = share(m.FreeInodes, m.Inodes, strconv.FormatInt(m.FreeInodes, 10)+" inodes")
	}
	return []sight{s}
}

// share is how much of something is free, in percent.
func share(free, all int64, text string) sight {
	if all <= 0 {
		return sight{none: "the file system does not count this"}
	}
	percent := 100 * float64(free) / float64(all)
	return sight{text: fmt.Sprintf("%.0f %% free, %s", percent, text), number: percent, numeric: true}
}

func shm(f *verify.Facts, _ expect.Expectation) []sight {
	return size(f, expect.Expectation{On: "/dev/shm"})
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
