package container

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// gpuRequest says which GPUs a container is to see: what NVIDIA_VISIBLE_DEVICES says
// outside, or else in the image; or else all GPUs of a job that Slurm gave some. Nil is
// none.
func gpuRequest(outer, image environment) []string {
	value, said := outer["NVIDIA_VISIBLE_DEVICES"]
	if !said {
		value, said = image["NVIDIA_VISIBLE_DEVICES"]
	}
	for _, name := range []string{"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"} {
		if !said && outer[name] != "" {
			value, said = "all", true
		}
	}
	switch value {
	case "", "void", "none":
		return nil
	}
	return strings.Split(value, ",")
}

// mountDevices shows GPUs and their driver, as a specification of the Container Device
// Interface says, or else as NVIDIA's own program does it.
func (m *maker) mountDevices() error {
	outer, image := readEnviron(m.o.Environ), readEnviron(m.config.Env)
	wanted := gpuRequest(outer, image)
	if len(wanted) == 0 {
		return nil
	}
	specs, err := readCDI(m.o.CDI)
	if err != nil {
		return err
	}
	edits, err := chooseCDI(specs, gpuKind, wanted)
	if err == nil {
		return m.applyCDI(edits)
	}
	if !errors.Is(err, errNoCDI) {
		return err
	}
	program, err := hostProgram("nvidia-container-cli")
	if err != nil {
		return m.withoutGPUs()
	}
	args, err := nvidiaArgs(program, wanted, outer, image)
	if err != nil {
		return err
	}
	if log, err := m.runOnHost(append(args, m.base+"/root"), nil, nil); err != nil {
		return fmt.Errorf("show GPUs: %w: %s", err, lastLine(log))
	}
	return nil
}

// withoutGPUs says that nothing here shows GPUs in containers. Where there are some, a
// step that was given GPUs and runs without them is an error: it would fail later, or
// run for days on CPUs.
func (m *maker) withoutGPUs() error {
	const neither = "this machine has neither a CDI specification for " + gpuKind + " nor nvidia-container-cli"
	if names, err := os.ReadDir(cmp.Or(m.o.GPUs, driverGPUs)); err == nil && len(names) > 0 {
		return withHint(errors.New("show GPUs: "+neither), "install the NVIDIA Container Toolkit, or set NVIDIA_VISIBLE_DEVICES=void for a step that needs no GPU")
	}
	m.verbose("no GPU: " + neither)
	return nil
}

// driverGPUs is where NVIDIA's driver has a directory for each GPU.
const driverGPUs = "/proc/driver/nvidia/gpus"

const gpuKind = "nvidia.com/gpu"

// nvidiaCapabilities are what a driver can be asked for, as flags of NVIDIA's program.
var nvidiaCapabilities = []string{"compute", "compat32", "display", "graphics", "utility", "video"}

// nvidiaArgs is the command line of nvidia-container-cli, without the root's path.
func nvidiaArgs(program string, wanted []string, outer, image environment) ([]string, error) {
	say := func(name string) string {
		if v, ok := outer[name]; ok {
			return v
		}
		return image[name]
	}
	args := []string{program, "--user", "configure", "--no-cgroups"}
	if ldconfig, err := hostProgram("ldconfig.real", "ldconfig"); err == nil {
		args = append(args, "--ldconfig=@"+ldconfig)
	}
	args = append(args, "--device="+strings.Join(wanted, ","))
	if v := say("NVIDIA_MIG_CONFIG_DEVICES"); v != "" {
		args = append(args, "--mig-config="+v)
	}
	if v := say("NVIDIA_MIG_MONITOR_DEVICES"); v != "" {
		args = append(args, "--mig-monitor="+v)
	}
	capabilities := cmp.Or(say("NVIDIA_DRIVER_CAPABILITIES"), "utility")
	for c := range strings.FieldsFuncSeq(capabilities, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch {
		case c == "all":
			for _, c := range nvidiaCapabilities {
				args = append(args, "--"+c)
			}
		case slices.Contains(nvidiaCapabilities, c):
			args = append(args, "--"+c)
		default:
			return nil, fmt.Errorf("NVIDIA_DRIVER_CAPABILITIES: no driver capability %q", c)
		}
	}
	if say("NVIDIA_DISABLE_REQUIRE") == "" {
		for _, name := range sortedRequirements(image) {
			args = append(args, "--require="+say(name))
		}
	}
	return args, nil
}

func sortedRequirements(image environment) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(image)), func(name string) bool { return !strings.HasPrefix(name, "NVIDIA_REQUIRE_") })
}

// runOnHost runs a program of the host's in the container's namespaces while the
// host's root is still there, with all rights in the container. It returns what the
// program printed.
func (m *maker) runOnHost(args, env []string, input []byte) (string, error) {
	p := m.r.program()
	in := p.call("make input", unix.SYS_MEMFD_CREATE, p.text("input"), unix.MFD_CLOEXEC)
	if len(input) > 0 {
		p.write("make input", in, input)
		p.call("make input", unix.SYS_LSEEK, in, 0, 0)
	}
	out := p.call("make log", unix.SYS_MEMFD_CREATE, p.text("log"), unix.MFD_CLOEXEC)
	child := p.fork("start "+args[0], func() {
		p.streams(in, out)
		p.keepCapabilities()
		p.call("set signal mask", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, p.data(make([]byte, 8)), 0, 8)
		p.call("run", unix.SYS_EXECVE, p.text(args[0]), p.texts(args), p.texts(append(env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")))
	})
	word := p.space(4)
	p.call("wait for "+args[0], unix.SYS_WAIT4, child, address(word), 0, 0)
	p.close(in)
	p.send(m.r, out)
	if _, err := m.r.do(p); err != nil {
		return "", err
	}
	status := waitStatus(word)
	log, err := m.r.receive()
	if err != nil {
		return "", err
	}
	defer log.Close()
	text := readLog(log)
	if status.ExitStatus() != 0 {
		return text, fmt.Errorf("%s ended with code %d", args[0], status.ExitStatus())
	}
	return text, nil
}

// keepCapabilities lets the next program have all capabilities of the namespace,
// whatever its user.
func (p *program) keepCapabilities() {
	header := p.data(capabilityHeader())
	// Each half is effective, permitted, inheritable: of a new namespace's first process
	// the first two are full.
	full := make([]byte, 24)
	for _, half := range []struct{ at, bits int }{{0, 32}, {12, unix.CAP_LAST_CAP - 31}} {
		mask := uint32(1<<half.bits - 1)
		for i := range 3 {
			copy(full[half.at+4*i:], []byte{byte(mask), byte(mask >> 8), byte(mask >> 16), byte(mask >> 24)})
		}
	}
	p.allow(p.call("keep capabilities", unix.SYS_CAPSET, header, p.data(full)))
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		p.allow(p.call("keep a capability", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0))
	}
}

func readLog(log *os.File) string {
	text := make([]byte, 16<<10)
	n, _ := log.ReadAt(text, 0)
	return string(text[:n])
}
