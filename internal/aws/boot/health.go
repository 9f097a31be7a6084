package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
)

// Wanted is what a machine must be able to do before it is a node.
type Wanted struct {
	// Type is the instance's, whose GPUs the catalogue counts.
	Type string
	// EFA is the number of EFA devices that it was launched with.
	EFA int
}

// Health proves that a machine can do what it costs: its GPUs are there, CUDA starts
// on all of them, and EFA has its devices. It takes seconds. What cannot be looked at
// is said to be so; what was looked at and is not right is an error.
func (m Machine) Health(ctx context.Context, w Wanted) (string, error) {
	var said []string
	var wrong []error
	for _, look := range []func(context.Context, Wanted) (string, error){m.gpus, m.sound, m.usable, m.efa} {
		detail, err := look(ctx, w)
		if err != nil {
			wrong = append(wrong, err)
		}
		if detail != "" {
			said = append(said, detail)
		}
	}
	if len(wrong) > 0 {
		return "", oneLine(wrong)
	}
	return strings.Join(said, "; "), nil
}

// oneLine is several errors, where one line has to say them.
func oneLine(all []error) error {
	var texts []string
	for _, err := range all {
		texts = append(texts, err.Error())
	}
	return errors.New(strings.Join(texts, "; "))
}

// gpus counts the GPUs.
func (m Machine) gpus(ctx context.Context, w Wanted) (string, error) {
	t, ok := catalog.Lookup(w.Type)
	switch {
	case !ok:
		return "blind: nothing is known of " + w.Type, nil
	case t.GPU.Count == 0:
		return w.Type + " has no GPUs to look at", nil
	case m.find("nvidia-smi") == "":
		return fmt.Sprintf("blind: no nvidia-smi, so the %s were not checked", count.Of(t.GPU.Count, "GPU")), nil
	}
	out, err := m.Command(ctx, "nvidia-smi", "--list-gpus")
	if err != nil {
		return "", err
	}
	seen := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "GPU ") {
			seen++
		}
	}
	if seen != t.GPU.Count {
		return "", fmt.Errorf("nvidia-smi lists %s, and %s has %d", count.Of(seen, "GPU"), w.Type, t.GPU.Count)
	}
	return count.Of(seen, "GPU"), nil
}

// sound asks the driver for faults of GPUs that it lists all the same.
func (m Machine) sound(ctx context.Context, w Wanted) (string, error) {
	if t, _ := catalog.Lookup(w.Type); t.GPU.Count == 0 || m.find("nvidia-smi") == "" {
		return "", nil // there are none, or they were not looked for
	}
	wrong, blind := m.Faults(ctx)
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	if blind != "" {
		return "blind: " + blind, nil
	}
	return "", nil
}

// usable asks whether programs can use the GPUs: first what keeps them all from it.
func (m Machine) usable(ctx context.Context, w Wanted) (string, error) {
	joined, err := m.joined(ctx)
	if err != nil {
		return "", err
	}
	started, err := m.cuda(ctx, w)
	return strings.Trim(joined+"; "+started, "; "), err
}

// healthPatience is how long GPUs may take to come together after their fabric manager
// has started.
var healthPatience = patience{Limit: 3 * time.Minute, Every: 5 * time.Second}

// joined asks whether GPUs have joined their fabric. Drivers of A100 and older do not
// know the question; nor is it asked where nothing joins them.
func (m Machine) joined(ctx context.Context) (string, error) {
	if !hardwareOf(m.devices()).Fabric || m.find("nvidia-smi") == "" {
		return "", nil
	}
	var detail string
	err := healthPatience.try(ctx, func(ctx context.Context) (again bool, err error) {
		out, err := m.Command(ctx, "nvidia-smi", "--query-gpu=fabric.state,fabric.status", "--format=csv,noheader")
		if err != nil {
			detail = "the driver does not tell the fabric's state, so CUDA decides"
			return false, nil
		}
		detail, again, err = fabricState(out)
		return again, err
	})
	return detail, err
}

// fabricState reads the states of GPUs in their fabric: one that is still on its way
// may be asked again.
func fabricState(out string) (detail string, again bool, err error) {
	known := 0
	for i, line := range slices.Collect(strings.Lines(out)) {
		state, status, _ := strings.Cut(strings.TrimSpace(line), ", ")
		switch {
		case strings.Contains(state, "N/A"), strings.Contains(state, "Not Supported"):
			continue
		case state != "Completed":
			return "", true, fmt.Errorf("GPU %d has not joined the fabric: its state is %q", i, state)
		case status != "Success":
			return "", false, fmt.Errorf("GPU %d could not join the fabric: %s", i, status)
		}
		known++
	}
	if known == 0 {
		return "these GPUs do not tell the fabric's state, so CUDA decides", false, nil
	}
	return "fabric joined", false, nil
}

