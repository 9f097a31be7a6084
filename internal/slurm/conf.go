package slurm

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Config is what a cluster's Slurm configuration files say. The zero values of
// the timers are not useful: see LocalTimers.
type Config struct {
	Cluster string
	// HeadName and HeadAddress are where slurmctld and slurmdbd run.
	HeadName    string
	HeadAddress netip.Addr
	// ControlUser runs slurmctld and slurmdbd; NodeUser runs slurmd.
	ControlUser, NodeUser string
	// MemoryBased makes memory a resource that jobs are given.
	MemoryBased bool
	// IdleSeconds is how long a dynamic node may be idle; -1 is for ever.
	IdleSeconds int
	// ResumeProgram, SuspendProgram and JobProlog (PrologSlurmctld) are absolute
	// paths of programs.
	ResumeProgram, SuspendProgram, JobProlog string
	StateDir, SpoolDir                       string
	// RebootProgram is a program of each node that boots it anew, empty for none.
	RebootProgram string
	// GPUFile is the path of a GPU's file without its number.
	GPUFile string
	Timers  Timers
	Groups  []NodeGroup
	// Partitions are in the cluster file's order; the first is the default.
	Partitions []PartitionConf
	// CgroupPlugin is what cgroup.conf names: see NoCgroups.
	CgroupPlugin string
	// Configless says that machines fetch the configuration from slurmctld, and that
	// nodes have addresses only while they run.
	Configless bool
	// Confine keeps jobs to what they were given by control groups.
	Confine bool
	// NodeProlog is a program that each node runs before a job's first step there,
	// empty for none.
	NodeProlog string
	// NodeEpilog is a program that each node runs after a job, empty for none.
	NodeEpilog string
	// NodeHealth is a program that idle nodes run every few minutes, and each when its slurmd starts; empty for none.
	NodeHealth string
	// Accounting says where jobs are accounted for.
	Accounting Accounting
	// Policy is what accounts and QoS make of the scheduling.
	Policy Policy
	// FirstJobID is the ID of the first job of all, 0 for Slurm's choice.
	FirstJobID int
	// PlugStack is the path of plugstack.conf, empty for none.
	PlugStack string
	// Custom are further lines in order.
	Custom []Setting
	// Included is text that the user keeps elsewhere, empty for none.
	Included string
}

// Setting is one key and its value.
type Setting struct{ Key, Value string }

// NodeGroup is a set of equal nodes: the static or the dynamic ones of a compute
// resource.
type NodeGroup struct {
	Resource
	Static    bool
	Addresses []netip.Addr // of node 1, 2, ...; invalid where they have none of their own
	CPUs      int
	MemoryMiB int
	// TmpDiskMiB is what jobs that ask for --tmp get of a node's /tmp, 0 for none. ParallelCluster
	// says none, and its clusters refuse each such job; a node's disk is known here.
	TmpDiskMiB int
	GPU        string // the type's name, such as h200
	GPUs       int
	Features   []string
	// Weight is how late Slurm takes the nodes: low numbers come first. 0 is
	// ParallelCluster's, 1 for static nodes and 1000 for dynamic ones.
	Weight int
	Custom []Setting
}

// PartitionConf is a partition and its nodes.
type PartitionConf struct {
	Name      string
	Nodes     []string // host lists
	Exclusive bool
	Custom    []Setting
}

// Names are the names of the group's nodes.
func (g NodeGroup) Names() []string {
	names := make([]string, len(g.Addresses))
	for i := range names {
		names[i] = NodeName{g.Resource, g.Static, i + 1}.String()
	}
	return names
}

