package boot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// gpuMachine is a machine of 8 GPUs as it comes from an image: they are listed, and CUDA
// does not start before the fabric manager has brought them together.
type gpuMachine struct {
	fake
	// starts is how often the fabric manager fails before it starts.
	starts int
	// joins is how often GPUs are asked for their state before they have joined.
	joins   int
	running []string
}

func (g *gpuMachine) Run(ctx context.Context, args ...string) (string, error) {
	line := strings.Join(args, " ")
	_, canned := g.answers[args[0]]
	switch {
	case canned:
	case strings.HasPrefix(line, "systemctl list-unit-files"):
		return "gdrdrv.service disabled enabled\nnvidia-dcgm.service disabled enabled\nnvidia-fabricmanager.service disabled enabled\n", nil
	case strings.HasPrefix(line, "systemctl enable --now "):
		unit := args[len(args)-1]
		if unit == fabricManager && g.starts > 0 {
			g.starts--
			return "", errors.New("Job for nvidia-fabricmanager.service failed")
		}
		g.running = append(g.running, unit)
	case slices.Contains(args, persistence):
		g.running = append(g.running, persistence)
	case strings.HasPrefix(line, "nvidia-smi --query-gpu=persistence_mode"):
		if slices.Contains(g.running, persistence) {
			return strings.Repeat("Enabled\n", 8), nil
		}
		return strings.Repeat("Disabled\n", 8), nil
	case strings.HasPrefix(line, "nvidia-smi --query-gpu=fabric.state"):
		switch {
		case !slices.Contains(g.running, fabricManager):
			return strings.Repeat("Not Started, N/A\n", 8), nil
		case g.joins > 0:
			g.joins--
			return strings.Repeat("Completed, Success\n", 7) + "In Progress, N/A\n", nil
		}
		return strings.Repeat("Completed, Success\n", 8), nil
	case strings.HasPrefix(line, "nvidia-smi --query-remapped-rows="):
		return strings.Repeat("GPU-1, No, No\n", 8), nil
	case strings.HasPrefix(line, "nvidia-smi --list-gpus"):
		return strings.Repeat("GPU 0: NVIDIA H200 (UUID: GPU-1)\n", 8), nil
	case strings.Contains(line, "python3"):
		if slices.Contains(g.running, fabricManager) {
			return "cuda 0 8 CUDA_SUCCESS\n", nil
		}
		return "cuda 802 0 CUDA_ERROR_SYSTEM_NOT_READY\n", nil
	}
	return g.fake.Run(ctx, args...)
}

