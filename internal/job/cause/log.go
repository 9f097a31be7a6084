package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job/message"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// log looks at what the job's logs say.
func (c *court) log() {
	c.tables()
	c.messages()
	for i, s := range c.Signs {
		if s.outlived() || c.wrapsAnother(i) {
			continue
		}
		s.Text, s.Node, s.Name = oneLine(s.Text), oneLine(s.Node), oneLine(s.Name)
		c.sign(s, c.rows[i])
	}
}

// outlived says that the training went on after a sign of its programs. Ranks that have not heard of
// a failure yet write a line or two.
func (s Sign) outlived() bool {
	const few = 3
	if s.Later < few {
		return false
	}
	switch s.Kind {
	case trainlog.Xid, trainlog.SXid, trainlog.GPULost, trainlog.MemoryError, trainlog.ChildFailed:
		return false // kernels and launchers do not write of what may be got over
	}
	return true
}

// wrapsAnother says that a sign is of an exception that only passes on another one of its rank, which says more: that of a worker of a DataLoader
// (torch/_utils.py), of a rank that saved or loaded a checkpoint (torch/distributed/checkpoint/api.py), or of what a dataset is made from
// (datasets/exceptions.py).
func (c *court) wrapsAnother(at int) bool {
	s := c.Signs[at]
	if !s.wrapper() {
		return false
	}
	return slices.ContainsFunc(c.Signs, func(o Sign) bool {
		return o.Kind == trainlog.Exception && o.File == s.File && o.Rank == s.Rank && o.Task == s.Task && o.LocalRank == s.LocalRank &&
			!o.wrapper() && lastName(o.Name) != "ChildFailedError" && !o.outlived()
	})
}

func (s Sign) wrapper() bool {
	if s.Kind != trainlog.Exception {
		return false
	}
	switch lastName(s.Name) {
	case "CheckpointException", "DatasetGenerationError":
		return true
	}
	return strings.Contains(s.Text, ": Caught ") && strings.Contains(s.Text, " in DataLoader worker process ")
}

// sign looks at a sign, and what the table of messages says of it.
func (c *court) sign(s Sign, row *message.Row) {
	place := placeOf(s)
	node := c.nodeOf(s)
	if row != nil {
		c.message(*row, s, place)
		return
	}
	switch s.Kind {
	case trainlog.Xid, trainlog.SXid, trainlog.GPULost, trainlog.MemoryError:
		c.gpuSign(s, place, node)
	case trainlog.TimeLimit, trainlog.Preempted, trainlog.NodeFailure, trainlog.Requeued, trainlog.Cancelled:
		c.stepd(s, place)
	case trainlog.HostMemory:
		c.add(finding{class: HostMemory, detail: s.Text, place: place, alike: "host memory"})
	case trainlog.CUDAMemory:
		c.add(finding{class: CUDAMemory, detail: rankText(s) + s.Text, place: place, root: c.isRoot(s), alike: "cuda memory"})
	case trainlog.DiskFull:
		c.add(finding{class: DiskFull, detail: rankText(s) + s.Text, place: place, root: c.isRoot(s), alike: "disk full"})
	case trainlog.FileSystem:
		c.add(finding{class: Storage, detail: rankText(s) + s.Text, place: place, root: c.isRoot(s), alike: "file system"})
	case trainlog.Exception:
		if lastName(s.Name) != "ChildFailedError" {
			c.add(c.program(Exception, s, place))
		}
	case trainlog.CUDAError:
		c.add(c.program(GPUProgram, s, place))
	case trainlog.ChildFailed, trainlog.WorkerFailed, trainlog.TaskEnded, trainlog.Crash:
		c.ended(s, place)
	case trainlog.NCCLTimeout:
		c.add(finding{class: Collective, detail: rankText(s) + s.Text, place: place, alike: "collective"})
	case trainlog.NCCLError:
		c.add(finding{class: Network, detail: rankText(s) + s.Text, place: place, alike: "nccl error"})
	case trainlog.NotRun:
		c.notRun(s, place)
	case trainlog.NCCLWarning:
		if !plugin(s.Text) { // that of EFA warns of much that ends no run
			c.add(finding{class: Network, detail: rankText(s) + s.Text, place: place, weak: true, alike: "nccl warning"})
		}
	}
}

