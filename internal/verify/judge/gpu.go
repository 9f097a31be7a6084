package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// noGPUs is why a check of GPUs does not apply where nobody said that there should be some.
const noGPUs = "this machine has no GPUs"

// each is a check's sight of each GPU. Whether a machine should have some, their number says.
func each(f *verify.Facts, see func(verify.GPUCard) sight) []sight {
	if n, blind := f.GPU.OnBus.See(); blind == "" && n == 0 {
		return []sight{{verdict: verify.Skip, why: noGPUs}}
	}
	cards, blind := f.GPU.GPUs.See()
	if blind != "" {
		return []sight{{blind: blind}}
	}
	all := make([]sight, len(cards))
	for i, c := range cards {
		all[i] = see(c)
		all[i].of = "GPU " + strconv.Itoa(c.Index)
	}
	return all
}

// gpuCount counts GPUs by nvidia-smi. The PCI bus can prove alone that there are too few, and that there are none.
func gpuCount(f *verify.Facts, e expect.Expectation) []sight {
	bus, noBus := f.GPU.OnBus.See()
	cards, blind := f.GPU.GPUs.See()
	n := len(cards)
	unknown := e.Must.Least == nil && e.Must.Most == nil
	switch {
	case blind != "" && noBus == "" && (bus == 0 || !unknown && !e.Must.Holds(float64(bus))):
		n = bus
	case blind != "" && noBus == "":
		return []sight{{blind: fmt.Sprintf("%s; the PCI bus has %s", blind, count.Of(bus, "GPU"))}}
	case blind != "":
		return []sight{{blind: blind}}
	}
	s := sight{text: count.Of(n, "GPU"), number: float64(n), numeric: true}
	if unknown {
		s.verdict = verify.Pass
		if noBus == "" && bus != n {
			s.verdict, s.why = verify.Fail, "the PCI bus has "+count.Of(bus, "GPU")
		}
		if n == 0 && bus == 0 {
			s = sight{verdict: verify.Skip, why: noGPUs}
		}
	}
	return []sight{s}
}

// model wants all parts of the catalogue's name, such as RTX-PRO-SERVER-6000, in NVIDIA's.
func model(f *verify.Facts, e expect.Expectation) []sight {
	return each(f, func(c verify.GPUCard) sight {
		s := sight{text: c.Name, verdict: verify.Fail}
		for _, name := range e.Words {
			parts := strings.Split(strings.ToUpper(name), "-")
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(strings.ToUpper(c.Name), p) }) {
				s.verdict = verify.Pass
			}
		}
		return s
	})
}

func driver(f *verify.Facts, _ expect.Expectation) []sight {
	bus, blind := f.GPU.OnBus.See()
	s := word(f.GPU.Driver)
	switch {
	case s.blind == "" && s.text == "" && blind == "" && bus == 0:
		return []sight{{verdict: verify.Skip, why: noGPUs}}
	case s.blind == "" && s.text == "":
		return []sight{{text: "none", verdict: verify.Fail, why: "NVIDIA's driver is not loaded"}}
	}
	return []sight{s}
}

func servedCUDA(f *verify.Facts, _ expect.Expectation) []sight {
	if bus, blind := f.GPU.OnBus.See(); blind == "" && bus == 0 {
		return []sight{{none: noGPUs}}
	}
	return []sight{word(f.GPU.CUDA)}
}

func gpuMemory(c verify.GPUCard) sight { return amount(c.MemoryMiB, "MiB")[0] }

// width compares with what the GPU itself can where nothing else is known.
func width(c verify.GPUCard, e expect.Expectation) sight {
	n, blind := c.PCIeWidth.See()
	s := unless(blind, sight{text: fmt.Sprintf("x%d", n), number: float64(n), numeric: true})
	if most, _ := c.PCIeWidthMax.See(); e.Must.Least == nil && most > n && s.numeric {
		s.verdict, s.why = verify.Fail, fmt.Sprintf("the GPU can use x%d", most)
	}
	return s
}

// generation is PCIe's. A GPU that does nothing may turn it down, so that one that is not at work tells what it has only if that is
// all that it could have.
func generation(c verify.GPUCard, e expect.Expectation) sight {
	n, blind := c.PCIeGen.See()
	most, unknown := c.PCIeGenMax.See()
	state, dark := c.State.See()
	right := e.Must.Holds(float64(n)) && (e.Must.Least != nil || unknown != "" || n >= most)
	if blind == "" && dark == "" && state != "P0" && !right {
		return sight{blind: fmt.Sprintf("it does nothing (%s), and shows gen %d, which it may have turned down to: only a GPU at work tells", state, n)}
	}
	s := unless(blind, sight{text: fmt.Sprintf("gen %d", n), number: float64(n), numeric: true})
	if e.Must.Least == nil && unknown == "" && most > n && s.numeric {
		s.verdict, s.why = verify.Fail, fmt.Sprintf("the GPU can use gen %d", most)
	}
	return s
}

func nvlinks(c verify.GPUCard, e expect.Expectation) sight {
	all, blind := c.NVLinks.See()
	up := len(slices.DeleteFunc(slices.Clone(all), func(speed float64) bool { return speed <= 0 }))
	text := fmt.Sprintf("%s up", count.Of(up, "NVLink"))
	if up < len(all) {
		text = fmt.Sprintf("%d of %s up", up, count.Of(len(all), "NVLink"))
	}
	s := unless(blind, sight{text: text, number: float64(up), numeric: true})
	if s.numeric && e.Must.Least == nil {
		switch {
		case len(all) == 0:
			return sight{verdict: verify.Skip, why: "the GPU has no NVLinks"}
		case up < len(all):
			s.verdict = verify.Fail
		}
	}
	return s
}

