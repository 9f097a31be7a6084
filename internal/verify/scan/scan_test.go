package scan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/scan"
)

// root is a machine's file system for a test.
type root struct {
	t   *testing.T
	dir string
}

func newRoot(t *testing.T) root { return root{t, t.TempDir()} }

func (r root) file(name, text string) {
	r.t.Helper()
	r.write(name, text, 0o644)
}

// program is a program that says something for its arguments: the first line that fits counts.
func (r root) program(name, cases string) {
	r.t.Helper()
	r.write(name, "#!/bin/sh\ncase \"$*\" in\n"+cases+"\n*) echo \"not asked for: $*\" >&2; exit 2;;\nesac\n", 0o755)
}

func (r root) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

// diagnosis is what dcgmi says: a recorded report.
func (r root) diagnosis(sample string) {
	r.t.Helper()
	text, err := os.ReadFile("../meter/testdata/dcgm/" + sample)
	if err != nil {
		r.t.Fatal(err)
	}
	r.file("/data/dcgm", string(text))
}

func (r root) link(to, name string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		r.t.Fatal(err)
	}
}

func (r root) scan() verify.Facts {
	r.t.Helper()
	f, err := scan.Machine(r.t.Context(), scan.Options{Root: r.dir, Now: time.Unix(1000, 0)})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func saw[T any](t *testing.T, what string, l verify.Look[T], want T) {
	t.Helper()
	got, blind := l.See()
	if blind != "" || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v %s, want %v", what, got, blind, want)
	}
}

func unseen[T any](t *testing.T, what string, l verify.Look[T], why string) {
	t.Helper()
	if got, blind := l.See(); !strings.Contains(blind, why) || blind == "" {
		t.Errorf("%s: %v %q, want it blind with %q", what, got, blind, why)
	}
}

const (
	h100  = "NVIDIA H100 80GB HBM3"
	core  = "%d, " + h100 + ", GPU-%d, 81559, 5, 5, 16, 16, Enabled, Enabled, 700.00, 31, 1980, 1980, P0, Default"
	smi   = "/usr/bin/nvidia-smi"
	gpus  = 8
	count = 18
)

// large is a machine with eight GPUs, NVLink and four EFA devices.
func large(t *testing.T) root {
	r := newRoot(t)
	var cores, ecc, remap, links strings.Builder
	for i := range gpus {
		fmt.Fprintf(&cores, core+"\n", i, i)
		fmt.Fprintf(&ecc, "%d, 0, 0\n", i)
		fmt.Fprintf(&remap, "GPU-%d, No, No\n", i)
		fmt.Fprintf(&links, "GPU %d: %s (UUID: GPU-%d)\n", i, h100, i)
		for l := range count {
			fmt.Fprintf(&links, "\t Link %d: 26.562 GB/s\n", l)
		}
		r.file(fmt.Sprintf("/sys/bus/pci/devices/0000:%02x:00.0/vendor", i), "0x10de\n")
		r.file(fmt.Sprintf("/sys/bus/pci/devices/0000:%02x:00.0/class", i), "0x030200\n")
	}
	r.file("/data/core", cores.String())
	r.file("/data/ecc", ecc.String())
	r.file("/data/remap", remap.String())
	r.file("/data/links", links.String())
	cat := func(name string) string { return "cat '" + filepath.Join(r.dir, "data", name) + "';;" }
	r.program(smi, strings.Join([]string{
		`"") echo "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |";;`,
		`"nvlink --status") ` + cat("links"),
		`"topo -m") ` + cat("topology"),
		`*query-gpu=index,name*) ` + cat("core"),
		`*ecc.errors*) ` + cat("ecc"),
		`*query-remapped-rows=gpu_uuid*) ` + cat("remap"),
		`*remapped*) echo 'Field "remapped_rows.pending" is not a valid field to query.'; exit 2;;`,
		`*clocks_event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;;`,
		`*clocks_throttle_reasons*) for i in 0 1 2 3 4 5 6 7; do echo "$i, 0x0000000000000044"; done;;`,
		`*fabric*) for i in 0 1 2 3 4 5 6 7; do echo "$i, Completed, Success"; done;;`,
		`*mig*) for i in 0 1 2 3 4 5 6 7; do echo "$i, Disabled"; done;;`,
		`*power.default_limit*) for i in 0 1 2 3 4 5 6 7; do echo "$i, 700.00"; done;;`,
		`*compute-apps*) echo "4242, python, GPU-0";;`,
	}, "\n"))
	ways, err := os.ReadFile("../meter/testdata/nvidia-smi/topo-8xa100.txt")
	if err != nil {
		t.Fatal(err)
	}
	r.file("/data/topology", string(ways))
	r.program("/usr/bin/dcgmi", `"diag --run 1 --json") `+cat("dcgm"))
	r.diagnosis("dcgm4-diag-r1-persistence-fail.json")
	r.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (dvs-builder@U16)\nGCC version: 12\n")
	r.program("/usr/bin/nv-fabricmanager", `"--version") echo "Fabric Manager version is : 550.54.15";;`)
	r.program("/usr/bin/systemctl", `*nvidia-fabricmanager) echo active;;`)
	for i := range 4 {
		name := fmt.Sprintf("rdmap%ds0", i)
		r.link("../../../bus/pci/drivers/efa", "/sys/class/infiniband/"+name+"/device/driver")
		r.file("/sys/class/infiniband/"+name+"/ports/1/hw_counters/rx_drops", "2\n")
	}
	r.link("../../../bus/pci/drivers/mlx5_core", "/sys/class/infiniband/mlx5_0/device/driver")
	r.file("/sys/module/efa/version", "2.13.0g\n")
	r.file("/opt/amazon/efa_installed_packages", "# EFA installer version: 1.43.1\n# Debug packages installed: no\n# Packages installed:\nefa-config_1.18_all\n")
	sample, err := os.ReadFile("testdata/fi_info/rdmap-2.x-efa-direct-one-device.txt")
	if err != nil {
		t.Fatal(err)
	}
	r.file("/data/info", string(sample))
	r.program("/opt/amazon/efa/bin/fi_info", "\"--version\") echo 'fi_info: 2.1.0amzn3.0'; echo 'libfabric: 2.1.0amzn3.0'; echo 'libfabric api: 2.1';;\n\"-p efa -t FI_EP_RDM\") "+cat("info"))
	r.file("/opt/amazon/ofi-nccl/lib64/libnccl-net-ofi.so", "\x7fELF\x00\x00aws-ofi-nccl \x00Initializing aws-ofi-nccl 1.16.2-aws\x00")
	r.file("/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.7", "")
	r.link("libnccl.so.2.27.7", "/usr/lib/x86_64-linux-gnu/libnccl.so.2")
	r.file("/usr/local/cuda/version.json", `{"cuda": {"name": "CUDA SDK", "version": "12.9.1"}}`)
	return r
}

