// Package cause says how a run of a job ended, whose matter that is, and whether the job is to
// start again, and where.
//
// It judges by what others have gathered: Slurm's accounting, the job's logs, the kernels of its
// nodes, NCCL's own report. A cause outranks its consequences: when a node dies, all other ranks
// wait for it until NCCL gives up and Slurm ends them, and none of that is why.
//
// Its laws: a node is condemned by evidence of its own and never by an ending that nobody
// understands; what the scheduler or the user did is not the program's failure; a job that comes
// no further is not started for ever.
package cause

import (
	"cmp"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Evidence is what is known of a run that ended, and of the job. All of it may be missing.
type Evidence struct {
	Run Run
	// Nodes are the run's nodes as Slurm has them after the run.
	Nodes []Node
	// Signs are what the job's logs say, in the order in which it was written.
	Signs []Sign
	// Kernel are lines of the nodes' kernels on GPUs, from the time of the run.
	Kernel []KernelLine
	// RAS is what NCCL said last of the run's ranks.
	RAS *Ranks
	// Hang is why the run was ended because it hung, nil if it was not.
	Hang *Hang
	// Checkpoint is the step of the newest whole checkpoint, NoCheckpoint if there is none.
	Checkpoint int64
	// BySteps says that checkpoints are not known: the last step stands in their place, here and in Rounds.
	BySteps bool
	// Rounds are the job's runs before this one, oldest first.
	Rounds []Round
	// Forgotten are those before these, of which nobody knows more.
	Forgotten Forgotten
	Policy    policy.Policy
}

// NoCheckpoint is the step of a checkpoint that is not there.
const NoCheckpoint = -1

// Run is a run in Slurm's accounting.
type Run struct {
	// State is Slurm's word, such as NODE_FAIL; what sacct puts behind it may stand there.
	State string
	// Reason is the job's, such as NonZeroExitCode.
	Reason string
	// CancelledBy is the number of the user who cancelled it.
	CancelledBy   string
	Exit, Derived Exit
	Nodes         []string
	// FailedNode is the one that slurmctld names, if it does.
	FailedNode string
	Steps      []Step
	Start, End time.Time
}

// Exit is how a program ended: its exit code, or the signal that ended it.
type Exit struct{ Code, Signal int }

// Step is a step of a run.
type Step struct {
	// Name is what follows the job's number: batch, extern, 0.
	Name  string
	State string
	Exit  Exit
	Nodes []string
	// Tasks is how many it had, Layout how they were spread over its nodes, in sacct's words.
	Tasks  int
	Layout string
}

// Node is a node of the run as Slurm has it.
type Node struct {
	Name string
	// Down says that it failed, or does not answer, or did so since the run began and was replaced.
	Down   bool
	Reason string
	// Since is when the reason was written down.
	Since time.Time
}

// Sign is what a log says.
type Sign struct {
	// File is the log's name, for people.
	File string
	// Later is how many lines of progress came after it in its log: what a program gets over is not
	// why it ended.
	Later int
	trainlog.Sign
}

// KernelLine is a line of a node's kernel.
type KernelLine struct {
	Node string
	Text string
	Time time.Time
	// Place is where it was read, for people.
	Place string
}

// Ranks are what NCCL says of ranks that are not well.
type Ranks struct {
	// Silent do not answer, Dead are given up, Behind have begun less than others while nothing moves.
	Silent, Dead, Behind []Rank
	// Frozen says that no rank has begun anything between the last reports.
	Frozen bool
	// Text is what is known in a line.
	Text string
}

// Rank is a rank, and where it runs.
type Rank struct {
	Rank int
	Node string
}

// Hang is a run that stood still.
type Hang struct {
	// Silent is how long it came no further, Limit how long it may.
	Silent, Limit time.Duration
	// Nodes are those where it stood still while others waited, if that is known.
	Nodes []string
	// Text says what else was found, in a line.
	Text string
}

// Round is a run before.
type Round struct {
	Class  Class  `json:"class"`
	Action Action `json:"action"`
	// Checkpoint is the step of the newest whole checkpoint at its end, Step the last one that was seen.
	Checkpoint int64     `json:"checkpoint"`
	Step       int64     `json:"step,omitempty"`
	Begin      time.Time `json:"begin,omitzero"`
	End        time.Time `json:"end,omitzero"`
	// Waited says that the job waited for a service outside the cluster after it.
	Waited bool `json:"waited,omitempty"`
}

// Forgotten are runs that are no longer known one by one.
type Forgotten struct {
	Runs int
	// Restarts is how many of them were followed by another for a failure, since somebody else started
	// the job last; Checkpoint is the newest that they made.
	Restarts   int
	Checkpoint int64
}

// Verdict is how a run ended and what follows. Its JSON is a promise: fields are added, never changed.
type Verdict struct {
	Class Class `json:"class"`
	// Text goes on from "the job".
	Text string `json:"text"`
	// Findings are what says so, the cause first.
	Findings []Finding `json:"findings,omitempty"`
	Blame    Blame     `json:"blame"`
	// Faults are the nodes at fault, which the next run should not have.
	Faults []Fault `json:"faults,omitempty"`
	Action Action  `json:"action"`
	// Why says why that is done, and goes on from the action.
	Why string `json:"why"`
	// Hint is what to do about it, if there is something.
	Hint string `json:"hint,omitempty"`
	// Guess says that the class is likely and not certain.
	Guess bool `json:"guess,omitempty"`
	// WaitSeconds is how long the job has to wait before it starts again.
	WaitSeconds int `json:"wait_seconds,omitempty"`
}

// Finding is a piece of evidence in plain words.
type Finding struct {
	Text string `json:"text"`
	// Place is where it stands: a file and its line, a node, a field of the accounting.
	Place string `json:"place,omitempty"`
	// Source is who says so.
	Source Source `json:"source,omitempty"`
	// Follows says that it follows from the cause, as far as anybody can tell.
	Follows bool `json:"follows,omitempty"`
}

// Fault is a node at fault.
type Fault struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
	// Drain says that the node has to be looked at, reset or replaced before it serves again. A node
	// that failed as a whole needs no such mark: it is down, and what replaces it is another.
	Drain bool `json:"drain,omitempty"`
	// Source is who says that the node is at fault; of several, one whose word no user can forge.
	Source Source `json:"source,omitempty"`
}

