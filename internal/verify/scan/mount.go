//go:build linux

package scan

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
)

// kernels are file systems of the kernel's own that keep no files of anybody.
var kernels = [...]string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
	"mqueue", "nsfs", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs", "sysfs", "tracefs", "nfsd",
}

// mostMounts bounds how many are looked at.
const mostMounts = 200

// mounts are the file systems that are mounted, those that are hidden by others left out.
func (e eye) mounts(ctx context.Context) verify.Look[[]verify.Mount] {
	text, err := e.read("/proc/self/mountinfo")
	if err != nil {
		return verify.Unseen[[]verify.Mount](err.Error())
	}
	all := []verify.Mount{}
	for line := range strings.Lines(text) {
		m, ok := mountOf(line)
		if !ok || slices.Contains(kernels[:], m.Type) {
			continue
		}
		all = slices.DeleteFunc(all, func(other verify.Mount) bool { return other.Dir == m.Dir })
		if all = append(all, m); len(all) > mostMounts {
			return verify.Unseen[[]verify.Mount]("the machine has more than " + strconv.Itoa(mostMounts) + " mounts")
		}
	}
	e.measure(ctx, all)
	return verify.Saw(all)
}

// mountOf reads a line of proc(5)'s mountinfo.
func mountOf(line string) (verify.Mount, bool) {
	before, behind, ok := strings.Cut(line, " - ")
	words, kind := strings.Fields(before), strings.Fields(behind)
	if !ok || len(words) < 6 || len(kind) < 2 {
		return verify.Mount{}, false
	}
	m := verify.Mount{Dir: short(unescape(words[4])), Type: short(kind[0]), Source: short(unescape(kind[1])), Options: words[5]}
	if len(kind) > 2 {
		m.Options += "," + kind[2]
	}
	m.ReadOnly = slices.Contains(strings.Split(m.Options, ","), "ro")
	m.Options = short(m.Options)
	return m, true
}

// unescape undoes the octal escapes of mountinfo.
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

// mountWait bounds the wait for a file system's server.
const mountWait = 5 * time.Second

// measured is what one file system answered.
type measured struct {
	place int
	have  syscall.Statfs_t
	err   error
}

// measure asks each file system for its size. Who asks one whose server does not answer waits for it as long as the kernel does,
// so he is left behind: this process ends soon.
func (e eye) measure(ctx context.Context, all []verify.Mount) {
	ctx, cancel := context.WithTimeout(ctx, mountWait)
	defer cancel()
	answers := make(chan measured, len(all))
	for i := range all {
		all[i].Blind = "its file system does not answer within " + mountWait.String()
		dir := e.at(all[i].Dir)
		go func() {
			a := measured{place: i}
			a.err = syscall.Statfs(dir, &a.have)
			answers <- a
		}()
	}
	for range all {
		select {
		case a := <-answers:
			fill(&all[a.place], a)
		case <-ctx.Done():
			return
		}
	}
}

func fill(m *verify.Mount, a measured) {
	if m.Blind = ""; a.err != nil {
		m.Blind = "ask for its size: " + a.err.Error()
		return
	}
	unit := a.have.Frsize
	if unit <= 0 {
		unit = a.have.Bsize
	}
	m.SizeBytes, m.FreeBytes = bytes64(a.have.Blocks, unit), bytes64(a.have.Bavail, unit)
	m.Inodes, m.FreeInodes = bytes64(a.have.Files, 1), bytes64(a.have.Ffree, 1)
}

func bytes64(n uint64, unit int64) int64 {
	if unit <= 0 || n > math.MaxInt64/uint64(unit) {
		return math.MaxInt64
	}
	return int64(n) * unit
}
