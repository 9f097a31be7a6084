package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// slack is how far clocks and what is written late may be off.
const slack = 2 * time.Minute

// kernel looks at what kernels said of their GPUs while the run went on.
func (c *court) kernel() {
	for _, l := range c.Kernel {
		if c.outside(l.Time) {
			continue
		}
		place := l.Place
		if place == "" {
			place = "kernel of " + l.Node
		}
		c.kernelLine(l.Text, l.Node, place)
	}
}

// outside says that a time is known and not the run's.
func (c *court) outside(t time.Time) bool {
	if t.IsZero() {
		return false
	}
	return !c.Run.Start.IsZero() && t.Before(c.Run.Start.Add(-slack)) || !c.Run.End.IsZero() && t.After(c.Run.End.Add(slack))
}

// xidLine is a line of NVIDIA's driver, as in "NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus." Of a part
// of a GPU (MIG) it says "(PCI:0000:38:00 GPU-I:05 GPU-CI:00)".
var xidLine = pattern.New(`Xid \(([0-9A-Za-z:.]{1,32}(?: GPU-C?I:[0-9]{1,4}){0,2})\)[^:]{0,64}: ([0-9]{1,9})`)

// driverLine is how NVIDIA's drivers begin their lines of faults, as their open sources print them (kernel_rc.c,
// NV_DEV_PRINTF of nv.c, NVSWITCH_PRINT_SXID). A user can have a kernel say much, in the name of a program that crashed, which
// begins the line and has fifteen letters at the most; all of these beginnings are longer.
var driverLine = sync.OnceValue(func() *regexp.Regexp {
	const device = `[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-9a-fA-F])?`
	return regexp.MustCompile(`^(NVRM: Xid \(PCI:` + device + `( GPU-C?I:[0-9]{1,4}){0,2}\): [0-9]` +
		`|nvidia-nvswitch[0-9]{1,3}: SXid \(PCI:` + device + `\): [0-9]` +
		`|NVRM: (The NVIDIA )?GPU (at )?(PCI:)?` + device + `.*fallen off the bus)`)
})

// Condemns says that a record of a kernel's own is of a fault of its machine, for which the node has to be looked at, reset
// or replaced.
func Condemns(line string) bool {
	if !driverLine().MatchString(line) {
		return false
	}
	c := &court{source: SourceKernel}
	c.kernelLine(line, "this node", "")
	return slices.ContainsFunc(c.all, func(f finding) bool { return f.drain })
}

// kernelLine looks at one line.
func (c *court) kernelLine(text, node, place string) {
	m := xidLine().FindStringSubmatchIndex(text)
	switch {
	case m != nil && m[0] > 0 && text[m[0]-1] == 'S':
		c.sxid(text[m[4]:m[5]], text, node, place)
	case m != nil:
		code, _ := strconv.Atoi(text[m[4]:m[5]]) // at most nine digits
		c.xid(code, strings.TrimPrefix(text[m[2]:m[3]], "PCI:"), text, node, place)
	case strings.Contains(text, "fallen off the bus"):
		c.fault(GPULost, "the GPU fell off the bus", node, place)
	}
}

// xid looks at one Xid.
func (c *court) xid(code int, device, line, node, place string) {
	x, does := meaning(code, line)
	says := fmt.Sprintf("Xid %d%s: %s", code, on(node, device), x.says)
	switch does {
	case nodeEffect:
		c.fault(x.class, says, node, place)
	case programEffect:
		c.add(finding{class: GPUProgram, detail: says, place: place, weak: true, alike: "xid " + strconv.Itoa(code)})
	default:
		c.add(finding{class: Unknown, text: says, place: place, weak: true, alike: "xid " + strconv.Itoa(code)})
	}
}

// sxid looks at a message of an NVSwitch, which says itself whether it is fatal.
func (c *court) sxid(code, line, node, place string) {
	says := "SXid " + code + " of an NVSwitch" + on(node, "")
	if fatal().MatchString(line) {
		c.fault(NVLink, says+" is fatal", node, place)
		return
	}
	c.add(finding{class: Unknown, text: says, place: place, weak: true, alike: "sxid"})
}

func on(node, device string) string {
	text := ""
	if node != "" {
		text = " on " + node
	}
	if device != "" {
		text += " (GPU " + device + ")"
	}
	return text
}

// fault says that a machine failed. Where nobody knows which, it is still the cause.
func (c *court) fault(class Class, says, node, place string) {
	if node == "" && len(c.Run.Nodes) == 1 {
		node = c.Run.Nodes[0]
	}
	c.add(finding{class: class, detail: says, place: place, node: node, reason: says, drain: true, alike: says})
}

// gpuSign looks at a line of a kernel, of CUDA or of Slurm in a job's log that may tell of a machine's fault. What a kernel said
// long before the run, as its line says, is of a machine as it was: programs print their node's old messages.
func (c *court) gpuSign(s Sign, place, node string) {
	const zones = 26 * time.Hour // a line's clock may be any
	if !s.Time.IsZero() && !c.Run.Start.IsZero() && s.Time.Before(c.Run.Start.Add(-zones)) {
		return
	}
	switch s.Kind {
	case trainlog.Xid:
		c.xid(s.Code, s.Name, s.Text, node, place)
	case trainlog.SXid:
		c.sxid(strconv.Itoa(s.Code), s.Text, node, place)
	case trainlog.GPULost:
		if strings.HasSuffix(s.Text, " GPUs") { // a script counted them: it is for others to say why
			c.add(finding{class: GPULost, detail: s.Text, place: place, node: node, reason: s.Text, alike: s.Text})
			return
		}
		c.fault(GPULost, "the GPU fell off the bus"+on(node, ""), node, place)
	case trainlog.MemoryError:
		c.fault(Memory, "uncorrectable error"+on(node, ""), node, place)
	}
}

// rankText is who says something, as in "rank 3: ".
func rankText(s Sign) string {
	if s.Rank == trainlog.NoRank {
		return ""
	}
	return fmt.Sprintf("rank %d: ", s.Rank)
}

// oneLine is a text without what would break a line.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