func placeOf(s Sign) string {
	if s.File == "" || s.Place.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Place.Line)
}

// nodeOf is the node of a sign: one of the run's, as the line or its task says. A host that the
// line names with its domain is that node.
func (c *court) nodeOf(s Sign) string {
	short, _, _ := strings.Cut(s.Node, ".")
	for _, n := range []string{s.Node, short} {
		if n != "" && (len(c.Run.Nodes) == 0 || slices.Contains(c.Run.Nodes, n)) {
			return n
		}
	}
	if len(c.Run.Nodes) == 1 {
		return c.Run.Nodes[0]
	}
	if node := c.nodeOfTask(s.Task); node != "" {
		return node
	}
	if s.Rank == trainlog.NoRank {
		return ""
	}
	return c.nodeOfRank[s.Rank]
}

// tables reads torchrun's tables: on which node a rank was, and which failed first.
func (c *court) tables() {
	c.nodeOfRank, c.roots = map[int]string{}, map[int]Sign{}
	for _, o := range c.Signs {
		if o.Kind != trainlog.ChildFailed || o.Rank == trainlog.NoRank {
			continue
		}
		if short, _, _ := strings.Cut(o.Node, "."); slices.Contains(c.Run.Nodes, short) {
			c.nodeOfRank[o.Rank] = short
		}
		if _, known := c.roots[o.Rank]; o.Root && !known {
			c.roots[o.Rank] = o
		}
	}
}

// nodeOfTask is the node where a task of the run was, "" where that is not sure: where a step had not one task on each of
// its nodes, one after the other, and where the task was on several nodes in several steps.
func (c *court) nodeOfTask(task int) string {
	node := ""
	for _, s := range c.Run.Steps {
		if s.script() {
			continue
		}
		if task < 0 || task >= len(s.Nodes) || s.Tasks != len(s.Nodes) || !s.inTurn() {
			return ""
		}
		if node != "" && node != s.Nodes[task] {
			return ""
		}
		node = s.Nodes[task]
	}
	return node
}

// script says that the step is the batch script's, or Slurm's own beside it.
func (s Step) script() bool {
	return s.Name == "batch" || s.Name == "extern" || s.Name == "interactive"
}

// inTurn says that tasks were given to nodes in their order. The names are those of slurm_step_layout_type_name in Slurm's
// slurm_step_layout.c: what begins with B is block between nodes, what begins with C cyclic. Others are Plane, which may
// leave nodes without tasks, Arbitrary (later "arbitrary task distribution"), where the user says the order, and Unknown.
func (s Step) inTurn() bool {
	return strings.HasPrefix(s.Layout, "B") || strings.HasPrefix(s.Layout, "C")
}

// ended15 says that a rank was told to end, as launchers and Slurm do.
func (c *court) ended15(s Sign) bool { return s.Signal == sigterm || s.ExitCode == -sigterm }

// waited says that a rank gave up waiting for others: what ended it then is no cause.
func (c *court) waited(rank int) bool {
	for i, s := range c.Signs {
		if s.Rank != rank || rank == trainlog.NoRank {
			continue
		}
		switch s.Kind {
		case trainlog.NCCLTimeout, trainlog.NCCLError:
			return true
		case trainlog.Exception:
			if row := c.rows[i]; row != nil && (Class(row.Class) == Network || Class(row.Class) == Collective) {
				return true
			}
		}
	}
	return false
}

// isRoot says that torchrun's table names the sign's rank as the one that failed first.
func (c *court) isRoot(s Sign) bool {
	_, ok := c.rootOf(s)
	return ok
}

// rootOf is the entry that names the sign's rank as the one that failed first. Each node's launcher
// has such an entry.
func (c *court) rootOf(s Sign) (Sign, bool) {
	if s.Rank == trainlog.NoRank {
		return Sign{}, false
	}
	entry, ok := c.roots[s.Rank]
	return entry, ok
}