// Source is who says something of a run.
type Source string

// Those that say something: the job itself, by its logs, its processes and NCCL in them, which are its user's to write;
// a node's kernel; Slurm.
const (
	SourceJob    Source = "job"
	SourceKernel Source = "kernel"
	SourceSlurm  Source = "slurm"
)

// proven says that no user can have it say what he likes.
func (s Source) proven() bool { return s == SourceKernel || s == SourceSlurm }

// Proven says that more than the job itself says that the node is at fault.
func (f Fault) Proven() bool { return f.Source.proven() }

// Action is what to do with the job.
type Action string

// Elsewhere starts it again without the nodes at fault, Here starts it again, Stop leaves it.
const (
	Elsewhere Action = "elsewhere"
	Here      Action = "here"
	Stop      Action = "stop"
)

// Blame is whose matter an ending is.
type Blame string

// The ones whose matter it may be.
const (
	BlameNode    Blame = "node"
	BlameJob     Blame = "job"
	BlameCluster Blame = "cluster"
	BlameUser    Blame = "user"
	BlameNobody  Blame = "nobody"
	// BlameService is a service outside the cluster.
	BlameService Blame = "service"
)

// Judge says how a run ended, and what to do. It is a function of the evidence alone.
func Judge(e Evidence) Verdict {
	c := newCourt(e)
	primary, rest := c.ranked()
	row := primary.class.row()
	v := Verdict{Class: primary.class, Blame: cmp.Or(primary.blame, row.Blame), Faults: c.faults(), Text: textOf(row, primary), Hint: primary.hint, Guess: primary.guess}
	v.Findings = findings(primary, rest)
	v.Action, v.Why = c.decide(primary, v.Faults)
	if primary.later && v.Action != Stop {
		v.WaitSeconds = int(c.pause().Seconds())
	}
	switch {
	case c.running():
		v.Text = "has not ended"
	case v.Class == EFA && len(v.Faults) == 0:
		v.Blame = BlameCluster
	}
	return v
}

// textOf joins what the class says and what is known beyond it.
func textOf(row Row, f finding) string {
	says := cmp.Or(f.says, row.Says)
	if f.guess {
		says += " (" + string(row.Class) + " is a guess)"
	}
	if f.detail == "" {
		return says
	}
	if strings.HasPrefix(f.detail, "by ") {
		return says + " " + clip(f.detail)
	}
	return says + ": " + clip(f.detail)
}

// clip cuts a text that is too long for a line.
func clip(text string) string {
	const most = 240
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
