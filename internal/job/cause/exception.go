package cause

import (
	"slices"
	"strings"
)

// exceptions are what names of Python's exceptions mean, those of the language and of what
// training programs are made of. Others may come once.
var exceptions = []struct {
	class Class
	names string
}{
	{ImportError, "ImportError ModuleNotFoundError"},
	{HostMemory, "MemoryError"},
	{CUDAMemory, "OutOfMemoryError"},
	{MissingFile, "FileNotFoundError NotADirectoryError IsADirectoryError PermissionError FileExistsError"},
	{BadData, "UnicodeDecodeError JSONDecodeError UnidentifiedImageError BadZipFile BadGzipFile LZMAError ArrowInvalid ParserError DatasetGenerationError DataFilesNotFoundError"},
	{Checkpoint, "UnpicklingError SafetensorError CheckpointException"},
	{ProgramError, `AssertionError SyntaxError IndentationError TabError NameError UnboundLocalError TypeError AttributeError ValueError KeyError IndexError
		LookupError ZeroDivisionError ArithmeticError OverflowError RecursionError NotImplementedError UnicodeEncodeError ArgumentError ConfigAttributeError
		ValidationError HydraException MissingMandatoryValue`},
	{Network, `DistBackendError DistNetworkError DistStoreError DistError ConnectionError ConnectionResetError ConnectionRefusedError ConnectionAbortedError
		BrokenPipeError TimeoutError RendezvousConnectionError RendezvousTimeoutError RendezvousClosedError RendezvousGracefulExitError`},
	{Killed, "KeyboardInterrupt SignalException SystemExit CalledProcessError BrokenProcessPool"},
}

// exceptionWords are what messages of exceptions mean whose names say nothing.
var exceptionWords = []struct {
	class Class
	word  string
}{
	{CUDAMemory, "CUDA out of memory"},
	{HostMemory, "an't allocate memory"},
	{HostMemory, "Cannot allocate memory"},
	{HostMemory, "out of shared memory"},
	{DiskFull, "No space left on device"},
	{DiskFull, "Disk quota exceeded"},
	{Storage, "Stale file handle"},
	{Storage, "Input/output error"},
	{Storage, "Read-only file system"},
	{Storage, "transport endpoint shutdown"},
	{Storage, "PytorchStreamWriter failed"},
	{Storage, "iostream error"},
	{ProgramError, "shapes cannot be multiplied"},
	{ProgramError, "must match the size of tensor"},
	{ProgramError, "is invalid for input of size"},
	{ProgramError, "Expected all tensors to be on the same device"},
	{ProgramError, "expected scalar type"},
	{ProgramError, "in loading state_dict"},
	{Checkpoint, "PytorchStreamReader failed"},
	{Checkpoint, "failed finding central directory"},
	{Checkpoint, "invalid header or archive is corrupted"},
	{Checkpoint, "Ran out of input"},
	{Network, "Connection closed by peer"},
	{Network, "Connection reset by peer"},
	{Network, "Connection refused"},
	{Network, "NCCL error"},
	{Network, "NCCL communicator was aborted"},
	{Collective, "Timed out waiting"},
	{Network, "Socket Timeout"},
}

// exception looks at the last line of a traceback.
func (c *court) exception(s Sign, place string) {
	name := lastName(s.Name)
	if name == "ChildFailedError" {
		return // torchrun's own, with a table that says more
	}
	class := classOfException(name, s.Text)
	if strings.Contains(s.Text, "CUDA error: ") {
		c.cuda(s, place, c.nodeOf(s))
		return
	}
	follows := class == Network || class == Killed || class == Collective
	entry, first := c.rootOf(s)
	c.add(finding{class: class, detail: rankText(s) + s.Text, place: place, root: first && !follows, time: entry.Time, weak: follows && class == Killed, alike: string(class) + " " + name})
}

// lastName is an exception's name without its module.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func classOfException(name, text string) Class {
	for _, w := range exceptionWords {
		if strings.Contains(text, w.word) {
			return w.class
		}
	}
	for _, e := range exceptions {
		if slices.Contains(strings.Fields(e.names), name) {
			return e.class
		}
	}
	return Exception
}