// stepd looks at what slurmstepd and srun say of the end. Where Slurm's accounting says how the
// run ended, a line on one step says no more than that the step ended.
func (c *court) stepd(s Sign, place string) {
	switch s.Kind {
	case trainlog.TimeLimit:
		script := s.Name == "" && c.Run.State == "FAILED" // its ranks ended as they were told, and nothing else failed
		c.add(finding{class: TimeLimit, text: s.Text, place: place, weak: !script && c.accounted("TIMEOUT", "CANCELLED")})
	case trainlog.Preempted:
		c.add(finding{class: Preempted, text: s.Text, place: place, weak: c.accounted("PREEMPTED", "REQUEUED", "CANCELLED")})
	case trainlog.Requeued:
		if c.Hang == nil {
			c.add(finding{class: Requeued, text: s.Text, place: place, weak: c.accounted("REQUEUED")})
		}
	case trainlog.NodeFailure:
		node := c.nodeOf(s)
		if node == "" || c.accounted("NODE_FAIL", "REQUEUED", "FAILED") {
			c.add(finding{class: NodeLost, text: s.Text, place: place, weak: node == ""})
			return
		}
		c.lost(node, "", place)
	case trainlog.Cancelled:
		if c.Run.State == "" && c.Hang == nil && strings.HasPrefix(s.Name, "JOB") {
			c.add(finding{class: Cancelled, text: s.Text, place: place})
			return
		}
		c.add(finding{class: Killed, text: s.Text, place: place, weak: true, alike: "cancelled"})
	}
}

// accounted says that the accounting has another word for the end than one of these.
func (c *court) accounted(states ...string) bool {
	return c.Run.State != "" && !slices.Contains(states, c.Run.State)
}

// ended looks at a process that ended badly, in the words of who started it.
func (c *court) ended(s Sign, place string) {
	who := "a process"
	switch {
	case s.Rank != trainlog.NoRank:
		who = fmt.Sprintf("rank %d", s.Rank)
	case s.Task != trainlog.NoRank:
		who = fmt.Sprintf("task %d", s.Task)
	}
	if s.Node != "" {
		who += " on " + s.Node
	}
	if s.ExitCode == noRestart {
		c.add(finding{class: NoRestart, detail: fmt.Sprintf("%s ended with exit code %d", who, noRestart), place: place, root: s.Root, time: s.Time})
		return
	}
	f := exited(placedExit{Exit: Exit{Code: max(s.ExitCode, 0), Signal: s.Signal}, what: who, place: place})
	if s.ExitCode < 0 && s.Signal == 0 { // Python's way to say a signal
		f = exited(placedExit{Exit: Exit{Signal: -s.ExitCode}, what: who, place: place})
	}
	if f.class == CannotStart {
		f.class = Unknown // of a rank it says nothing
	}
	if s.Kind == trainlog.Crash {
		f.class, f.detail, f.text = Crash, rankText(s)+s.Text, rankText(s)+s.Text
	}
	f.weak, f.root, f.time = true, s.Root, s.Time
	if s.Kind == trainlog.ChildFailed && s.Root && f.class != Unknown && !c.ended15(s) && !c.waited(s.Rank) {
		f.weak = false // nothing else ended it
	}
	if f.text != "" {
		f.detail = f.text // it says who
	}
	f.alike = fmt.Sprintf("%s %d %d", s.Kind, s.ExitCode, s.Signal)
	c.add(f)
}

// notRun looks at what bash could not run. Scripts go on behind such a line, so that it says nothing unless something
// ended with its exit code, and then the last line is the one.
func (c *court) notRun(s Sign, place string) {
	last := s
	for _, o := range c.Signs {
		if o.Kind == trainlog.NotRun && o.ExitCode == s.ExitCode && o.File == s.File {
			last = o
		}
	}
	if c.exitedWith(s.ExitCode) && last.Place == s.Place {
		c.add(finding{class: CannotStart, detail: s.Text, place: place, root: true, weak: true, alike: "not run"})
	}
}
