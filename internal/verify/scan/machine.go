//go:build linux

package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/sys/kmsg"
	"github.com/muster-hpc/muster/internal/verify"
)

func (e eye) machine(ctx context.Context) verify.MachineFacts {
	m := verify.MachineFacts{Kernel: e.line("/proc/sys/kernel/osrelease"), Distro: e.distro(), Arch: runtime.GOARCH, CPUs: e.cpus(), Daemons: e.daemons()}
	m.MemoryMiB = e.memory("MemTotal", 1<<10)
	m.HugePages = e.memory("HugePages_Total", 1)
	size, _ := e.memory("Hugepagesize", 1).See()
	m.HugePageKiB = size
	m.Load = e.load()
	m.PressureCPU, m.PressureMemory, m.PressureIO = e.pressure("cpu"), e.pressure("memory"), e.pressure("io")
	m.KernelLines, m.KernelMissed = e.kernel(ctx)
	return m
}

// distro is the ID and the version of os-release(5).
func (e eye) distro() verify.Look[string] {
	text, err := e.read("/etc/os-release")
	if err != nil {
		if text, err = e.read("/usr/lib/os-release"); err != nil {
			return verify.Unseen[string](err.Error())
		}
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Trim(value, `"'`)
	}
	return verify.Saw(short(strings.TrimSpace(cmp.Or(values["ID"], "linux") + " " + values["VERSION_ID"])))
}

// cpus counts a list such as 0-3,8.
func (e eye) cpus() verify.Look[int] {
	text, err := e.read("/sys/devices/system/cpu/online")
	if err != nil {
		return verify.Unseen[int](err.Error())
	}
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		from, to, more := strings.Cut(part, "-")
		if !more {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, wrong := strconv.Atoi(to)
		if err != nil || wrong != nil || last < first {
			return verify.Unseen[int](fmt.Sprintf("%q is no list of CPUs", short(text)))
		}
		n += last - first + 1
	}
	return verify.Saw(n)
}

// memory is a number of /proc/meminfo, divided.
func (e eye) memory(name string, by int64) verify.Look[int64] {
	text, err := e.read("/proc/meminfo")
	if err != nil {
		return verify.Unseen[int64](err.Error())
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != name+":" {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return verify.Unseen[int64](err.Error())
		}
		return verify.Saw(n / by)
	}
	return verify.Unseen[int64]("/proc/meminfo has no " + name)
}

func (e eye) load() verify.Look[float64] {
	text, err := e.read("/proc/loadavg")
	if err != nil {
		return verify.Unseen[float64](err.Error())
	}
	first, _, _ := strings.Cut(text, " ")
	return decimal(first)
}

// pressure is the share of the last minute in which some task waited, in percent.
func (e eye) pressure(of string) verify.Look[float64] {
	text, err := e.read("/proc/pressure/" + of)
	if err != nil {
		return verify.Unseen[float64](err.Error())
	}
	_, rest, ok := strings.Cut(text, "avg60=")
	word, _, _ := strings.Cut(rest, " ")
	if !ok {
		return verify.Unseen[float64]("/proc/pressure/" + of + " has no avg60")
	}
	return decimal(word)
}

func decimal(word string) verify.Look[float64] {
	n, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return verify.Unseen[float64](fmt.Sprintf("%q is no number", short(word)))
	}
	return verify.Saw(n)
}

// daemons are those of Slurm's that run, by their names. Debian calls its programs slurmd-wlm and so on, and so does the kernel
// once a daemon of 23.11 or later has read its configuration again.
func (e eye) daemons() verify.Look[[]string] {
	known := []string{"munged", "slurmctld", "slurmd", "slurmdbd"}
	names := e.glob("/proc/[0-9]*/comm")
	if len(names) == 0 {
		return verify.Unseen[[]string]("/proc has no processes")
	}
	have := []string{}
	for _, file := range names {
		text, _ := e.read(file) // a process may have ended meanwhile
		if name := strings.TrimSuffix(strings.TrimSpace(text), "-wlm"); slices.Contains(known, name) && !slices.Contains(have, name) {
			have = append(have, name)
		}
	}
	slices.Sort(have)
	return verify.Saw(have)
}

// mostKernelLines bounds what is kept of the kernel's log: its last lines about GPUs.
const mostKernelLines = 100

// kernel is what the kernel itself has said of GPUs since the boot.
func (e eye) kernel(ctx context.Context) (verify.Look[[]string], string) {
	lines := []string{}
	look, err := kmsg.Each(ctx, e.at(kmsg.Path), func(r kmsg.Record) {
		if r.Facility == kmsg.Kernel && !r.Fragment && (strings.HasPrefix(r.Text, "NVRM: ") || strings.HasPrefix(r.Text, "nvidia-nvswitch")) {
			lines = append(lines, short(r.Text))
			lines = lines[max(0, len(lines)-mostKernelLines):]
		}
	})
	switch {
	case errors.Is(err, fs.ErrPermission):
		return verify.Unseen[[]string]("only root may read the kernel's log here"), ""
	case err != nil:
		return verify.Unseen[[]string](err.Error()), ""
	case !look.Any:
		return verify.Unseen[[]string]("the kernel's log has no records"), ""
	}
	missed := ""
	if look.Unread > 0 {
		missed = fmt.Sprintf("%d records of the kernel's log could not be read", look.Unread)
	}
	return verify.Saw(lines), missed
}

// clock is this machine's time, and whether the kernel holds it for a server's: adjtimex(2) tells that to anybody.
func clock(o Options) verify.ClockFacts {
	c := verify.ClockFacts{Now: o.Now, Asked: o.Asked}
	const (
		unsynchronised = 0x40 // STA_UNSYNC
		failed         = 5    // TIME_ERROR
	)
	var t syscall.Timex
	state, err := syscall.Adjtimex(&t)
	if err != nil {
		c.Synchronised = verify.Unseen[bool]("ask the kernel for its clock: " + err.Error())
		return c
	}
	c.Synchronised = verify.Saw(state != failed && t.Status&unsynchronised == 0)
	c.MaxErrorMicroseconds = t.Maxerror
	return c
}

// limits are this process's, which are the job's.
func limits() verify.Look[[]verify.Limit] {
	const nproc, memlock = 6, 8 // of Linux's resource.h, which package syscall leaves out
	all := []verify.Limit{}
	for _, l := range []struct {
		name   string
		number int
	}{{"nofile", syscall.RLIMIT_NOFILE}, {"memlock", memlock}, {"stack", syscall.RLIMIT_STACK}, {"core", syscall.RLIMIT_CORE}, {"nproc", nproc}} {
		var r syscall.Rlimit
		if err := syscall.Getrlimit(l.number, &r); err != nil {
			return verify.Unseen[[]verify.Limit]("ask for the limits of processes: " + err.Error())
		}
		all = append(all, verify.Limit{Name: l.name, Soft: limit(r.Cur), Hard: limit(r.Max)})
	}
	return verify.Saw(all)
}

func limit(n uint64) int64 {
	if n > math.MaxInt64 {
		return verify.Unlimited
	}
	return int64(n)
}

// base is a path's last part, where that is a link the part that it leads to.
func (e eye) base(name string) string {
	if real, err := filepath.EvalSymlinks(e.at(name)); err == nil {
		return filepath.Base(real)
	}
	return path.Base(name)
}