// withGPUs is such a machine with its devices.
func withGPUs(t *testing.T, g *gpuMachine, gpu, nvswitch string, efa int) Machine {
	t.Helper()
	m := machineOf(t, &g.fake, "")
	m.Programs = g
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.path(name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		at := fmt.Sprintf("/sys/bus/pci/devices/0000:%02x:00.0/", i)
		put(at+"vendor", "0x10de")
		put(at+"device", "0x"+gpu)
		put(at+"class", "0x030200")
	}
	for i := range 4 {
		at := fmt.Sprintf("/sys/bus/pci/devices/0000:%02x:01.0/", i)
		put(at+"vendor", "0x10de")
		put(at+"device", "0x"+nvswitch)
		put(at+"class", "0x068000")
	}
	put("/run/systemd/system/x", "")
	put("/opt/amazon/efa/bin/fi_info", "")
	for i := range efa {
		dir := m.path(fmt.Sprintf("/sys/class/infiniband/rdmap%ds0/device", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../../bus/pci/drivers/efa", filepath.Join(dir, "driver")); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestGPUs_are_proved: what nvidia-smi lists is no proof.
func TestGPUs_are_proved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gpuMachine{starts: 3, joins: 2}
		m := withGPUs(t, g, "2335", "22a3", 32)
		want := Wanted{Type: "p5e.48xlarge", EFA: 32}
		_, err := m.Health(t.Context(), want)
		if want := `GPU 0 has not joined the fabric: its state is "Not Started" (tried 37 times in 3m0s)`; text(err) != want {
			t.Errorf("nobody started the fabric manager: got %v, want %s", err, want)
		}
		_, err = m.cuda(t.Context(), want) // all that tells on an A100
		if want := "CUDA does not start: error 802 CUDA_ERROR_SYSTEM_NOT_READY (tried 37 times in 3m0s)"; text(err) != want {
			t.Errorf("nobody started the fabric manager: got %v, want %s", err, want)
		}
		detail, err := m.StartGPUs(t.Context(), false)
		if want := "nvidia-uvm, nvidia-fabricmanager, nvidia-persistenced, gdrdrv"; err != nil || detail != want {
			t.Errorf("got %q, %v, want %q", detail, err, want)
		}
		detail, err = m.Health(t.Context(), want)
		if want := "8 GPUs; fabric joined; CUDA starts on 8 GPUs; 32 EFA devices"; err != nil || detail != want {
			t.Errorf("got %q, %v, want %q", detail, err, want)
		}
	})
}

func TestStartGPUs(t *testing.T) {
	for name, row := range map[string]struct {
		gpu, nvswitch string
		starts        int
		missing       []string
		checked       bool
		detail, err   string
	}{
		"a100":                {"20b0", "1af1", 0, nil, false, "nvidia-uvm, nvidia-fabricmanager, nvidia-persistenced, gdrdrv", ""},
		"checked":             {"2335", "22a3", 0, nil, true, "nvidia-uvm, nvidia-fabricmanager, nvidia-persistenced, gdrdrv, nvidia-dcgm", ""},
		"no_switches":         {"26b9", "0", 0, nil, false, "nvidia-uvm, nvidia-persistenced, gdrdrv", ""},
		"no_daemon":           {"26b9", "0", 0, []string{persistence}, false, "nvidia-uvm, persistence mode, gdrdrv", ""},
		"never":               {"2335", "22a3", 1000, nil, false, "", "start nvidia-fabricmanager: Job for nvidia-fabricmanager.service failed (tried 61 times in 5m0s)"},
		"b200_by_its_host":    {"2901", "0", 1000, nil, false, "nvidia-uvm, without nvidia-fabricmanager: start nvidia-fabricmanager: Job for nvidia-fabricmanager.service failed, nvidia-persistenced, gdrdrv", ""},
		"no_driver":           {"2335", "22a3", 0, []string{"nvidia-smi"}, false, "blind: there are GPUs, and this image has no driver of NVIDIA", ""},
		"not_of_this_company": {"0", "0", 0, nil, false, "nvidia-uvm, nvidia-persistenced, gdrdrv", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gpuMachine{starts: row.starts}
				g.missing = row.missing
				detail, err := withGPUs(t, g, row.gpu, row.nvswitch, 0).StartGPUs(t.Context(), row.checked)
				if detail != row.detail || text(err) != row.err {
					t.Errorf("got %q, %v", detail, err)
				}
			})
		})
	}
	if detail, err := machineOf(t, &fake{}, "").StartGPUs(t.Context(), true); err != nil || detail != "no GPUs of NVIDIA on the PCI bus" {
		t.Errorf("without GPUs: %q, %v", detail, err)
	}
}

func TestHealth(t *testing.T) {
	gpus := strings.Repeat("GPU 0: NVIDIA H200 (UUID: GPU-1)\n", 8)
	for name, row := range map[string]struct {
		kind    string
		missing []string
		answers map[string]string
		fails   map[string]error
		detail  string
		err     string
	}{
		"all":        {"p5.48xlarge", nil, map[string]string{"nvidia-smi": gpus, "env": "cuda 0 8 CUDA_SUCCESS"}, nil, "8 GPUs; CUDA starts on 8 GPUs", ""},
		"one_lost":   {"p5.48xlarge", nil, map[string]string{"nvidia-smi": gpus[:7*len(gpus)/8], "env": "cuda 0 7"}, nil, "", "nvidia-smi lists 7 GPUs, and p5.48xlarge has 8; CUDA sees 7 GPUs, and there should be 8"},
		"no_program": {"p5.48xlarge", []string{"nvidia-smi"}, nil, nil, "blind: no nvidia-smi, so the 8 GPUs were not checked", ""},
		"no_gpus":    {"c5.large", nil, nil, nil, "c5.large has no GPUs to look at", ""},
		"no_python":  {"p5.48xlarge", []string{"python3"}, map[string]string{"nvidia-smi": gpus}, nil, "8 GPUs; blind: no python3 to start CUDA with", ""},
		"no_library": {"p5.48xlarge", nil, map[string]string{"nvidia-smi": gpus, "env": "none libcuda.so.1: cannot open"}, nil, "8 GPUs; blind: CUDA's library was not loaded: none libcuda.so.1: cannot open", ""},
		"no_answer":  {"p5.48xlarge", nil, map[string]string{"nvidia-smi": gpus}, map[string]error{"env": errors.New("exit status 1")}, "8 GPUs; blind: exit status 1", ""},
		"broken":     {"p5.48xlarge", nil, map[string]string{"nvidia-smi": gpus, "env": "cuda 999 0 CUDA_ERROR_UNKNOWN"}, nil, "", "CUDA does not start: error 999 CUDA_ERROR_UNKNOWN"},
		"crashed":    {"p5.48xlarge", nil, map[string]string{"nvidia-smi": gpus}, map[string]error{"env": exec.Command("/bin/sh", "-c", "kill -9 $$").Run()}, "", "CUDA does not start: signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{"nvidia-smi --query-remapped-rows=": "GPU-1, No, No\n"}
			maps.Copy(answers, row.answers)
			m := machineOf(t, &fake{missing: row.missing, answers: answers, fails: row.fails}, "")
			detail, err := m.Health(t.Context(), Wanted{Type: row.kind})
			if detail != row.detail || text(err) != row.err {
				t.Errorf("got %q, %v", detail, err)
			}
		})
	}
}