func TestMachine(t *testing.T) {
	f := large(t).scan()
	saw(t, "on the bus", f.GPU.OnBus, gpus)
	saw(t, "driver", f.GPU.Driver, "550.54.15")
	saw(t, "CUDA", f.GPU.CUDA, "12.4")
	saw(t, "fabric manager", f.GPU.FabricManager, "active")
	saw(t, "its version", f.GPU.FabricVersion, "550.54.15")
	all, blind := f.GPU.GPUs.See()
	if len(all) != gpus {
		t.Fatalf("%d GPUs: %s", len(all), blind)
	}
	last := all[gpus-1]
	if last.Index != gpus-1 || last.Name != h100 {
		t.Errorf("%+v", last)
	}
	saw(t, "memory", last.MemoryMiB, 81559)
	saw(t, "lanes", last.PCIeWidth, 16)
	saw(t, "power", last.PowerDefaultWatts, 700)
	saw(t, "errors", last.ECCVolatile, 0)
	saw(t, "remap", last.RemapPending, "No")
	saw(t, "throttle", last.Throttle, []string{"power-cap", "hw-thermal"})
	saw(t, "fabric", last.FabricState, "Completed")
	if links, _ := last.NVLinks.See(); len(links) != count || links[0] != 26.562 {
		t.Errorf("links %v", links)
	}
	saw(t, "processes", f.GPU.Processes, []verify.GPUProcess{{PID: 4242, Name: "python", GPU: "GPU-0", Lost: true}})
}

// TestMachine_DCGM tells faults from settings, and a report that is none from both.
func TestMachine_DCGM(t *testing.T) {
	r := large(t)
	f := r.scan()
	if d, blind := f.GPU.DCGM.See(); blind != "" || d.Version != "4.2.3" || len(d.Failed) > 0 || len(d.Settings) != 1 {
		t.Errorf("a setting: %+v %s", d, blind)
	}
	if ways, blind := f.GPU.Topology.See(); blind != "" || len(ways.Names) != 18 || ways.Paths[0][7] != "NV12" || ways.Paths[0][8] != "PXB" {
		t.Errorf("topology: %+v %s", ways, blind)
	}
	r.diagnosis("dcgm4-diag-r3-memory-fail-synthetic.json")
	if d, blind := r.scan().GPU.DCGM.See(); blind != "" || len(d.Failed) == 0 {
		t.Errorf("a fault: %+v %s", d, blind)
	}
	r.diagnosis("no-engine.txt")
	unseen(t, "without an engine", r.scan().GPU.DCGM, "")
	unseen(t, "without dcgmi", newRoot(t).scan().GPU.DCGM, "no nvidia-smi")
}

