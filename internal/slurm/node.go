package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Node is a node as scontrol shows it. Memory is in MiB.
type Node struct {
	Name               string    `json:"name"`
	State              NodeState `json:"state"`
	Partitions         []string  `json:"partitions,omitempty"`
	CPUs               int       `json:"cpus"`
	CPUsAllocated      int       `json:"cpus_allocated"`
	MemoryMiB          int       `json:"memory_mib"`
	AllocatedMemoryMiB int       `json:"allocated_memory_mib"`
	// Gres is what the node offers, GresUsed what jobs hold of it.
	Gres     string `json:"gres,omitempty"`
	GresUsed string `json:"gres_used,omitempty"`
	// CfgTRES and AllocTRES count the same as trackable resources.
	CfgTRES   string `json:"cfg_tres,omitempty"`
	AllocTRES string `json:"alloc_tres,omitempty"`
	// Reason, its user and time say why the node is down or drained.
	Reason         string    `json:"reason,omitempty"`
	ReasonUser     string    `json:"reason_user,omitempty"`
	ReasonTime     time.Time `json:"reason_time,omitzero"`
	BootTime       time.Time `json:"boot_time,omitzero"`
	SlurmdStart    time.Time `json:"slurmd_start,omitzero"`
	LastBusy       time.Time `json:"last_busy,omitzero"`
	Address        string    `json:"address,omitempty"`
	Hostname       string    `json:"hostname,omitempty"`
	Version        string    `json:"version,omitempty"`
	Features       []string  `json:"features,omitempty"`
	Comment        string    `json:"comment,omitempty"`
	Extra          string    `json:"extra,omitempty"`
	InstanceID     string    `json:"instance_id,omitempty"`
	InstanceType   string    `json:"instance_type,omitempty"`
	Reservation    string    `json:"reservation,omitempty"`
	ThreadsPerCore int       `json:"threads_per_core,omitempty"`
	// Arch is the machine's, in uname's words, such as x86_64; empty until it has registered.
	Arch string `json:"-"`
}

var nodeGrammar = sync.OnceValue(func() grammar {
	return grammar{
		first: "NodeName",
		keys: words(`NodeName Arch CoresPerSocket CPUAlloc CPUEfctv CPUErr CPUTot CPULoad AvailableFeatures
		ActiveFeatures Gres GresDrain GresUsed NodeAddr NodeHostName Port Version OS RealMemory AllocMem FreeMem
		Sockets Boards CoreSpecCount CPUSpecList MemSpecLimit State ThreadsPerCore TmpDisk Weight Owner MCS_label
		NextState Partitions BootTime SlurmdStartTime LastBusyTime ResumeAfterTime CfgTRES AllocTRES CapWatts
		CurrentWatts AveWatts ExtSensorsJoules ExtSensorsWatts ExtSensorsTemp Reason Comment Extra InstanceId
		InstanceType ReservationName GpuSpec RestrictedCoresPerGPU Topology CertFlags Parameters`),
		free: words("OS Reason Comment Extra GresUsed"),
	}
})

// parseNodes reads scontrol show node, one line a node or many. Times are in
// loc, nil is local.
func parseNodes(output []byte, loc *time.Location) ([]Node, []Problem) {
	return parsed(nodeGrammar().records(output, loc), nodeOf)
}

func nodeOf(r *record) Node {
	n := Node{
		Name:               r.text("NodeName"),
		State:              ParseNodeState(r.values["State"]),
		Partitions:         splitCommas(r.text("Partitions")),
		CPUs:               r.int("CPUTot"),
		CPUsAllocated:      r.int("CPUAlloc"),
		MemoryMiB:          r.int("RealMemory"),
		AllocatedMemoryMiB: r.int("AllocMem"),
		Gres:               r.text("Gres"),
		GresUsed:           r.text("GresUsed"),
		CfgTRES:            r.text("CfgTRES"),
		AllocTRES:          r.text("AllocTRES"),
		BootTime:           r.time("BootTime"),
		SlurmdStart:        r.time("SlurmdStartTime"),
		LastBusy:           r.time("LastBusyTime"),
		Address:            r.text("NodeAddr"),
		Hostname:           r.text("NodeHostName"),
		Version:            r.text("Version"),
		Features:           splitCommas(r.text("ActiveFeatures")),
		Comment:            r.text("Comment"),
		Extra:              r.text("Extra"),
		InstanceID:         r.text("InstanceId"),
		InstanceType:       r.text("InstanceType"),
		Reservation:        r.text("ReservationName"),
		ThreadsPerCore:     r.int("ThreadsPerCore"),
		Arch:               r.text("Arch"),
	}
	n.Reason, n.ReasonUser, n.ReasonTime = r.reason()
	if n.Name == "" || r.values["State"] == "" {
		r.fail(fmt.Errorf("a node without a name or a state"))
	}
	return n
}

// reasonEnd is the user and the time that scontrol puts behind a reason.
var reasonEnd = pattern.New(`(?s)^(.*?) ?\[([^\[\]@]*)@([^\[\]@]*)\]$`)

func (r *record) reason() (text, user string, at time.Time) {
	text = r.text("Reason")
	m := reasonEnd().FindStringSubmatch(text)
	if m == nil {
		return text, "", time.Time{}
	}
	at, err := parseTime(m[3], r.loc)
	if err != nil {
		return text, "", time.Time{}
	}
	return m[1], m[2], at
}

func splitCommas(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
}

// GPUs is how many GPUs the node offers: by its trackable resources, or by its Gres where these have none, as they do without
// gres/gpu in AccountingStorageTRES.
func (n Node) GPUs() int {
	if counted := GPUs(n.CfgTRES); counted > 0 {
		return counted
	}
	all := 0
	for item := range strings.SplitSeq(n.Gres, ",") {
		item, _, _ = strings.Cut(item, "(") // the sockets, such as (S:0-1)
		words := strings.Split(strings.TrimPrefix(item, "gres/"), ":")
		if words[0] != "gpu" {
			continue
		}
		count, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			count = 1 // a resource without a number is one
		}
		all += count
	}
	return all
}