// TestHealth_of_EFA: a device that is missing is a failed look, a program that is
// missing none.
func TestHealth_of_EFA(t *testing.T) {
	for name, row := range map[string]struct {
		have        int
		bare        bool
		fails       map[string]error
		detail, err string
	}{
		"all":      {32, false, nil, "32 EFA devices", ""},
		"one_lost": {31, false, nil, "", "the kernel has 31 EFA devices, and the machine was launched with 32"},
		"none":     {0, false, nil, "", "the kernel has 0 EFA devices, and the machine was launched with 32"},
		"refused":  {32, false, map[string]error{"/opt/amazon/efa/bin/fi_info": errors.New("fi_getinfo: -61")}, "", "libfabric cannot use EFA: fi_getinfo: -61"},
		"no_image": {0, true, nil, "blind: this image has no EFA's software, and the machine has 32 EFA devices", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gpuMachine{fake: fake{fails: row.fails, missing: []string{"fi_info"}}, running: []string{fabricManager}}
			m := withGPUs(t, g, "2335", "22a3", row.have)
			if row.bare {
				if err := os.Remove(m.path(infoProgram)); err != nil {
					t.Fatal(err)
				}
			}
			detail, err := m.efa(t.Context(), Wanted{EFA: 32})
			if detail != row.detail || text(err) != row.err {
				t.Errorf("got %q, %v", detail, err)
			}
		})
	}
}

func TestFabricState(t *testing.T) {
	for name, row := range map[string]struct {
		out, detail, err string
		again            bool
	}{
		"joined":     {"Completed, Success\nCompleted, Success\n", "fabric joined", "", false},
		"on_its_way": {"Completed, Success\nIn Progress, N/A\n", "", `GPU 1 has not joined the fabric: its state is "In Progress"`, true},
		"refused":    {"Completed, Insufficient Resources\n", "", "GPU 0 could not join the fabric: Insufficient Resources", false},
		"a100":       {"[N/A], [N/A]\n[N/A], [N/A]\n", "these GPUs do not tell the fabric's state, so CUDA decides", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			detail, again, err := fabricState(row.out)
			if detail != row.detail || text(err) != row.err || again != row.again {
				t.Errorf("got %q, %v, %v", detail, again, err)
			}
		})
	}
}

func TestShowGPUs(t *testing.T) {
	for name, row := range map[string]struct {
		missing []string
		fails   map[string]error
		spec    bool
		want    string
	}{
		"made":     {nil, nil, false, "; containers see GPUs"},
		"there":    {nil, nil, true, ""},
		"refused":  {nil, map[string]error{"nvidia-ctk": errors.New("no driver")}, false, "; containers see GPUs by nvidia-container-cli"},
		"old_way":  {[]string{"nvidia-ctk"}, nil, false, "; containers see GPUs by nvidia-container-cli"},
		"neither":  {[]string{"nvidia-ctk", "nvidia-container-cli"}, nil, false, "; no GPUs in containers: this image has neither nvidia-ctk nor nvidia-container-cli"},
		"only_one": {[]string{"nvidia-container-cli"}, map[string]error{"nvidia-ctk": errors.New("no driver")}, false, "; no GPUs in containers: no driver"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gpuMachine{fake: fake{missing: row.missing, fails: row.fails}}
			m := withGPUs(t, g, "2335", "22a3", 0)
			if row.spec {
				put(t, m, "/etc/cdi/nvidia.yaml", "")
			}
			if got := m.ShowGPUs(t.Context()); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