// TestMachine_diagnoses asks DCGM for the level that is wished, and lets it take no longer than it may: what else was seen is told.
func TestMachine_diagnoses(t *testing.T) {
	r := large(t)
	report := "cat '" + filepath.Join(r.dir, "data", "dcgm") + "';;"
	for _, c := range []struct {
		name, program string
		options       scan.Options
		failed        int
		blind         string
	}{
		{"level_3", `"diag --run 3 --json") ` + report, scan.Options{Diagnosis: 3}, 1, ""},
		{"another_level", `"diag --run 3 --json") ` + report, scan.Options{Diagnosis: 2}, 0, "not asked for: diag --run 2 --json"},
		{"too_long", `"diag --run 2 --json") exec sleep 60;;`, scan.Options{Diagnosis: 2, DiagnosisWait: 200 * time.Millisecond}, 0, "it did not end within 200ms"},
	} {
		r.diagnosis("dcgm4-diag-r3-memory-fail-synthetic.json")
		r.program("/usr/bin/dcgmi", c.program)
		c.options.Root, c.options.Now = r.dir, time.Unix(1000, 0)
		f, err := scan.Machine(t.Context(), c.options)
		if err != nil {
			t.Fatal(err)
		}
		d, blind := f.GPU.DCGM.See()
		if !strings.Contains(blind, c.blind) || (blind == "") != (c.blind == "") || len(d.Failed) != c.failed || blind == "" && d.Level != c.options.Diagnosis {
			t.Errorf("%s: %+v, blind %q", c.name, d, blind)
		}
		if cards, unseen := f.GPU.GPUs.See(); unseen != "" || len(cards) != 8 {
			t.Errorf("%s: %d GPUs %s", c.name, len(cards), unseen)
		}
	}
}

func TestMachine_EFA(t *testing.T) {
	f := large(t).scan()
	saw(t, "devices", f.EFA.Devices, []string{"rdmap0s0", "rdmap1s0", "rdmap2s0", "rdmap3s0"})
	saw(t, "driver", f.EFA.Driver, "2.13.0g")
	saw(t, "installer", f.EFA.Installer, "1.43.1")
	saw(t, "libfabric", f.EFA.Libfabric, "2.1.0amzn3.0")
	saw(t, "plugin", f.EFA.Plugin, "1.16.2-aws")
	saw(t, "domains", f.EFA.Domains, map[string][]string{"efa": {"rdmap47s0"}})
	saw(t, "counters", f.EFA.Counters, map[string]int64{"rx_drops": 8})
	saw(t, "NCCL", f.Software.NCCL, "2.27.7")
	saw(t, "CUDA", f.Software.CUDA, "12.9.1")
}

// TestMachine_empty sees that there is nothing, and is blind where a tool is missing or does not say.
func TestMachine_empty(t *testing.T) {
	f := newRoot(t).scan()
	saw(t, "on the bus", f.GPU.OnBus, 0)
	saw(t, "driver", f.GPU.Driver, "")
	unseen(t, "GPUs", f.GPU.GPUs, "no nvidia-smi")
	unseen(t, "domains", f.EFA.Domains, "no fi_info")
	saw(t, "EFA", f.EFA.Devices, []string{})
	unseen(t, "mounts", f.Mounts, "mountinfo")
	unseen(t, "memory", f.Machine.MemoryMiB, "meminfo")
	unseen(t, "kernel", f.Machine.KernelLines, "kmsg")
}

// TestMachine_odd programs that fail, say odd things, or say too much are blind and never more.
func TestMachine_odd(t *testing.T) {
	for name, script := range map[string]string{
		"fails":   "#!/bin/sh\necho 'NVIDIA-SMI has failed because it couldn'\"'\"'t communicate with the NVIDIA driver.'\nexit 9\n",
		"silent":  "#!/bin/sh\n",
		"odd":     "#!/bin/sh\nprintf '0, \\377\\033[31m, x\\n-1, a\\n99999999999, b\\n\\n,,,,\\n'\n",
		"endless": "#!/bin/sh\nhead -c 20000000 /dev/zero\n",
	} {
		r := newRoot(t)
		r.write(smi, script, 0o755)
		f := r.scan()
		if all, blind := f.GPU.GPUs.See(); len(all) > 0 {
			t.Errorf("%s: %d GPUs %s", name, len(all), blind)
		}
		unseen(t, name, f.GPU.CUDA, "")
	}
}