// cudaProbe starts CUDA as a program does, and says what came of it.
const cudaProbe = `import ctypes
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as e:
    print("none", e)
    raise SystemExit
code, count, name = cuda.cuInit(0), ctypes.c_int(), ctypes.c_char_p()
if code == 0:
    code = cuda.cuDeviceGetCount(ctypes.byref(count))
cuda.cuGetErrorName(code, ctypes.byref(name))
print("cuda", code, count.value, (name.value or b"").decode())
`

// cudaWait bounds a start of CUDA.
const cudaWait = time.Minute

// notReady is what CUDA says while GPUs have not joined their fabric:
// CUDA_ERROR_SYSTEM_NOT_READY.
const notReady = 802

// cuda starts CUDA. nvidia-smi lists GPUs on which no program can run.
func (m Machine) cuda(ctx context.Context, w Wanted) (string, error) {
	t, _ := catalog.Lookup(w.Type)
	switch {
	case t.GPU.Count == 0 || m.find("nvidia-smi") == "":
		return "", nil // there are none, or they were not looked for
	case m.find("python3") == "":
		return "blind: no python3 to start CUDA with", nil
	}
	var detail string
	err := healthPatience.try(ctx, func(ctx context.Context) (again bool, err error) {
		detail, again, err = m.startCUDA(ctx, t.GPU.Count)
		return again, err
	})
	return detail, err
}

// killed is the exit code of a program that a signal ended.
const killed = -1

// startCUDA starts it once, with an empty environment.
func (m Machine) startCUDA(ctx context.Context, want int) (detail string, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, cudaWait)
	defer cancel()
	out, err := m.Command(ctx, "env", "-i", "PATH="+SystemPath, m.find("python3"), "-I", "-c", cudaProbe)
	switch {
	case ctx.Err() != nil:
		return "", false, fmt.Errorf("CUDA does not start within %s", cudaWait)
	case exitCode(err, killed):
		return "", false, fmt.Errorf("CUDA does not start: %w", err)
	case err != nil:
		return "blind: " + err.Error(), false, nil
	}
	return cudaSays(out, want)
}

// cudaSays reads what cudaProbe prints.
func cudaSays(out string, want int) (detail string, again bool, err error) {
	words := strings.Fields(out)
	if len(words) < 3 || words[0] != "cuda" {
		return "blind: CUDA's library was not loaded: " + strings.TrimSpace(out), false, nil
	}
	code, _ := strconv.Atoi(words[1]) // the probe's own numbers
	seen, _ := strconv.Atoi(words[2])
	switch {
	case code != 0:
		return "", code == notReady, fmt.Errorf("CUDA does not start: error %s", strings.Join(append(words[1:2:2], words[3:]...), " "))
	case seen != want:
		return "", false, fmt.Errorf("CUDA sees %s, and there should be %d", count.Of(seen, "GPU"), want)
	}
	return "CUDA starts on " + count.Of(seen, "GPU"), false, nil
}

// infoProgram lists what libfabric can talk over; images have it in a place of its own.
const infoProgram = "/opt/amazon/efa/bin/fi_info"

// efa counts EFA's devices and asks libfabric for them.
func (m Machine) efa(ctx context.Context, w Wanted) (string, error) {
	if w.EFA == 0 {
		return "", nil
	}
	info := infoProgram
	if _, err := os.Stat(m.path(info)); err != nil {
		info = m.find("fi_info")
	}
	seen, able := m.efaDevices()
	switch {
	case !able && info == "":
		return fmt.Sprintf("blind: this image has no EFA's software, and the machine has %s", count.Of(w.EFA, "EFA device")), nil
	case seen != w.EFA:
		return "", fmt.Errorf("the kernel has %s, and the machine was launched with %d", count.Of(seen, "EFA device"), w.EFA)
	case info == "":
		return count.Of(seen, "EFA device") + "; blind: no fi_info to ask libfabric with", nil
	}
	if _, err := m.Command(ctx, info, "-p", "efa"); err != nil {
		return "", fmt.Errorf("libfabric cannot use EFA: %w", err)
	}
	return count.Of(seen, "EFA device"), nil
}

// Devices counts the GPUs of NVIDIA and the EFA devices that the kernel has, by its own files: nothing that hangs is asked.
func (m Machine) Devices() (gpus, efa int) {
	efa, _ = m.efaDevices()
	return hardwareOf(m.devices()).GPUs, efa
}

// efaDevices counts the devices of the kernel's driver of EFA. able is false where the
// kernel knows no devices of that kind.
func (m Machine) efaDevices() (seen int, able bool) {
	dirs, err := os.ReadDir(m.path("/sys/class/infiniband"))
	for _, d := range dirs {
		driver, err := os.Readlink(m.path(filepath.Join("/sys/class/infiniband", d.Name(), "device/driver")))
		if err == nil && filepath.Base(driver) == "efa" {
			seen++
		}
	}
	return seen, err == nil
}
