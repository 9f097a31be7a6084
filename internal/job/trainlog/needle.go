package trainlog

import (
	"slices"
	"sync"

	"github.com/muster-hpc/muster/internal/job/message"
)

// topics are what a line may be about, as far as the words in it say; a reader for each looks closer.
type topics uint32

const (
	aboutFSDP topics = 1 << iota
	aboutTitan
	aboutDeepSpeed
	aboutDict
	aboutBar
	aboutIteration
	aboutLoss
	aboutHead
	aboutProgress topics = 1<<iota - 1 // all of these
)

const (
	aboutTraceback topics = 1 << (iota + 8)
	aboutTable
	aboutTorch
	aboutCUDA
	aboutNCCL
	aboutNetwork
	aboutSlurm
	aboutSrun
	aboutKernel
	aboutHost
	aboutShown
	aboutPython
	aboutShell
	aboutEarly
	aboutStepd
	aboutUsage
	aboutMessage
)

// needle is a word that every line has that is about something.
type needle struct {
	word  string
	about topics
}

// needles are those of the lines that we read, and the beginnings of the messages that stand at the beginning of a line. Most
// lines have none, and are not looked at again.
var needles = sync.OnceValue(func() []needle {
	const enough = 16
	all := slices.Clone(fixedNeedles[:])
	for _, r := range message.Of(message.Line) {
		for _, t := range r.Texts {
			all = append(all, needle{t[:min(len(t), enough)], aboutMessage})
		}
	}
	return all
})

var fixedNeedles = [...]needle{
	{" samples/sec, lr: ", aboutFSDP},
	{" Validation loss: ", aboutFSDP},
	{"step: ", aboutTitan},
	{"SamplesPerSec=", aboutDeepSpeed},
	{"], mom=[", aboutDeepSpeed},
	{"loss': ", aboutDict},
	{"%|", aboutBar},
	{"it [", aboutBar},
	{"/? [", aboutBar},
	{"% \xe2\x94", aboutBar},
	{"Progress on:", aboutBar},
	{"iteration ", aboutIteration},
	{"loss", aboutLoss},
	{"Loss", aboutLoss},
	{"LOSS", aboutLoss},
	{"xent", aboutLoss},
	{"[batch=", aboutHead},
	{"[Eval batch=", aboutHead},
	{"[step=", aboutHead},
	{"[epoch=", aboutHead},
	{"Epoch ", aboutHead},
	{"epoch ", aboutHead},
	{"EPOCH ", aboutHead},
	{"Step ", aboutHead},
	{testingNet, aboutHead},
	{"| step ", aboutHead},
	{"    iterations ", aboutHead},
	{"    total_timesteps ", aboutHead},
	{" EVALUATION", aboutHead},
	{" Evaluation ", aboutHead},
	{" evaluation ", aboutHead},
	{"- Validating", aboutHead},
	{"- Training", aboutHead},
	{"> TRAINING", aboutHead},
	{"STEP: ", aboutHead},

	{"Traceback (most recent call last)", aboutTraceback},
	{"Exception ignored ", aboutTraceback},
	{"Error in atexit._run_exitfuncs", aboutTraceback},
	{"--- Logging error ---", aboutTraceback},
	{"SyntaxError: ", aboutTraceback},
	{"IndentationError: ", aboutTraceback},
	{"ChildFailedError", aboutTable},
	{"Failures:", aboutTable},
	{"Root Cause (first observed failure):", aboutTable},
	{"failed (exitcode: ", aboutTorch},
	{"CUDA out of memory", aboutCUDA},
	{"CUDA error: ", aboutCUDA},
	{"CUDA driver error: ", aboutCUDA},
	{"Cuda failure ", aboutCUDA},
	{"CUDA failure ", aboutCUDA},
	{"CUDA_ERROR_", aboutCUDA},
	{"cudaError", aboutCUDA},
	{"cudaGetDeviceCount()", aboutCUDA},
	{"CUDA Error: ", aboutCUDA},
	{"CUDA error (", aboutCUDA},
	{"Triton Error [CUDA]: ", aboutCUDA},
	{"collective operation timeout", aboutNCCL},
	{"NCCL error", aboutNCCL},
	{"NCCL Error", aboutNCCL},
	{"NCCL WARN", aboutNCCL},
	{"Test NCCL failure ", aboutNCCL},
	{TwoOnOneGPU, aboutNCCL},
	{"NET/OFI Selected ", aboutNetwork},
	{"NCCL INFO Using network ", aboutNetwork},
	{"CANCELLED AT ", aboutSlurm},
	{"UNCORRECTABLE MEMORY ERROR", aboutSlurm},
	{"oom_kill event", aboutSlurm},
	{"oom-kill event", aboutSlurm},
	{"srun: ", aboutSrun},
	{"slurm_script: line ", aboutSrun},
	{"Xid (PCI:", aboutKernel},
	{"fallen off the bus", aboutKernel},
	{"Out of memory: Killed process", aboutKernel},
	{"Memory cgroup out of memory", aboutKernel},
	{"killed due to memory pressure (OOM)", aboutKernel},
	{"Bus error", aboutHost},
	{"Segmentation fault", aboutHost},
	{"segfault at ", aboutHost},
	{"No space left on device", aboutHost},
	{": no space left on device", aboutHost},
	{": stale file handle", aboutHost},
	{"Disk quota exceeded", aboutHost},
	{"Stale file handle", aboutHost},
	{"Input/output error", aboutHost},
	{"Read-only file system", aboutHost},
	{"Cannot send after transport endpoint shutdown", aboutHost},
	{" shows ", aboutShown},
	{": No module named ", aboutPython},
	{": Error while finding module spec", aboutPython},
	{": can't open file '", aboutPython},
	{": can't find '__main__'", aboutPython},
	{": command not found", aboutShell},
	{": No such file or directory", aboutShell},
	{": required file not found", aboutShell},
	{": Permission denied", aboutShell},
	{": version `GLIBC", aboutShell},
	{" ended early: ", aboutEarly},
	{"slurmstepd", aboutStepd},
	{": error: ", aboutUsage},
}

