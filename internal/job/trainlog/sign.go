package trainlog

import (
	"time"

	"github.com/muster-hpc/muster/internal/job/message"
)

// Kind is what a sign is a sign of.
type Kind string

// The kinds of signs, with who writes them.
const (
	// Exception is the last line of a Python traceback, the exception: CPython's traceback module, and torch's and
	// others' through it. Name is the exception's; a SyntaxError needs no traceback, and what Python itself says of a program
	// that it does not find has none.
	Exception Kind = "exception"
	// ChildFailed is an entry of torchrun's table of failed workers: torch/distributed/elastic/multiprocessing/errors/__init__.py,
	// ChildFailedError. Rank, LocalRank, Node, ExitCode or Signal, File and Root are as it says.
	ChildFailed Kind = "child-failed"
	// WorkerFailed is torchrun's line on a worker that ended: "failed (exitcode: -9) local_rank: 3 (pid: 123) of binary: ..."
	// of torch/distributed/elastic/multiprocessing/api.py.
	WorkerFailed Kind = "worker-failed"
	// CUDAMemory is PyTorch's "CUDA out of memory": c10/cuda/CUDACachingAllocator.cpp.
	CUDAMemory Kind = "cuda-memory"
	// CUDAError is PyTorch's "CUDA error: " with CUDA's words for it (c10/cuda/CUDAException.cpp), or an error of CUDA's that
	// job/message knows, as NCCL, XLA and others print it. Name is CUDA's words.
	CUDAError Kind = "cuda-error"
	// NCCLTimeout is the watchdog of PyTorch's process group: "Watchdog caught collective operation timeout",
	// torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp. Name is the operation, such as ALLREDUCE.
	NCCLTimeout Kind = "nccl-timeout"
	// NCCLError is PyTorch's "NCCL error" with NCCL's words for it: torch/csrc/distributed/c10d/NCCLUtils.hpp.
	NCCLError Kind = "nccl-error"
	// NCCLWarning is a line "NCCL WARN" of NCCL or its plugin for networks: src/debug.cc, aws-ofi-nccl's nccl_ofi_log.h. TwoOnOneGPU is one
	// that PyTorch repeats without these words.
	NCCLWarning Kind = "nccl-warning"
	// Provider is the plugin's choice: "NET/OFI Selected provider is efa, fabric is efa (found 32 nics)" of aws-ofi-nccl.
	// Name is the provider, Fabric its fabric, Count the network interfaces, 0 if it does not say.
	Provider Kind = "provider"
	// Network is NCCL's choice: "Using network Socket", src/net.cc. Name is the network; Socket is no EFA.
	Network Kind = "network"

	// TimeLimit, Preempted, NodeFailure, Requeued and Cancelled are slurmstepd's "*** JOB 7 ON node CANCELLED AT ... DUE TO
	// ...": src/slurmd/slurmstepd/req.c. Up to Slurm 24.11 "slurmstepd-node: error: " stands before it, later a time.
	// NodeFailure is srun's "Node failure on" as well: src/api/step_launch.c. Name is the job or step. TimeLimit and Preempted
	// are a batch script's "Job 7 ended early: ..." as well, without a name.
	TimeLimit   Kind = "time-limit"
	Preempted   Kind = "preempted"
	NodeFailure Kind = "node-failure"
	Requeued    Kind = "requeued"
	Cancelled   Kind = "cancelled"
	// MemoryError is slurmstepd's "UNCORRECTABLE MEMORY ERROR" of a node's memory (SIGBUS by the hardware).
	MemoryError Kind = "memory-error"
	// HostMemory is the kernel ending a process for want of memory: slurmstepd's "Detected 1 oom_kill event in StepId=7.0",
	// srun's "task 1: Out Of Memory", the kernel's "Out of memory: Killed process 123" (mm/oom_kill.c).
	HostMemory Kind = "host-memory"
	// TaskEnded is srun's line on tasks that ended badly: "srun: error: node: task 1: Exited with exit code 13", or a signal's
	// name; src/srun/libsrun/launch.c. Task is the first of them. Bash's line on a program of the batch script is one, too.
	TaskEnded Kind = "task-ended"

	// Xid is NVIDIA's driver in the kernel's log: "NVRM: Xid (PCI:0000:38:00): 79, ...". Code is its number, Name the device.
	Xid Kind = "xid"
	// SXid is the same of an NVSwitch: "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, ...".
	SXid Kind = "sxid"
	// GPULost is the driver's "GPU has fallen off the bus" where it comes without an Xid, or a batch script's "Node shows 7 of
	// 8 GPUs", which names the node.
	GPULost Kind = "gpu-lost"
	// Crash is a program's end by SIGBUS or SIGSEGV, in the words of the shell, of Python's faulthandler, of PyTorch's data
	// loader or of the kernel. Signal is its number.
	Crash Kind = "crash"
	// DiskFull is the C library's "No space left on device" and "Disk quota exceeded".
	DiskFull Kind = "disk-full"
	// FileSystem is the C library's words for a file system that is gone: "Stale file handle", "Input/output error",
	// "Read-only file system", and "Cannot send after transport endpoint shutdown", which is Lustre's eviction.
	FileSystem Kind = "file-system"
	// NotRun is bash's line on a program that it could not run, execute_cmd.c; ExitCode is what the script has from it.
	NotRun Kind = "not-run"
	// Message is a line that says by itself how a program ended: one of the table of job/message. Where is its place there, Name the
	// row's key.
	Message Kind = "message"
)

// Sign is a line that tells why a run ended, or how well it ran. Of a kind there are at most 1000 in 20000 lines: the first
// ones.
type Sign struct {
	Place Place
	Kind  Kind
	// Text is the line without colours and prefixes, cut where it is long.
	Text string
	// Time is what the line itself says, as if its clock were UTC's; zero if it does not.
	Time time.Time

	// Rank is the training's rank, Task the one that srun or mpirun numbers, LocalRank the one on its node: as the line
	// or its prefixes say. They are NoRank where these say nothing.
	Rank, Task, LocalRank int
	// Node is the host that the line names.
	Node string
	// Name is what the kind says, Where the place of a message.
	Name  string
	Where message.Where
	// Fabric is a provider's.
	Fabric string
	// ExitCode and Signal are how a process ended: one of them is not 0 where the line says so.
	ExitCode, Signal int
	// Code is the number of an Xid.
	Code int
	// Count is how many there are of what the kind says.
	Count int
	// File is where a worker has written its error; Root says that its failure was the first.
	File string
	Root bool
}

// TwoOnOneGPU is NCCL's word for ranks that share a GPU: "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 60", src/init.cc.
const TwoOnOneGPU = "Duplicate GPU detected"
