package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// Base is what a node does, apart from its flags.
type Base int

// The base states.
const (
	BaseUnknown Base = iota
	BaseIdle
	BaseAllocated
	BaseMixed
	BaseDown
	BaseError
	BaseFuture
)

// baseName is Slurm's name of a base state: scontrol's, and sinfo --long's.
type baseName struct{ name, long string }

var baseNames = [...]baseName{
	BaseUnknown:   {"UNKNOWN", "unknown"},
	BaseIdle:      {"IDLE", "idle"},
	BaseAllocated: {"ALLOCATED", "allocated"},
	BaseMixed:     {"MIXED", "mixed"},
	BaseDown:      {"DOWN", "down"},
	BaseError:     {"ERROR", "error"},
	BaseFuture:    {"FUTURE", "future"},
}

// Flag is one of the things that may be so beside a node's base state.
type Flag uint32

// The flags. Requested means that slurmctld has yet to act.
const (
	FlagCloud Flag = 1 << iota
	FlagCompleting
	FlagDrain
	FlagDynamic
	FlagFail
	FlagInvalidRegistration
	FlagMaintenance
	FlagNotResponding
	FlagPlanned
	FlagPowerDownRequested
	FlagPowerDrain
	FlagPoweredDown
	FlagPoweringDown
	FlagPowerUpRequested
	FlagPoweringUp
	FlagRebootRequested
	FlagRebootIssued
	FlagReserved
	FlagBlocked
)

// flagNames has the names of Slurm 22.05 to 25.11 first, then older ones.
// String writes the first name of each flag, in this order.
var flagNames = []struct {
	name string
	flag Flag
}{
	{"BLOCKED", FlagBlocked},
	{"CLOUD", FlagCloud},
	{"COMPLETING", FlagCompleting},
	{"DRAIN", FlagDrain},
	{"DYNAMIC_NORM", FlagDynamic},
	{"INVALID_REG", FlagInvalidRegistration},
	{"FAIL", FlagFail},
	{"MAINTENANCE", FlagMaintenance},
	{"POWER_DOWN", FlagPowerDownRequested},
	{"POWER_UP", FlagPowerUpRequested},
	{"POWER_DRAIN", FlagPowerDrain},
	{"POWERED_DOWN", FlagPoweredDown},
	{"POWERING_DOWN", FlagPoweringDown},
	{"POWERING_UP", FlagPoweringUp},
	{"NOT_RESPONDING", FlagNotResponding},
	{"PLANNED", FlagPlanned},
	{"REBOOT_ISSUED", FlagRebootIssued},
	{"REBOOT_REQUESTED", FlagRebootRequested},
	{"RESERVED", FlagReserved},
	{"DYNAMIC_FUTURE", FlagDynamic},
	{"REBOOT", FlagRebootRequested},
	{"POWER", FlagPoweredDown},
	{"POWER_SAVE", FlagPoweredDown},
	{"MAINT", FlagMaintenance},
	{"NO_RESPOND", FlagNotResponding},
}

// NodeState is a node's base state and its flags. It can be compared.
type NodeState struct {
	Base  Base
	Flags Flag
	// Other are flags that this package does not know, in Slurm's spelling,
	// joined with "+".
	Other string
}

// suffixes are the marks of sinfo in the order in which they win.
var suffixes = []struct {
	mark string
	flag Flag
}{
	{"$", FlagMaintenance},
	{"^", FlagRebootIssued},
	{"@", FlagRebootRequested},
	{"#", FlagPoweringUp},
	{"%", FlagPoweringDown},
	{"~", FlagPoweredDown},
	{"!", FlagPowerDownRequested},
	{"*", FlagNotResponding},
}

// ParseNodeState reads scontrol's State=, such as "IDLE+CLOUD+POWERED_DOWN".
// An unknown base state is BaseUnknown, and its word is kept in Other.
func ParseNodeState(text string) NodeState {
	var s NodeState
	base, flags, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(text)), "+")
	for len(base) > 0 && markFlag(base[len(base)-1:]) != 0 {
		s.Flags |= markFlag(base[len(base)-1:])
		base = base[:len(base)-1]
	}
	s.Base = s.baseOf(base)
	for flag := range strings.SplitSeq(flags, "+") {
		s.add(flag)
	}
	return s
}

func markFlag(mark string) Flag {
	for _, s := range suffixes {
		if s.mark == mark {
			return s.flag
		}
	}
	return 0
}

func (s *NodeState) baseOf(word string) Base {
	for i, names := range baseNames {
		if word == names.name {
			return Base(i)
		}
	}
	s.add(word)
	return BaseUnknown
}

