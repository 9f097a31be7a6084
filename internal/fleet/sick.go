package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify/scan"
)

// reasonHealth begins the reason of a node that drained itself for what it lacks.
const reasonHealth = reasonMark + "health: "

// HealthReason is the reason of a node that is not well, by what is wrong.
func HealthReason(wrong []string) string {
	return reasonHealth + kept(strings.Join(wrong, "; "))
}

// kept is a text as Slurm keeps it of a reason, without its end where it is long.
func kept(text string) string {
	const most = 200
	text = strings.ToValidUTF8(strings.ReplaceAll(text, `"`, "'"), "?")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// ByItself tells whether a node gave the reason itself: for what its kernel says, or for what it lacks.
func ByItself(reason string) bool {
	return strings.HasPrefix(reason, reasonKernel) || strings.HasPrefix(reason, reasonHealth)
}

// Vitals are what a node was seen to have.
type Vitals struct {
	// Mounts are the file systems that the cluster shares, Disks the node's own.
	Mounts, Disks []scan.Answer
	// GPUs and EFA are how many devices the kernel has, WantGPUs and WantEFA how many the node booted with.
	GPUs, EFA, WantGPUs, WantEFA int
	// Faults are what the driver says is wrong with its GPUs, Unseen what it did not tell.
	Faults, Unseen []string
	// Boot is the kernel's name of this life of the machine.
	Boot string
	Now  time.Time
}

// Memory is what a node keeps between two looks at itself. The zero value has seen nothing.
type Memory struct {
	Boot string    `json:"boot"`
	At   time.Time `json:"at"`
	// Mounted are the file systems that were mounted at some time of this life.
	Mounted []string `json:"mounted,omitempty"`
	// Wrong is what was wrong at the last look, Blind what could not be looked at.
	Wrong []string `json:"wrong,omitempty"`
	Blind []string `json:"blind,omitempty"`
}

// twice is how far two looks may be apart that find the same: more than that is not in a row.
const twice = time.Hour

// Sick says what is wrong with a node for sure: what two looks in a row found. The memory is the next look's. What could not be looked
// at is in the memory, and never wrong.
func Sick(v Vitals, m Memory) (sure []string, next Memory) {
	if m.Boot != v.Boot {
		m = Memory{}
	}
	next = Memory{Boot: v.Boot, At: v.Now, Mounted: slices.Clone(m.Mounted)}
	for _, a := range v.Mounts {
		_ = next.mount(a)
	}
	for _, a := range v.Disks {
		next.disk(a)
	}
	next.devices("GPU", v.GPUs, v.WantGPUs)
	next.devices("EFA device", v.EFA, v.WantEFA)
	next.Wrong, next.Blind = append(next.Wrong, v.Faults...), append(next.Blind, v.Unseen...)
	for _, w := range next.Wrong {
		if slices.Contains(m.Wrong, w) && v.Now.Sub(m.At) < twice {
			sure = append(sure, w)
		}
	}
	return sure, next
}

// mount looks at what has to be mounted, and answer. What was never mounted in this life of the machine was not the boot's to mount.
func (m *Memory) mount(a scan.Answer) (well bool) {
	switch {
	case !a.Mounted && slices.Contains(m.Mounted, a.Dir):
		m.Wrong = append(m.Wrong, a.Dir+" is not mounted any more")
		return false
	case !a.Mounted:
		m.Blind = append(m.Blind, a.Dir+" has not been mounted yet")
		return false
	case !slices.Contains(m.Mounted, a.Dir):
		m.Mounted = append(m.Mounted, a.Dir)
	}
	return m.answered(a)
}

// answered looks at whether a file system answers at all.
func (m *Memory) answered(a scan.Answer) (well bool) {
	switch why, blind := strings.CutPrefix(a.Error, "blind: "); {
	case a.Silent:
		m.Wrong = append(m.Wrong, a.Dir+" does not answer")
	case blind, strings.Contains(a.Error, "ermission denied"):
		m.Blind = append(m.Blind, a.Dir+": "+why)
	case a.Error != "":
		m.Wrong = append(m.Wrong, a.Dir+": "+strings.ToLower(a.Error))
	default:
		return true
	}
	return false
}

// A disk of the node's own is full when it has neither a hundredth of its room left nor a GiB: no job can write there.
const (
	fullPart  = 100
	fullBytes = 1 << 30
)

func (m *Memory) disk(a scan.Answer) {
	if !m.mount(a) {
		return
	}
	if a.Size > 0 && a.Free < min(a.Size/fullPart, fullBytes) {
		m.Wrong = append(m.Wrong, a.Dir+" is full")
	}
	if a.Inodes > 0 && a.FreeInodes < a.Inodes/fullPart {
		m.Wrong = append(m.Wrong, a.Dir+" has no inodes left")
	}
}

func (m *Memory) devices(noun string, have, want int) {
	if have < want {
		m.Wrong = append(m.Wrong, fmt.Sprintf("the kernel has %s of %d", count.Of(have, noun), want))
	}
}

// News tells whether a look found something else than the one before.
func (m Memory) News(before Memory) bool {
	return !slices.Equal(m.Wrong, before.Wrong) || !slices.Equal(m.Blind, before.Blind)
}

// Crowd is how many nodes may be out of service for their health at once: three, or a tenth of the cluster. If more lack the same, it
// is not they who are at fault, and new machines would lack it, too.
func Crowd(nodes int) int { return max(3, nodes/10) }

// Unhealthy counts those that drained themselves for their health, by their reasons.
func Unhealthy(reasons []string) (n int) {
	for _, r := range reasons {
		if strings.HasPrefix(r, reasonHealth) {
			n++
		}
	}
	return n
}

// TakenOut counts the nodes that muster took out of service for what they lack: at their own look, or by a verification.
func TakenOut(reasons []string) (n int) {
	for _, r := range reasons {
		if strings.HasPrefix(r, reasonVerify) || ByItself(r) {
			n++
		}
	}
	return n
}

// reasonVerify begins the reason of a node that a verification took out of service.
const reasonVerify = reasonMark + "verify: "

// VerifyReason is the reason of a node that failed a check, by what was found.
func VerifyReason(check, found string) string {
	return reasonVerify + kept(strings.TrimSuffix(check+": "+found, ": "))
}