// TestMachine_here looks at the machine that runs the test, whatever it has, in little time.
func TestMachine_here(t *testing.T) {
	began := time.Now()
	f, err := scan.Machine(t.Context(), scan.Options{Now: began, Asked: began, Environment: []string{"NCCL_DEBUG=INFO", "HOME=/x", "FI_PROVIDER=efa"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Environment) != 2 || f.Environment["NCCL_DEBUG"] != "INFO" {
		t.Errorf("%v", f.Environment)
	}
	if n, blind := f.Machine.CPUs.See(); n < 1 {
		t.Errorf("%d CPUs %s", n, blind)
	}
	all, _ := f.Mounts.See()
	if i := slices.IndexFunc(all, func(m verify.Mount) bool { return m.Dir == "/" }); i < 0 || all[i].SizeBytes <= 0 {
		t.Errorf("no root in %+v", all)
	}
	if n, _ := f.GPU.OnBus.See(); n == 0 {
		if cards, blind := f.GPU.GPUs.See(); blind == "" && len(cards) > 0 {
			t.Errorf("GPUs that no bus has: %+v", cards)
		}
	}
}

// TestRealGPU asks a machine that answers as one with an H200 did: nothing of it is blind but DCGM, which is not there.
func TestRealGPU(t *testing.T) {
	r := newRoot(t)
	dir, err := filepath.Abs("testdata/h200")
	if err != nil {
		t.Fatal(err)
	}
	r.file("/sys/bus/pci/devices/0000:00:06.0/vendor", "0x10de\n")
	r.file("/sys/bus/pci/devices/0000:00:06.0/class", "0x030200\n")
	var answers []string
	for _, of := range []string{
		`"") head.txt`, `"nvlink --status") /dev/null`, `"topo -m") topo.txt`, `*query-gpu=index,name*) always.csv`, `*ecc.errors*) ecc.csv`, `*query-remapped-rows=gpu_uuid*) remapped.csv`,
		`*clocks_event_reasons*) clocks.csv`, `*clocks_throttle_reasons*) clocks.csv`, `*fabric*) fabric.csv`, `*mig*) mig.csv`, `*power.default_limit*) power.csv`, `*compute-apps*) /dev/null`,
	} {
		question, file, _ := strings.Cut(of, ") ")
		answers = append(answers, fmt.Sprintf("%s) cd '%s' && cat %s;;", question, dir, file))
	}
	r.program(smi, strings.Join(answers, "\n"))
	f := r.scan()
	cards, blind := f.GPU.GPUs.See()
	if blind != "" || len(cards) != 1 {
		t.Fatalf("%+v, %q", cards, blind)
	}
	c := cards[0]
	saw(t, "memory", c.MemoryMiB, 143771)
	saw(t, "remapped rows", c.RemapPending, "No")
	saw(t, "power", c.PowerLimitWatts, 700)
	saw(t, "throttle", c.Throttle, []string{"idle"})
	saw(t, "NVLinks", c.NVLinks, []float64{})
	saw(t, "topology", f.GPU.Topology, verify.Topology{Names: []string{"GPU0"}, Paths: [][]string{{"X"}}})
	saw(t, "CUDA", f.GPU.CUDA, "13.0")
	unseen(t, "fabric", c.FabricState, verify.NoSuch)
	inactive := `printf 'GPU 0: NVIDIA H200 (UUID: GPU-0)\n\t NVML: Unable to retrieve NVLink information as all links are inActive\n'`
	r.program(smi, strings.Replace(strings.Join(answers, "\n"), "cat /dev/null", inactive, 1))
	if cards, _ := r.scan().GPU.GPUs.See(); len(cards) != 1 {
		t.Errorf("%+v", cards)
	} else {
		unseen(t, "NVLinks that are all inactive", cards[0].NVLinks, "all inactive")
	}
}

// TestMachine_daemons: Debian's names of Slurm's programs count as Slurm's own.
func TestMachine_daemons(t *testing.T) {
	r := newRoot(t)
	for pid, name := range []string{"bash", "slurmd-wlm", "munged", "slurmstepd", "slurmctld", "slurmd"} {
		r.file(fmt.Sprintf("/proc/%d/comm", pid+1), name+"\n")
	}
	saw(t, "daemons", r.scan().Machine.Daemons, []string{"munged", "slurmctld", "slurmd"})
}