// Conf is slurm.conf. Its sources are slurm.conf(5) of 22.05 and what
// ParallelCluster deploys, from which names, features, weights and memory come.
func (c Config) Conf() string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	fmt.Fprintln(&b, "# Written by muster. Changes are lost at the next `muster up`.")
	set("ClusterName", c.Cluster)
	set("SlurmctldHost", fmt.Sprintf("%s(%s)", c.HeadName, c.HeadAddress))
	set("SlurmUser", c.ControlUser)
	set("SlurmdUser", c.NodeUser)
	set("AuthType", "auth/munge")
	set("StateSaveLocation", c.StateDir)
	set("SlurmdSpoolDir", c.SpoolDir)
	// The daemons run in the foreground and their output is kept.
	set("SlurmctldSyslogDebug", "quiet")
	set("SlurmdSyslogDebug", "quiet")
	if c.PlugStack != "" {
		set("PlugStackConfig", c.PlugStack)
	}
	c.scheduling(set)
	c.power(set)
	c.Timers.write(set)
	set("SchedulerParameters", c.schedulerParameters())
	set("SlurmctldParameters", c.parameters())
	c.limits(set)
	c.accounting(set)
	c.policy(set)
	if c.FirstJobID > 0 && !c.customised("FirstJobId") {
		set("FirstJobId", c.FirstJobID)
	}
	for _, s := range c.Custom {
		set(s.Key, s.Value)
	}
	if c.Included != "" {
		fmt.Fprintln(&b, strings.TrimSpace(c.Included))
	}
	for _, g := range c.Groups {
		fmt.Fprintln(&b, g.line())
	}
	for i, p := range c.Partitions {
		fmt.Fprintln(&b, p.line(i == 0))
	}
	return b.String()
}

// customised tells whether the user has a line of his own for a key.
func (c Config) customised(key string) bool { return has(c.Custom, key) }

func has(settings []Setting, key string) bool {
	return slices.ContainsFunc(settings, func(s Setting) bool { return strings.EqualFold(s.Key, key) })
}

func (c Config) scheduling(set func(string, any)) {
	set("SelectType", "select/cons_tres")
	parameters := "CR_CPU"
	if c.MemoryBased {
		parameters = "CR_CPU_Memory"
	}
	set("SelectTypeParameters", parameters)
	set("SchedulerType", "sched/backfill")
	if !c.customised("PriorityType") {
		// The default of the versions that ParallelCluster deploys.
		set("PriorityType", "priority/multifactor")
	}
	set("GresTypes", "gpu")
	set("MpiDefault", "none")
	// Jobs are kept together by the node's own process namespace, and a rehearsal
	// has fewer CPUs than it offers, so there is nothing to bind to.
	proctrack, task := "proctrack/linuxproc", "task/none"
	if c.Confine {
		proctrack, task = "proctrack/cgroup", "task/affinity,task/cgroup"
	}
	set("ProctrackType", proctrack)
	set("TaskPlugin", task)
	set("SlurmdParameters", "config_overrides")
	set("ReturnToService", 1)
	set("JobRequeue", 1)
	// slurmctld speaks to every node itself: nodes come and go.
	set("TreeWidth", 65533)
	// Nodes get a new configuration a moment after slurmctld.
	set("DebugFlags", "NO_CONF_HASH")
}

// schedulerParameters let a job whose node failed its prolog go elsewhere: it would be
// held until it is released by hand.
func (c Config) schedulerParameters() string {
	if c.NodeProlog != "" {
		return c.Timers.scheduler() + ",nohold_on_prolog_fail"
	}
	return c.Timers.scheduler()
}

// limits are those of a user's shell that jobs do not take over: EFA needs more locked
// memory than a login has. And a job that its partition can never take is refused when
// it is submitted.
func (c Config) limits(set func(string, any)) {
	if !c.Configless {
		return
	}
	set("PropagateResourceLimitsExcept", "MEMLOCK,NOFILE")
	if !c.customised("EnforcePartLimits") {
		set("EnforcePartLimits", "ALL")
	}
	if !c.customised("UnkillableStepTimeout") {
		// What newer versions take by themselves: older ones drain a node after a minute.
		set("UnkillableStepTimeout", 5*c.Timers.Message)
	}
}

func (c Config) parameters() string {
	names := "cloud_dns"
	if c.Configless {
		names = "enable_configless"
	}
	if c.Policy.Preempt {
		// A job that asked for a signal of its own before its end gets that one when it gives way.
		names += ",preempt_send_user_signal"
	}
	return "idle_on_node_suspend," + names + ",power_save_interval=" + strconv.Itoa(c.Timers.Power)
}

// List is the group's host list.
func (g NodeGroup) List() string {
	first := NodeName{g.Resource, g.Static, 1}
	if len(g.Addresses) == 1 {
		return first.String()
	}
	return fmt.Sprintf("%s[1-%d]", first.prefix(), len(g.Addresses))
}

