//go:build linux

package scan

import (
	"context"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
	"github.com/muster-hpc/muster/internal/verify"
)

func (e eye) gpus(ctx context.Context) verify.GPUFacts {
	var g verify.GPUFacts
	g.OnBus, g.Switches = e.bus()
	g.PeerMemory = e.peers()
	if e.find("nvidia-smi") == "" {
		g.Driver = e.driver()
		why := "this machine has no nvidia-smi"
		g.CUDA, g.GPUs = verify.Unseen[string](why), verify.Unseen[[]verify.GPUCard](why)
		g.Processes, g.Topology = verify.Unseen[[]verify.GPUProcess](why), verify.Unseen[verify.Topology](why)
		g.DCGM = verify.Unseen[verify.Diagnosis](why)
		g.FabricManager, g.FabricVersion = e.fabricManager(ctx)
		return g
	}
	var looks sync.WaitGroup
	looks.Go(func() { g.CUDA = e.servedCUDA(ctx) })
	looks.Go(func() { g.GPUs = e.cards(ctx) })
	looks.Go(func() { g.Processes = e.processes(ctx) })
	looks.Go(func() { g.FabricManager, g.FabricVersion = e.fabricManager(ctx) })
	looks.Go(func() { g.Topology = e.topology(ctx) })
	if e.diagnosis <= 1 {
		looks.Go(func() { g.DCGM = e.dcgm(ctx) })
	}
	g.Driver = e.driver()
	looks.Wait()
	if e.diagnosis > 1 { // its load would be seen by the others
		g.DCGM = e.dcgm(ctx)
	}
	return g
}

// NVIDIA's number as a vendor, and PCI's classes of what it makes.
const (
	nvidia      = "0x10de"
	classVGA    = "0x0300"
	class3D     = "0x0302"
	classBridge = "0x0680" // NVSwitches
)

// bus counts NVIDIA's GPUs and switches on the PCI bus, which needs no driver.
func (e eye) bus() (gpus, switches verify.Look[int]) {
	if _, err := os.Stat(e.at("/sys/bus/pci/devices")); err != nil {
		if errors.Is(err, os.ErrNotExist) { // a machine without a PCI bus
			return verify.Saw(0), verify.Saw(0)
		}
		return verify.Unseen[int](err.Error()), verify.Unseen[int](err.Error())
	}
	var seen, between int
	for _, dir := range e.glob("/sys/bus/pci/devices/*") {
		vendor, _ := e.read(path.Join(dir, "vendor"))
		class, _ := e.read(path.Join(dir, "class"))
		if strings.TrimSpace(vendor) != nvidia {
			continue
		}
		switch {
		case strings.HasPrefix(class, classVGA), strings.HasPrefix(class, class3D):
			seen++
		case strings.HasPrefix(class, classBridge):
			between++
		}
	}
	return verify.Saw(seen), verify.Saw(between)
}

// loaded finds the version in what the kernel's driver says of itself, of both flavours.
var loaded = pattern.New(`Kernel Module\b.*?\s(\d+\.\d+(?:\.\d+)?)\s`)

func (e eye) driver() verify.Look[string] {
	text, err := e.read("/proc/driver/nvidia/version")
	if errors.Is(err, os.ErrNotExist) {
		return verify.Saw("")
	}
	if err != nil {
		return verify.Unseen[string](err.Error())
	}
	if found := loaded().FindStringSubmatch(text); found != nil {
		return verify.Saw(found[1])
	}
	return verify.Unseen[string]("/proc/driver/nvidia/version has no version")
}

// served finds the newest CUDA that a driver serves in nvidia-smi's head, as old and new ones print it.
var served = pattern.New(`CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)`)

func (e eye) servedCUDA(ctx context.Context) verify.Look[string] {
	out, err := e.ask(ctx, "nvidia-smi")
	if found := served().FindStringSubmatch(out); found != nil {
		return verify.Saw(found[1])
	}
	if err != nil {
		return verify.Unseen[string](err.Error())
	}
	return verify.Unseen[string]("nvidia-smi does not tell CUDA's version")
}

// peers tells whether a module is loaded by which other devices reach the memory of GPUs.
func (e eye) peers() verify.Look[bool] {
	text, err := e.read("/proc/modules")
	if err != nil {
		return verify.Unseen[bool](err.Error())
	}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, " "); name == "nvidia_peermem" || name == "efa_nv_peermem" {
			return verify.Saw(true)
		}
	}
	return verify.Saw(false)
}

// fabricVersion finds the version in `nv-fabricmanager --version`.
var fabricVersion = pattern.New(`(\d{3}\.\d+(?:\.\d+)?)`)

// fabricManager is how the unit is, and the program's version.
func (e eye) fabricManager(ctx context.Context) (state, version verify.Look[string]) {
	program := e.find("nv-fabricmanager")
	if program == "" {
		return verify.Saw(""), verify.Saw("")
	}
	out, err := e.run(ctx, program, "--version")
	version = verify.Unseen[string]("nv-fabricmanager does not tell its version")
	if found := fabricVersion().FindString(out); err == nil && found != "" {
		version = verify.Saw(found)
	}
	out, err = e.ask(ctx, "systemctl", "is-active", "nvidia-fabricmanager") // its exit code is not 0 for what is not active
	if word := strings.TrimSpace(out); word != "" {
		return verify.Saw(short(word)), version
	}
	if err != nil {
		return verify.Unseen[string](err.Error()), version
	}
	return verify.Unseen[string]("systemctl says nothing of nvidia-fabricmanager"), version
}

// mostProcesses bounds how many processes are kept.
const mostProcesses = 1000

// processes are those that use a GPU.
func (e eye) processes(ctx context.Context) verify.Look[[]verify.GPUProcess] {
	out, err := e.ask(ctx, "nvidia-smi", "--query-compute-apps=pid,process_name,gpu_uuid", "--format=csv,noheader")
	if err != nil {
		return verify.Unseen[[]verify.GPUProcess](err.Error())
	}
	all := []verify.GPUProcess{}
	for line := range strings.Lines(out) {
		pid, rest, _ := strings.Cut(strings.TrimSpace(line), ", ")
		number, err := strconv.Atoi(pid)
		if err != nil || len(all) == mostProcesses {
			continue
		}
		name, gpu := rest, ""
		if i := strings.LastIndex(rest, ", "); i >= 0 {
			name, gpu = rest[:i], rest[i+2:]
		}
		_, gone := os.Stat(e.at("/proc/" + pid))
		all = append(all, verify.GPUProcess{PID: number, Name: short(name), GPU: short(gpu), Lost: errors.Is(gone, os.ErrNotExist)})
	}
	return verify.Saw(all)
}
