package trainlog

import (
	"bytes"
	"strings"

	"github.com/muster-hpc/muster/internal/job/message"
)

// cuda reads what PyTorch and others say of CUDA. What stands in quotes is data, or somebody's help.
func cuda(text []byte, s *Sign) bool {
	if at := bytes.Index(text, []byte("CUDA out of memory")); at >= 0 {
		s.Kind = CUDAMemory
		return !quoted(text[:at])
	}
	for _, head := range message.CUDAHeads() {
		at := bytes.Index(text, []byte(head))
		if at < 0 || quoted(text[:at]) {
			continue
		}
		if head != "CUDA error: " && !knownToCUDA(text[at:]) {
			continue
		}
		s.Kind, s.Node = CUDAError, nodeIn(text)
		s.Name, _ = between(text[at:], "CUDA error: ", "(")
		return true
	}
	return false
}

func knownToCUDA(text []byte) bool {
	_, ok := message.OfCUDA(clip(text))
	return ok
}

// quoted reports whether a quotation is open at the end of a text. An apostrophe within a word opens none.
func quoted(text []byte) bool {
	var open byte
	for i, b := range text {
		switch {
		case b != '"' && b != '\'' && b != '`':
		case open == b:
			open = 0
		case open == 0 && (b != '\'' || i == 0 || !isLetter(text[i-1])):
			open = b
		}
	}
	return open != 0
}

// nccl reads what PyTorch says of NCCL, and NCCL's own warnings.
func nccl(text []byte, s *Sign) bool {
	s.Node = nodeIn(text)
	switch {
	case bytes.Contains(text, []byte("collective operation timeout")):
		s.Kind = NCCLTimeout
		s.Name, _ = between(text, "OpType=", ",)")
	case bytes.Contains(text, []byte("NCCL WARN")), bytes.Contains(text, []byte(TwoOnOneGPU)):
		s.Kind = NCCLWarning
		s.Name, _ = between(text, "NCCL WARN ", "")
	default:
		s.Kind = NCCLError
		if _, rest, ok := bytes.Cut(text, []byte(".cpp:")); ok {
			s.Name, _ = between(rest, ", ", "(,")
		}
	}
	return true
}

// nodeIn is the host that NCCL names, or one of its tests: "ip-10-0-1-1: Test CUDA failure common.cu:894 '...'" (nccl-tests, src/common.h).
func nodeIn(text []byte) string {
	if host, _, ok := bytes.Cut(text, []byte(": Test ")); ok && len(host) > 0 && bytes.IndexByte(host, ' ') < 0 {
		return clip(host)
	}
	return ncclNode(text)
}

// ncclNode is the host in "ip-10-0-1-1:11752:11839 [6] NCCL INFO ...".
func ncclNode(text []byte) string {
	before, _, ok := bytes.Cut(text, []byte(" NCCL "))
	if !ok {
		return ""
	}
	word, rest, _ := bytes.Cut(before, []byte(" "))
	name, numbers, ok := bytes.Cut(word, []byte(":"))
	if !ok && bytes.HasPrefix(rest, []byte("[")) && len(word) > 0 && word[0] != '[' || len(numbers) > 0 && isDigit(numbers[0]) {
		return clip(name)
	}
	return ""
}

// network reads how NCCL reaches other nodes.
func network(text []byte, s *Sign) bool {
	s.Node = ncclNode(text)
	if name, ok := between(text, "NCCL INFO Using network ", ""); ok {
		s.Kind, s.Name = Network, name
		return name != ""
	}
	for _, word := range [...]string{"Selected provider is ", "Selected Provider is "} {
		name, ok := between(text, word, ", (*")
		if !ok {
			continue
		}
		s.Kind, s.Name, s.Count = Provider, strings.TrimSpace(name), countAfter(text, "(found ")
		s.Fabric, _ = between(text, "fabric is ", " (")
		return s.Name != ""
	}
	return false
}

// kernel reads the kernel's messages on GPUs, and on memory that it took from processes.
func kernel(text []byte, s *Sign) bool {
	if before, rest, ok := bytes.Cut(text, []byte("Xid (PCI:")); ok {
		device, rest, ok := bytes.Cut(rest, []byte("): "))
		code, end := digits(rest, 0)
		if !ok || end == 0 || end > 9 {
			return false
		}
		s.Kind, s.Name, s.Code = Xid, clip(device), code
		if bytes.HasSuffix(before, []byte("S")) {
			s.Kind = SXid
		}
		return true
	}
	if bytes.Contains(text, []byte("fallen off the bus")) {
		s.Kind = GPULost
		return true
	}
	s.Kind = HostMemory
	if _, rest, ok := bytes.Cut(text, []byte("Killed process ")); ok {
		s.Name, _ = between(rest, "(", ")")
	}
	return true
}

// noAnswer is what they say where the driver does not say how many there are.
const noAnswer = ": nvidia-smi gave no answer within 60 s"

// shown reads what batch scripts of job files say of a node that has lost a GPU: "p5-st-2 shows 7 of 8 GPUs".
func shown(text []byte, s *Sign) bool {
	node, rest, _ := bytes.Cut(text, []byte(" shows "))
	if less, ok := bytes.CutSuffix(bytes.TrimSpace(rest), []byte(noAnswer)); ok {
		if less, ok = bytes.CutPrefix(less, []byte("none")); ok {
			rest = append([]byte{'0'}, less...)
		}
	}
	seen, end := digits(rest, 0)
	rest, ok := bytes.CutPrefix(rest[end:], []byte(" of "))
	all, stop := digits(rest, 0)
	if !ok || end == 0 || end > 4 || stop == 0 || stop > 4 || seen >= all || string(bytes.TrimSpace(rest[stop:])) != "GPUs" {
		return false
	}
	s.Kind, s.Node = GPULost, clip(node)
	return s.Node != "" && !strings.Contains(s.Node, " ")
}

// hostWords are what the C library and others call signals and errors of files.
var hostWords = [...]struct {
	word   string
	kind   Kind
	signal int
}{
	{"Bus error", Crash, 7},
	{"Segmentation fault", Crash, 11},
	{"segfault at ", Crash, 11},
	{"No space left on device", DiskFull, 0},
	{": no space left on device", DiskFull, 0}, // Go's words: zerrors_linux_amd64.go
	{"Disk quota exceeded", DiskFull, 0},
	{"Stale file handle", FileSystem, 0},
	{": stale file handle", FileSystem, 0},
	{"Input/output error", FileSystem, 0},
	{"Read-only file system", FileSystem, 0},
	{"Cannot send after transport endpoint shutdown", FileSystem, 0},
}

// host reads crashes, and files that cannot be written or read.
func host(text []byte, s *Sign) bool {
	for _, w := range hostWords {
		if bytes.Contains(text, []byte(w.word)) {
			s.Kind, s.Signal = w.kind, w.signal
			return true
		}
	}
	return false
}