// automaton finds all needles of a line in one pass over its bytes (Aho and Corasick, 1975). What it costs does not
// depend on how many needles there are.
type automaton struct {
	class   [256]uint8 // bytes that are in no needle are of class 0
	classes int
	next    []uint32 // of a state, which is the index of its row, and a class
	about   []topics // of a row, by its number
	first   uint32   // rows from here on end a needle
}

var words = sync.OnceValue(func() *automaton {
	a := &automaton{classes: 1}
	for _, n := range needles() {
		for i := range len(n.word) {
			if b := n.word[i]; a.class[b] == 0 {
				a.class[b] = uint8(a.classes)
				a.classes++
			}
		}
	}
	t := newTrie(a)
	t.close()
	t.lay(a)
	return a
})

// scan says what a line may be about.
func (a *automaton) scan(line []byte) topics {
	var about topics
	row := uint32(0)
	next, first := a.next, a.first
	for _, b := range line {
		row = next[int(row)+int(a.class[b])]
		if row >= first {
			about |= a.about[int(row)/a.classes]
		}
	}
	return about
}

// trie is the automaton while it is made: its states have numbers in the order of their making.
type trie struct {
	classes int
	next    [][]int // 0 where no needle goes on, which the root stands for
	about   []topics
}

func newTrie(a *automaton) *trie {
	t := &trie{classes: a.classes}
	t.state()
	for _, n := range needles() {
		at := 0
		for i := range len(n.word) {
			class := a.class[n.word[i]]
			if t.next[at][class] == 0 {
				to := t.state()
				t.next[at][class] = to
			}
			at = t.next[at][class]
		}
		t.about[at] |= n.about
	}
	return t
}

func (t *trie) state() int {
	t.next = append(t.next, make([]int, t.classes))
	t.about = append(t.about, 0)
	return len(t.next) - 1
}

// close leads every state on for every byte: where its needle does not go on, the longest end of it that begins one does.
func (t *trie) close() {
	back := make([]int, len(t.next))
	queue := []int{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		t.about[at] |= t.about[back[at]]
		for class, to := range t.next[at] {
			switch {
			case to != 0 && at == 0:
				queue = append(queue, to)
			case to != 0:
				back[to] = t.next[back[at]][class]
				queue = append(queue, to)
			default:
				t.next[at][class] = t.next[back[at]][class]
			}
		}
	}
}

// lay writes the states as rows, those that end a needle last.
func (t *trie) lay(a *automaton) {
	order := make([]int, 0, len(t.next))
	for at, about := range t.about {
		if about == 0 {
			order = append(order, at)
		}
	}
	a.first = uint32(len(order) * a.classes)
	for at, about := range t.about {
		if about != 0 {
			order = append(order, at)
		}
	}
	row := make([]int, len(order))
	for i, at := range order {
		row[at] = i * a.classes
	}
	for _, at := range order {
		a.about = append(a.about, t.about[at])
		for _, to := range t.next[at] {
			a.next = append(a.next, uint32(row[to]))
		}
	}
}