func (g NodeGroup) line() string {
	weight := cmp.Or(g.Weight, 1000)
	if g.Static {
		weight = cmp.Or(g.Weight, 1)
	}
	line := "NodeName=" + g.List()
	if g.Addresses[0].IsValid() {
		line += " NodeAddr=" + addressList(g.Addresses)
	}
	features, custom := g.features()
	line += fmt.Sprintf(" CPUs=%d RealMemory=%d State=CLOUD Feature=%s Weight=%d", g.CPUs, g.MemoryMiB, strings.Join(features, ","), weight)
	if g.TmpDiskMiB > 0 && !has(custom, "TmpDisk") {
		line += fmt.Sprintf(" TmpDisk=%d", g.TmpDiskMiB)
	}
	if g.GPUs > 0 {
		line += fmt.Sprintf(" Gres=gpu:%s:%d", g.GPU, g.GPUs)
	}
	return line + inline(custom)
}

// features are ours and the user's, and custom his other settings: of two lists on one
// line Slurm would take the last.
func (g NodeGroup) features() (all []string, custom []Setting) {
	all = g.Features
	for _, s := range g.Custom {
		if key := strings.ToLower(s.Key); key == "feature" || key == "features" {
			all = append(slices.Clone(all), strings.Split(s.Value, ",")...)
			continue
		}
		custom = append(custom, s)
	}
	return all, custom
}

func (p PartitionConf) line(first bool) string {
	line := fmt.Sprintf("PartitionName=%s Nodes=%s MaxTime=INFINITE State=UP", p.Name, strings.Join(p.Nodes, ","))
	if first {
		line += " Default=YES"
	}
	if p.Exclusive {
		line += " OverSubscribe=EXCLUSIVE"
	}
	return line + inline(p.Custom)
}

func inline(settings []Setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, " %s=%s", s.Key, s.Value)
	}
	return b.String()
}

// addressList writes addresses in order as a host list, runs shortened.
func addressList(addresses []netip.Addr) string {
	var parts []string
	for i := 0; i < len(addresses); {
		j := i
		for j+1 < len(addresses) && addresses[j+1] == addresses[j].Next() && addresses[j+1].As4()[3] != 0 {
			j++
		}
		parts = append(parts, run(addresses[i].As4(), addresses[j].As4()[3]))
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func run(first [4]byte, last byte) string {
	if first[3] == last {
		return netip.AddrFrom4(first).String()
	}
	return fmt.Sprintf("%d.%d.%d.[%d-%d]", first[0], first[1], first[2], first[3], last)
}

// GresConf is gres.conf: which file stands for which GPU.
func (c Config) GresConf() string {
	var b strings.Builder
	fmt.Fprintln(&b, "# Written by muster.\nAutoDetect=off")
	for _, g := range c.Groups {
		if g.GPUs > 0 {
			fmt.Fprintf(&b, "NodeName=%s Name=gpu Type=%s File=%s%s\n", g.List(), g.GPU, c.GPUFile, indices(g.GPUs))
		}
	}
	return b.String()
}

func indices(n int) string {
	if n == 1 {
		return "0"
	}
	return fmt.Sprintf("[0-%d]", n-1)
}

// CgroupConf is cgroup.conf.
func (c Config) CgroupConf() string {
	if c.Confine {
		text := "# Written by muster.\nCgroupPlugin=" + c.CgroupPlugin + "\nConstrainCores=yes\nConstrainDevices=yes\n"
		if c.MemoryBased {
			text += "ConstrainRAMSpace=yes\n"
		}
		return text
	}
	return "# Written by muster. Nothing here uses control groups.\nCgroupPlugin=" + c.CgroupPlugin + "\n"
}

// NoCgroups is the CgroupPlugin with which slurmd of a version (slurmd -V, such
// as "22.05.8") starts where there are no control groups: "disabled" since 23.11;
// before, a named plugin is not used until something asks for it, whereas
// autodetection fails.
func NoCgroups(version string) string {
	major, minor, _ := strings.Cut(version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	if y, err := strconv.Atoi(major); err == nil && (y > 23 || y == 23 && minor == "11") {
		return "disabled"
	}
	return "cgroup/v1"
}