func fabric(c verify.GPUCard) sight {
	state, status := word(c.FabricState), word(c.FabricStatus)
	if state.blind != "" || state.none != "" {
		return state
	}
	if state.text == "Completed" && status.text != "Success" && status.blind == "" && status.none == "" {
		return sight{text: "Completed, " + status.text, verdict: verify.Fail}
	}
	return state
}

func errorCount(l verify.Look[int64]) sight {
	n, blind := l.See()
	return unless(blind, sight{text: count.Of(n, "error"), number: float64(n), numeric: true})
}

func remap(c verify.GPUCard) sight {
	pending, failure := word(c.RemapPending), word(c.RemapFailure)
	switch {
	case pending.blind != "" || pending.none != "":
		return pending
	case failure.blind != "" || failure.none != "":
		return failure
	case meter.Remapped(failure.text):
		return sight{text: "failed", verdict: verify.Fail}
	case meter.Remapped(pending.text):
		return sight{text: "pending", verdict: verify.Warn, why: "a row of its memory waits to be remapped, which a reset of the GPU does"}
	}
	return pending
}

// power compares with a hundredth's tolerance: the limits are printed rounded.
func power(c verify.GPUCard) sight {
	limit, blind := c.PowerLimitWatts.See()
	usual, unknown := c.PowerDefaultWatts.See()
	if blind != "" || unknown != "" {
		return unless(blind+unknown, sight{})
	}
	s := sight{text: fmt.Sprintf("%.0f W", limit), verdict: verify.Pass}
	if limit < 0.99*usual {
		s.text, s.verdict = fmt.Sprintf("%.0f W of %.0f W", limit, usual), verify.Fail
	}
	return s
}

// throttle takes heat and the power supply for faults, and a cap on power or clocks for a setting.
func throttle(c verify.GPUCard) sight {
	all, blind := c.Throttle.See()
	s := unless(blind, sight{text: "nothing", verdict: verify.Pass})
	bad := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == "idle" })
	if s.blind != "" || s.none != "" || len(bad) == 0 {
		return s
	}
	s.text, s.verdict = list(bad), verify.Warn
	if slices.ContainsFunc(bad, func(r string) bool {
		return slices.Contains([]string{"hw-slowdown", "sw-thermal", "hw-thermal", "hw-power-brake"}, r)
	}) {
		s.verdict = verify.Fail
	}
	return s
}

func temperature(c verify.GPUCard) sight {
	n, blind := c.TemperatureC.See()
	return unless(blind, sight{text: fmt.Sprintf("%.0f °C", n), number: n, numeric: true})
}

// xid counts the lines of the kernel's log that condemn a GPU. Others may be a program's fault.
func xid(f *verify.Facts, _ expect.Expectation) []sight {
	lines, blind := f.Machine.KernelLines.See()
	bad := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !cause.Condemns(line) })
	if bus, dark := f.GPU.OnBus.See(); dark == "" && bus == 0 && len(bad) == 0 { // one that fell off the bus has left a line
		return []sight{{none: noGPUs}}
	}
	const most = 5
	s := unless(blind, sight{text: count.Of(len(bad), "line"), number: float64(len(bad)), numeric: true, evidence: bad[:min(len(bad), most)]})
	if missed := f.Machine.KernelMissed; len(bad) == 0 && missed != "" {
		s = sight{blind: missed}
	}
	return []sight{s}
}

func processes(f *verify.Facts, _ expect.Expectation) []sight {
	if bus, blind := f.GPU.OnBus.See(); blind == "" && bus == 0 {
		return []sight{{none: noGPUs}}
	}
	all, blind := f.GPU.Processes.See()
	s := unless(blind, sight{text: count.Of(len(all), "process"), number: float64(len(all)), numeric: true})
	for _, p := range all {
		line := fmt.Sprintf("process %d, %s", p.PID, p.Name)
		if p.Lost {
			line += ": there is no such process any more"
		}
		const most = 5
		if len(s.evidence) < most {
			s.evidence = append(s.evidence, line)
		}
	}
	return []sight{s}
}

// fabricManager is wanted where there are NVSwitches on the bus; elsewhere its host may run it.
func fabricManager(f *verify.Facts, _ expect.Expectation) []sight {
	s := word(f.GPU.FabricManager)
	switches, blind := f.GPU.Switches.See()
	switch {
	case s.blind != "" || s.text != "":
	case blind != "":
		s = sight{blind: blind}
	case switches == 0:
		s = sight{none: "the bus has no NVSwitch"}
	default:
		s = sight{text: "none", verdict: verify.Fail, why: "there is no fabric manager for " + count.Of(switches, "NVSwitch")}
	}
	return []sight{s}
}

func fabricVersion(f *verify.Facts, _ expect.Expectation) []sight {
	s, d := word(f.GPU.FabricVersion), word(f.GPU.Driver)
	switch {
	case s.blind == "" && s.text == "":
		s.none = "there is no fabric manager"
	case s.blind == "" && d.blind != "":
		s = d
	case s.blind == "" && s.text != d.text:
		s.verdict, s.text = verify.Fail, s.text+" beside driver "+d.text
	}
	return []sight{s}
}
