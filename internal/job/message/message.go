// Package message knows the error messages of programs that train, of what they run on and of Slurm: what each means for a
// run that ended so. Its table has the source of each. It promises that the same text always means the same; what else is
// known of a run, and what follows from all of it, is for job/cause.
package message

import (
	_ "embed" // for messages.tsv
	"strings"
	"sync"
)

// What programs say when they end, and what that means for the run.
//
// where, text, class, follows, fault, what the job did, what to do about it, source
//
// where    cuda     what CUDA says for an error: words, and names
//          line     the beginning of a line
//          usage    behind "PROGRAM: error: ", where a process ended with exit code 2
//          slurm    anywhere behind "error: " of slurmstepd or srun
//          nccl     anywhere in a warning of NCCL; what stands before & has to be in it, too
//          message  anywhere in the last line of a traceback; & as above
//          name     the name of an exception
// text     several, with " | " between, mean the same
// class    of job/cause; with ? it is a guess. A/B is A where one node says so, and B where all nodes of several do, or no node is known that alone does
// follows  what follows if not what the class says: here, later (here, after a wait), stop
// fault    node     the node of the rank that says so is at fault: it is left out of the next run, and drained if more than the job says so
//          avoid    it is left out of the next run, and not drained
//          lone     as avoid, but only where one node of several says so, of a transfer, say, of which either end may be at fault; lone! as node then
//          service  a service outside the cluster is at fault
//          -        what the class says
//
// Rows are in order: of those that fit a line the first counts. Sources are repositories and files of the programs; the words are theirs.
// CUDA's words (cudaGetErrorString), its names (cudaError, CUresult): behind PyTorch's "CUDA error: ", NCCL's and others' "Cuda failure ", "CUDA_ERROR_" of the driver's API, and cudaGetDeviceCount.

//go:embed messages.tsv
var table string

// Where says where a message stands.
type Where string

// The places, as the table explains them.
const (
	CUDA      Where = "cuda"
	Line      Where = "line"
	Usage     Where = "usage"
	Slurm     Where = "slurm"
	NCCL      Where = "nccl"
	Exception Where = "message"
	Name      Where = "name"
)

// Follows says what follows, where it is not what the class says.
type Follows string

// What may follow.
const (
	AsClass Follows = "-"
	Here    Follows = "here"
	Later   Follows = "later"
	Stop    Follows = "stop"
)

// Fault says who is at fault, where it is not who the class says.
type Fault string

// Who may be at fault; the head of the table explains them.
const (
	OfClass   Fault = "-"
	Node      Fault = "node"
	Avoid     Fault = "avoid"
	Alone     Fault = "lone"
	AloneNode Fault = "lone!"
	Service   Fault = "service"
)

// Row is a message and what it means.
type Row struct {
	Where Where
	// Texts mean the same.
	Texts []string
	// Class is one of job/cause's. Everywhere, if there is one, takes its place where it is no single node that says so.
	Class, Everywhere string
	// Guess says that Class is likely and not certain.
	Guess   bool
	Follows Follows
	Fault   Fault
	// Says goes on from "the job", Hint says what to do; they may be empty.
	Says, Hint string
	// Source is the repository and file of the program that says so.
	Source string
}

// Key names the row among those of its place.
func (r Row) Key() string { return strings.TrimSpace(r.Texts[0]) }

// Table is the whole table, in its order.
var Table = sync.OnceValue(func() []Row {
	var all []Row
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		const columns = 8
		if strings.HasPrefix(line, "#") || len(cells) != columns {
			continue // a test holds that there is no other
		}
		r := Row{Where: Where(cells[0]), Texts: strings.Split(cells[1], " | "), Follows: Follows(cells[3]), Fault: Fault(cells[4]), Says: said(cells[5]), Hint: said(cells[6]), Source: cells[7]}
		r.Class, r.Everywhere, _ = strings.Cut(cells[2], "/")
		r.Class, r.Guess = strings.CutSuffix(r.Class, "?")
		all = append(all, r)
	}
	return all
})

func said(cell string) string {
	if cell == "-" {
		return ""
	}
	return cell
}

// Of are the rows of a place, in their order.
func Of(w Where) []Row { return places()[w] }

var places = sync.OnceValue(func() map[Where][]Row {
	all := map[Where][]Row{}
	for _, r := range Table() {
		all[r.Where] = append(all[r.Where], r)
	}
	return all
})

// Find returns the first row of a place that fits a text. For Line and Usage the text begins with it, for Name it is it.
func Find(w Where, text string) (Row, bool) {
	for _, r := range Of(w) {
		for _, t := range r.Texts {
			if fits(w, t, text) {
				return r, true
			}
		}
	}
	return Row{}, false
}

// cudaHeads stand before CUDA's words: PyTorch's, those of its driver's API, NCCL's, onnxruntime's, the names of the driver's
// API and of the other, as XLA and CuPy print them, what PyTorch says when it counts GPUs, TransformerEngine's (common/util/logging.h),
// flash-attention's (csrc/flash_attn/src/hardware_info.h) and Triton's (third_party/nvidia/backend/driver.c).
var cudaHeads = [...]string{
	"CUDA error: ", "CUDA driver error: ", "Cuda failure ", "CUDA failure ", "CUDA_ERROR_", "cudaError", "cudaGetDeviceCount()",
	"CUDA Error: ", "CUDA error (", "Triton Error [CUDA]: ",
}

// CUDAHeads are words that stand before an error of CUDA's.
func CUDAHeads() []string { return cudaHeads[:] }

// OfCUDA returns the row of an error of CUDA's in a line, if there is one.
func OfCUDA(text string) (Row, bool) {
	for _, head := range cudaHeads {
		if at := strings.Index(text, head); at >= 0 {
			if r, ok := Find(CUDA, text[at:]); ok {
				return r, true
			}
		}
	}
	return Row{}, false
}

// OfException returns the row of an exception: of the error of CUDA's in it, of its message, or else of its name. Of a connection
// that was lost, the name of an exception of a client of services outside says more than the message.
func OfException(name, text string) (Row, bool) {
	if r, ok := OfCUDA(text); ok {
		return r, true
	}
	named, known := Find(Name, name)
	if !known {
		named, known = Find(Name, name[strings.LastIndexByte(name, '.')+1:])
	}
	r, ok := Find(Exception, text)
	if ok && (r.Fault == Service || named.Fault != Service || r.Class != named.Class) {
		return r, true // else the name says more: which connection was lost
	}
	return named, known
}

func fits(w Where, t, text string) bool {
	switch w {
	case Line, Usage:
		return strings.HasPrefix(text, t)
	case CUDA:
		return word(t, text)
	case Name:
		return t == text
	case Slurm, NCCL, Exception:
	}
	for part := range strings.SplitSeq(t, "&") {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// word reports whether words of CUDA's, or a whole name of its, are in a text.
func word(t, text string) bool {
	if !strings.HasPrefix(t, "CUDA_") && !strings.HasPrefix(t, "cudaError") {
		return strings.Contains(text, t)
	}
	for {
		_, rest, ok := strings.Cut(text, t)
		if !ok {
			return false
		}
		if rest == "" || !letter(rest[0]) {
			return true
		}
		text = rest
	}
}

func letter(b byte) bool { return b == '_' || 'a' <= b|0x20 && b|0x20 <= 'z' }
