package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"golang.org/x/sys/unix"
)

// cdiSpec is a specification of the Container Device Interface: what a container
// gets with a device.
type cdiSpec struct {
	Kind    string      `yaml:"kind"`
	Devices []cdiDevice `yaml:"devices"`
	Edits   cdiEdits    `yaml:"containerEdits"`
}

type cdiDevice struct {
	Name  string   `yaml:"name"`
	Edits cdiEdits `yaml:"containerEdits"`
}

type cdiEdits struct {
	Env         []string   `yaml:"env"`
	DeviceNodes []cdiNode  `yaml:"deviceNodes"`
	Mounts      []cdiMount `yaml:"mounts"`
	Hooks       []cdiHook  `yaml:"hooks"`
}

type cdiNode struct {
	Path     string `yaml:"path"`
	HostPath string `yaml:"hostPath"`
}

type cdiMount struct {
	HostPath      string   `yaml:"hostPath"`
	ContainerPath string   `yaml:"containerPath"`
	Options       []string `yaml:"options"`
}

type cdiHook struct {
	HookName string   `yaml:"hookName"`
	Path     string   `yaml:"path"`
	Args     []string `yaml:"args"`
	Env      []string `yaml:"env"`
}

// cdiDirs are the standard places; a later one counts more.
var cdiDirs = []string{"/etc/cdi", "/var/run/cdi"}

// readCDI reads all specifications, the most important first.
func readCDI(dirs []string) ([]cdiSpec, error) {
	if len(dirs) == 0 {
		dirs = cdiDirs
	}
	var specs []cdiSpec
	for _, d := range slices.Backward(dirs) {
		for _, pattern := range []string{"*.json", "*.yaml"} {
			files, _ := filepath.Glob(filepath.Join(d, pattern))
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err != nil {
					return nil, fmt.Errorf("read CDI specification: %w", err)
				}
				var s cdiSpec
				if err := yaml.Unmarshal(data, &s); err != nil {
					return nil, fmt.Errorf("read CDI specification %s: %w", f, err)
				}
				specs = append(specs, s)
			}
		}
	}
	return specs, nil
}

// errNoCDI says that no specification knows a kind of device.
var errNoCDI = errors.New("no CDI specification")

// chooseCDI puts together what the wanted devices of a kind bring. "all" is the device
// of that name or, where there is none, every device.
func chooseCDI(specs []cdiSpec, kind string, wanted []string) (cdiEdits, error) {
	var out cdiEdits
	known, used := map[string]bool{}, map[string]bool{}
	for i, s := range specs {
		if s.Kind != kind {
			continue
		}
		all := slices.Contains(wanted, "all") && !slices.ContainsFunc(s.Devices, func(d cdiDevice) bool { return d.Name == "all" })
		for _, d := range s.Devices {
			known[d.Name] = true
			if used[d.Name] || !all && !slices.Contains(wanted, d.Name) {
				continue
			}
			used[d.Name] = true
			if from := fmt.Sprintf("/%d", i); !used[from] {
				used[from] = true
				out.add(s.Edits)
			}
			out.add(d.Edits)
		}
	}
	if len(known) == 0 {
		return out, fmt.Errorf("%w for %s", errNoCDI, kind)
	}
	for _, w := range wanted {
		if w != "all" && !used[w] {
			return out, fmt.Errorf("the CDI specification has no device %s=%s", kind, w)
		}
	}
	return out, nil
}

func (e *cdiEdits) add(more cdiEdits) {
	e.Env = append(e.Env, more.Env...)
	e.DeviceNodes = append(e.DeviceNodes, more.DeviceNodes...)
	e.Mounts = append(e.Mounts, more.Mounts...)
	e.Hooks = append(e.Hooks, more.Hooks...)
}

// shown is what the edits mount. A device that has its own name is there with the
// host's /dev.
func (e cdiEdits) shown() ([]shown, error) {
	var list []shown
	for _, n := range e.DeviceNodes {
		if n.HostPath == "" || n.HostPath == n.Path {
			continue
		}
		list = append(list, shown{what: "show device " + n.Path, source: n.HostPath, target: n.Path, create: "file",
			plan: mountPlan{set: nosuid | noexec}})
	}
	for _, m := range e.Mounts {
		plan, err := (Mount{Source: m.HostPath, Target: m.ContainerPath, Flags: m.Options}).plan()
		if err != nil {
			return nil, fmt.Errorf("CDI specification: mount %s: %w", m.HostPath, err)
		}
		info, err := os.Stat(m.HostPath)
		if err != nil {
			return nil, fmt.Errorf("CDI specification: %w", err)
		}
		list = append(list, shown{what: "show " + m.HostPath, source: m.HostPath, target: m.ContainerPath, create: likeSource(info.IsDir()), plan: plan})
	}
	return list, nil
}

func (m *maker) applyCDI(e cdiEdits) error {
	list, err := e.shown()
	if err != nil {
		return err
	}
	if err := m.showAll(list); err != nil {
		return fmt.Errorf("show GPUs: %w", err)
	}
	m.deviceEnv = e.Env
	for _, h := range e.Hooks {
		if h.HookName != "createContainer" {
			continue
		}
		if err := m.runHook(h); err != nil {
			m.notice(err.Error())
		}
	}
	return nil
}

// runHook runs a hook as an OCI runtime does: it finds the container's root by the
// state on its input.
func (m *maker) runHook(h cdiHook) error {
	config, err := json.Marshal(map[string]any{"ociVersion": "1.2.0", "root": map[string]any{"path": m.base + "/root"}})
	if err != nil {
		return err
	}
	state, err := json.Marshal(map[string]any{"ociVersion": "1.2.0", "id": "muster", "status": "creating", "pid": m.r.pid, "bundle": m.base})
	if err != nil {
		return err
	}
	p := m.r.program()
	f := p.call("write config.json", unix.SYS_OPENAT, here, p.text(m.base+"/config.json"), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0o600)
	p.write("write config.json", f, config)
	p.close(f)
	if _, err := m.r.do(p); err != nil {
		return err
	}
	args := []string{h.Path}
	if len(h.Args) > 0 {
		args = append(args, h.Args[1:]...)
	}
	if log, err := m.runOnHost(args, h.Env, state); err != nil {
		return fmt.Errorf("CDI hook %s: %w: %s", strings.Join(h.Args, " "), err, lastLine(log))
	}
	return nil
}
