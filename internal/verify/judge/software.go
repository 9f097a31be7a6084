package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/shell"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

func efaDevices(f *verify.Facts, e expect.Expectation) []sight {
	all, blind := f.EFA.Devices.See()
	s := unless(blind, sight{text: count.Of(len(all), "device"), number: float64(len(all)), numeric: true})
	if e.Must.Least == nil && blind == "" && len(all) == 0 {
		s = sight{verdict: verify.Skip, why: "this machine has no EFA"}
	}
	return []sight{s}
}

// efaDomains are those of EFA's own provider, not of others on top of it.
func efaDomains(f *verify.Facts, e expect.Expectation) []sight {
	all, blind := f.EFA.Domains.See()
	devices, unknown := f.EFA.Devices.See()
	n := len(all["efa"])
	s := unless(blind, sight{text: count.Of(n, "domain"), number: float64(n), numeric: true})
	if e.Must.Least == nil && unknown == "" {
		switch {
		case len(devices) == 0:
			s = sight{verdict: verify.Skip, why: "this machine has no EFA"}
		case s.numeric && n < len(devices):
			s.verdict, s.why = verify.Fail, "the kernel has "+count.Of(len(devices), "device")
		}
	}
	return []sight{s}
}

func deviceFiles(f *verify.Facts, e expect.Expectation) []sight {
	n, blind := f.EFA.DeviceFiles.See()
	s := unless(blind, sight{text: count.Of(n, "device"), number: float64(n), numeric: true})
	devices, unknown := f.EFA.Devices.See()
	if e.Must.Least == nil && blind == "" && unknown == "" {
		switch {
		case len(devices) == 0:
			s = sight{verdict: verify.Skip, why: "this machine has no EFA"}
		case n < len(devices):
			s.verdict, s.why = verify.Fail, "the machine has "+count.Of(len(devices), "device")
		}
	}
	return []sight{s}
}

// nccl is PyTorch's own and the system's, which other programs use.
func nccl(f *verify.Facts, _ expect.Expectation) []sight {
	var all []sight
	for _, l := range []struct {
		of   string
		look verify.Look[string]
	}{{"PyTorch's", f.Software.PyTorchNCCL}, {"the system's", f.Software.NCCL}} {
		s := word(l.look)
		if s.of = l.of; s.blind != "" || s.text != "" {
			all = append(all, s)
		}
	}
	// One that could be seen is enough.
	if slices.ContainsFunc(all, func(s sight) bool { return s.text != "" }) {
		return slices.DeleteFunc(all, func(s sight) bool { return s.text == "" })
	}
	if len(all) == 0 {
		return []sight{{text: "none", verdict: verify.Fail, why: "there is no NCCL"}}
	}
	return all[:1]
}

// cuda is the toolkit's version, or what PyTorch was built for: images without the toolkit bring what they need.
func cuda(f *verify.Facts, _ expect.Expectation) []sight {
	toolkit, torch := word(f.Software.CUDA), word(f.Software.PyTorchCUDA)
	switch {
	case toolkit.text != "":
		return []sight{toolkit}
	case torch.text != "":
		return []sight{torch}
	case toolkit.blind != "":
		return []sight{toolkit}
	}
	return []sight{{text: "none", verdict: verify.Fail, why: "there is no CUDA"}}
}

// leastDrivers are the least for a major version of CUDA, by NVIDIA's table of compatibility.
var leastDrivers = [...]struct {
	major  int
	driver string
}{{13, "580"}, {12, "525.60.13"}, {11, "450.80.02"}}

// cudaDriver holds the image's CUDA against the machine's driver.
func cudaDriver(f *verify.Facts, e expect.Expectation) []sight {
	have, d := cuda(f, e)[0], word(f.GPU.Driver)
	version, ok := versionOf(have.text)
	running, loaded := versionOf(d.text)
	switch {
	case !ok:
		return []sight{{blind: "the image's CUDA is not known"}}
	case d.blind != "":
		return []sight{d}
	case !loaded:
		return []sight{{text: "no driver", verdict: verify.Fail, why: "NVIDIA's driver is not loaded"}}
	}
	s := sight{text: fmt.Sprintf("CUDA %s on driver %s", have.text, d.text), verdict: verify.Pass}
	for _, l := range leastDrivers {
		least, _ := versionOf(l.driver)
		if version[0] == l.major && slices.Compare(running, least) < 0 {
			s.verdict, s.why = verify.Fail, fmt.Sprintf("CUDA %d needs driver %s or newer", l.major, l.driver)
		}
	}
	return []sight{s}
}

func pytorch(f *verify.Facts, _ expect.Expectation) []sight {
	s, built := word(f.Software.PyTorch), word(f.Software.PyTorchCUDA)
	switch {
	case s.blind != "":
	case s.text == "":
		s = sight{text: "none", verdict: verify.Fail, why: "there is no PyTorch"}
	case built.text == "":
		s.verdict, s.why = verify.Fail, "it is built for CPUs alone"
	default:
		s.text += " for CUDA " + built.text
	}
	return []sight{s}
}

func megatron(f *verify.Facts, _ expect.Expectation) []sight {
	yes, blind := f.Software.Megatron.See()
	s := unless(blind, sight{text: yesNo(yes)})
	if blind == "" && !yes {
		s.none = "there is none, which is right for jobs that do not use it"
	}
	return []sight{s}
}

// environment has the rules for batch scripts look at the variables, as if a script set them.
func environment(f *verify.Facts, _ expect.Expectation) []sight {
	script := []string{"#!/bin/bash"}
	for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
		if valid(name) {
			script = append(script, "export "+name+"="+shell.Quote(strings.Map(printable, f.Environment[name])))
		}
	}
	var all []sight
	for _, d := range batch.Check("environment", []byte(strings.Join(append(script, "srun true"), "\n")+"\n"), nil, nil).All() {
		if !strings.HasPrefix(d.Code, "script/env-") {
			continue
		}
		s := sight{text: d.Message, verdict: verify.Warn, why: d.Message}
		if d.Severity == diag.Error {
			s.verdict = verify.Fail
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return []sight{{text: count.Of(len(script)-1, "variable"), verdict: verify.Pass}}
	}
	return all
}

// valid says that a shell takes a name for a variable's.
func valid(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func printable(c rune) rune {
	if c < ' ' || c == 0x7f {
		return -1
	}
	return c
}