func (s *NodeState) add(flag string) {
	for _, f := range flagNames {
		if f.name == flag {
			s.Flags |= f.flag
			return
		}
	}
	if flag = strings.TrimSpace(flag); flag != "" && !slices.Contains(strings.Split(s.Other, "+"), flag) {
		s.Other = strings.Trim(s.Other+"+"+flag, "+")
	}
}

// Has says whether all of the given flags are set.
func (s NodeState) Has(flags Flag) bool { return s.Flags&flags == flags }

// Down says that Slurm has given the node up: it starts nothing there until the node
// is resumed.
func (s NodeState) Down() bool { return s.Base == BaseDown || s.Base == BaseError }

// Draining says that the node takes no new job, whether or not it has one.
func (s NodeState) Draining() bool { return s.Has(FlagDrain) || s.Has(FlagFail) }

// PoweredDown says that the node is switched off and waits for a job.
func (s NodeState) PoweredDown() bool { return s.Has(FlagPoweredDown) }

// PoweringUp says that ResumeProgram was or will be called and that the node
// has not registered yet.
func (s NodeState) PoweringUp() bool { return s.Has(FlagPoweringUp) || s.Has(FlagPowerUpRequested) }

// PoweringDown says that SuspendProgram was or will be called and that the node
// cannot be used yet.
func (s NodeState) PoweringDown() bool {
	return s.Has(FlagPoweringDown) || s.Has(FlagPowerDownRequested)
}

// Busy says that the node has a job, or is cleaning up after one.
func (s NodeState) Busy() bool {
	return s.Base == BaseAllocated || s.Base == BaseMixed || s.Has(FlagCompleting)
}

// String is the state in scontrol's spelling.
func (s NodeState) String() string {
	text := s.base().name
	left := s.Flags
	for _, f := range flagNames {
		if left&f.flag != 0 {
			text += "+" + f.name
			left &^= f.flag
		}
	}
	if s.Other != "" {
		text += "+" + s.Other
	}
	return text
}

// MarshalText gives JSON the state as String has it.
func (s NodeState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *NodeState) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("a node state is empty")
	}
	*s = ParseNodeState(string(text))
	return nil
}

// Long is the state as sinfo --long shows it: idle~, allocated#, drained$. Word and mark
// are picked in sinfo's order.
func (s NodeState) Long() string {
	working := s.Base == BaseAllocated || s.Base == BaseMixed
	switch {
	case s.Has(FlagInvalidRegistration):
		return "inval"
	case s.Has(FlagMaintenance) && !s.Has(FlagDrain) && !working && s.Base != BaseDown:
		return "maint" + s.mark(FlagNotResponding)
	case s.Has(FlagRebootIssued) && !working:
		return "reboot^"
	case s.Has(FlagRebootRequested) && !working:
		return "reboot" + s.mark(FlagNotResponding)
	case s.Has(FlagDrain) && (working || s.Has(FlagCompleting)):
		return "draining" + s.mark(^Flag(0))
	case s.Has(FlagDrain):
		return "drained" + s.mark(^Flag(0))
	case s.Has(FlagFail) && (s.Base == BaseAllocated || s.Has(FlagCompleting)):
		return "failing" + s.mark(FlagNotResponding)
	case s.Has(FlagFail):
		return "fail" + s.mark(FlagNotResponding)
	}
	return s.shownPlain()
}

// shownPlain is what sinfo shows of a node in ordinary service.
func (s NodeState) shownPlain() string {
	base, mark := s.base().long, s.mark(^Flag(0))
	switch {
	case s.Base == BaseAllocated && s.Has(FlagCompleting) && mark == "":
		return base + "+"
	case s.Base != BaseAllocated && s.Base != BaseDown && s.Has(FlagCompleting):
		return "completing" + mark
	case s.Base == BaseIdle && s.Has(FlagReserved) && mark == "":
		return "reserved"
	case s.Base == BaseIdle && s.Has(FlagPlanned) && mark == "":
		return "planned"
	case s.Base == BaseMixed && s.Has(FlagPlanned) && mark == "":
		return base + "-"
	}
	return base + mark
}

func (s NodeState) base() baseName {
	if s.Base < 0 || int(s.Base) >= len(baseNames) {
		return baseNames[BaseUnknown]
	}
	return baseNames[s.Base]
}

// mark is sinfo's sign for the foremost of the state's flags among the given.
func (s NodeState) mark(among Flag) string {
	for _, m := range suffixes {
		if m.flag&among != 0 && s.Has(m.flag) {
			return m.mark
		}
	}
	return ""
}
