package boot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Units of NVIDIA's software. Images have them and do not start them: that is left to
// whoever configures a machine.
const (
	fabricManager = "nvidia-fabricmanager"
	persistence   = "nvidia-persistenced"
	dcgm          = "nvidia-dcgm"
)

// gdrcopy are the names of GDRCopy's unit, on RPM's systems and on Debian's.
var gdrcopy = []string{"gdrcopy", "gdrdrv"}

// The fabric manager fails while its switches still start, and may hang.
var fabricPatience = patience{Limit: 5 * time.Minute, Every: 5 * time.Second}

// unitWait bounds one start of a unit.
const unitWait = 90 * time.Second

// StartGPUs starts what GPUs need before CUDA does anything: NVIDIA's fabric manager,
// persistence mode, the module for unified memory, GDRCopy, and where checked says so
// DCGM's engine. Whether that was enough is Health's to prove: only a fabric manager
// that does not start is an error here, as nothing can run without it.
func (m Machine) StartGPUs(ctx context.Context, checked bool) (string, error) {
	have := hardwareOf(m.devices())
	switch {
	case have.GPUs == 0:
		return "no GPUs of NVIDIA on the PCI bus", nil
	case m.find("nvidia-smi") == "":
		return "blind: there are GPUs, and this image has no driver of NVIDIA", nil
	}
	units := m.units(ctx, append(slices.Clone(gdrcopy), fabricManager, persistence, dcgm)...)
	said := []string{m.loaded(ctx, "nvidia-uvm")}
	fabric, err := m.fabric(ctx, have, units)
	if err != nil {
		return "", err
	}
	said = append(said, fabric, m.persist(ctx, units))
	for _, unit := range append(slices.Clone(gdrcopy), dcgm) {
		if slices.Contains(units, unit) && (unit != dcgm || checked) {
			said = append(said, m.started(ctx, unit))
		}
	}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), ", "), nil
}

// units are those of some units that the machine has.
func (m Machine) units(ctx context.Context, names ...string) []string {
	if !m.Systemd() {
		return nil
	}
	args := []string{"systemctl", "list-unit-files", "--no-legend", "--no-pager"}
	for _, n := range names {
		args = append(args, n+".service")
	}
	out, _ := m.Command(ctx, args...) // it fails where there is none
	var have []string
	for line := range strings.Lines(out) {
		if name, _, ok := strings.Cut(line, ".service"); ok && slices.Contains(names, name) {
			have = append(have, name)
		}
	}
	return have
}

// start starts a unit, now and after the next restart.
func (m Machine) start(ctx context.Context, unit string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, unitWait, fmt.Errorf("%s does not start within %s", unit, unitWait))
	defer cancel()
	if _, err := m.Command(ctx, "systemctl", "enable", "--now", unit); err != nil {
		return fmt.Errorf("start %s: %w", unit, err)
	}
	return nil
}

// started starts a unit without which a node is slower or less is seen of it, and says
// how that went.
func (m Machine) started(ctx context.Context, unit string) string {
	if err := m.start(ctx, unit); err != nil {
		return "without " + unit + ": " + err.Error()
	}
	return unit
}

// loaded loads a module of the kernel, unless it is there.
func (m Machine) loaded(ctx context.Context, module string) string {
	if _, err := os.Stat(m.path("/sys/module/" + strings.ReplaceAll(module, "-", "_"))); err == nil {
		return module
	}
	if _, err := m.Command(ctx, "modprobe", module); err != nil {
		return "without " + module + ": " + err.Error()
	}
	return module
}

// fabric starts the fabric manager where GPUs need it. On machines whose switches are
// not on the bus it may be the host that runs it: there, CUDA alone says whether all is
// well.
func (m Machine) fabric(ctx context.Context, have hardware, units []string) (string, error) {
	switch {
	case !have.Fabric:
		return "", nil
	case !slices.Contains(units, fabricManager):
		return "no " + fabricManager + " in this image, which these GPUs need", nil
	}
	if !have.Seen {
		_ = m.loaded(ctx, "ib_umad") // its switches are reached by InfiniBand's messages
		return m.started(ctx, fabricManager), nil
	}
	err := fabricPatience.try(ctx, func(ctx context.Context) (bool, error) { return true, m.start(ctx, fabricManager) })
	return fabricManager, err
}

// persist keeps the driver awake between jobs: without it each start of CUDA takes
// seconds for each GPU.
func (m Machine) persist(ctx context.Context, units []string) string {
	switch {
	case m.persists(ctx):
		return "persistence mode was on"
	case slices.Contains(units, persistence):
		if err := m.start(ctx, persistence); err == nil && m.persists(ctx) {
			return persistence
		}
	case m.find(persistence) != "":
		// It goes on in the background, and must not keep what we read its words from.
		if _, err := m.Command(ctx, "/bin/sh", "-c", `exec "$@" >/dev/null 2>&1`, "sh", persistence, "--user", "root"); err == nil && m.persists(ctx) {
			return persistence
		}
	}
	if _, err := m.Command(ctx, "nvidia-smi", "-pm", "1"); err != nil {
		return "without persistence mode: " + err.Error()
	}
	return "persistence mode"
}

// persists tells whether all GPUs are in persistence mode.
func (m Machine) persists(ctx context.Context) bool {
	out, err := m.Command(ctx, "nvidia-smi", "--query-gpu=persistence_mode", "--format=csv,noheader")
	return err == nil && strings.TrimSpace(out) != "" && !slices.ContainsFunc(strings.Fields(out), func(s string) bool { return s != "Enabled" })
}

// NoGPUs begins what is said of a machine whose GPUs no container sees.
const NoGPUs = "no GPUs in containers: "

// ShowGPUs makes what shows a machine's GPUs in containers: a specification for the
// Container Device Interface, where the image has NVIDIA's program for it. A machine
// whose GPUs no container sees says so.
func (m Machine) ShowGPUs(ctx context.Context) string {
	found, _ := filepath.Glob(m.path("/etc/cdi/*")) // the pattern is sound
	running, _ := filepath.Glob(m.path("/var/run/cdi/*"))
	switch {
	case hardwareOf(m.devices()).GPUs == 0, len(found)+len(running) > 0:
		return ""
	case m.find("nvidia-ctk") != "":
		_, err := m.Command(ctx, "nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml")
		if err == nil {
			return "; containers see GPUs"
		}
		if m.find("nvidia-container-cli") == "" {
			return "; " + NoGPUs + err.Error()
		}
	case m.find("nvidia-container-cli") == "":
		return "; " + NoGPUs + "this image has neither nvidia-ctk nor nvidia-container-cli"
	}
	return "; containers see GPUs by nvidia-container-cli"
}
