package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/kmsg"
)

// NodeEpilog is what a node runs as root after each job: it looks at what the node's kernel has said of its GPUs.
const NodeEpilog = services.BinDir + "/node-epilog"

// asksKernel never fails: Slurm would drain the node for it, whatever the kernel said. Output of an epilog goes nowhere.
const asksKernel = `#!/bin/sh
# Written by muster: a node whose kernel says that a GPU failed takes itself out of service.
` + services.Muster + ` agent kernel "${SLURMD_NODENAME:-}" >/dev/null 2>&1 </dev/null
exit 0
`

// Epilog writes the node's epilog.
func (m Machine) Epilog() (string, error) {
	text, detail := "#!/bin/sh\n# Written by muster: this node has no GPUs of NVIDIA to ask its kernel for.\nexit 0\n", "no GPUs to ask the kernel for"
	if hardwareOf(m.devices()).GPUs > 0 {
		text, detail = asksKernel, "the kernel is asked for its GPUs"
	}
	_, err := m.Write(NodeEpilog, text, 0o755, "")
	return detail, err
}

// kernelFile keeps up to where a node's kernel log was looked at. It is root's, in a directory of root's that each boot
// makes anew.
const kernelFile = services.RunDir + "/kernel.json"

// seenKernel is up to where the log was looked at in which life of the machine.
type seenKernel struct {
	Boot     string `json:"boot"`
	Sequence uint64 `json:"sequence"`
}

// KernelNews is what a kernel has said since it was looked at last. Keep says that it was dealt with.
type KernelNews struct {
	// Line is the first that condemns the node, empty if none does.
	Line string
	// Missed is what could not be looked at, empty if all was.
	Missed string
	seen   seenKernel
}

// kernelWait bounds a look at the kernel's log: jobs end no sooner.
const kernelWait = 5 * time.Second

// KernelNews looks at what the kernel has said since the last look of this boot, or since the boot. condemns tells which
// lines matter. What root's programs write into the kernel's log is not the kernel's.
func (m Machine) KernelNews(ctx context.Context, condemns func(line string) bool) (KernelNews, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, kernelWait, fmt.Errorf("it took longer than %s", kernelWait))
	defer cancel()
	var news KernelNews
	boot, err := m.Read("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return news, err
	}
	last, before := m.seenKernel(strings.TrimSpace(boot))
	look, err := kmsg.Each(ctx, m.path(kmsg.Path), func(r kmsg.Record) {
		old := before && r.Sequence <= last
		if !old && news.Line == "" && r.Facility == kmsg.Kernel && !r.Fragment && condemns(r.Text) {
			news.Line = r.Text
		}
	})
	news.seen = seenKernel{Boot: strings.TrimSpace(boot), Sequence: max(last, look.Last)}
	var missed []string
	if !look.Any && look.Unread == 0 {
		missed = append(missed, "the kernel's log has no records")
	}
	if before && look.Any && look.First > last+1 {
		missed = append(missed, fmt.Sprintf("%d records of the kernel's log were overwritten before they were looked at", look.First-last-1))
	}
	if look.Unread > 0 {
		missed = append(missed, fmt.Sprintf("%d records of the kernel's log could not be read", look.Unread))
	}
	news.Missed = strings.Join(missed, "; ")
	return news, err
}

// seenKernel is the sequence number of the last record that was looked at in this boot, if there was one.
func (m Machine) seenKernel(boot string) (last uint64, before bool) {
	text, err := m.Read(kernelFile)
	var seen seenKernel
	if err != nil || json.Unmarshal([]byte(text), &seen) != nil || seen.Boot != boot || boot == "" {
		return 0, false // all is looked at again
	}
	return seen.Sequence, true
}

// Keep notes that what a kernel has said so far was dealt with.
func (m Machine) Keep(n KernelNews) error {
	text, err := json.Marshal(n.seen)
	if err == nil {
		_, err = m.Write(kernelFile, string(text)+"\n", 0o600, "")
	}
	return err
}
