package cause

import "sync"

// Class is how a run ended.
type Class string

// The classes; Table says what each means.
const (
	Completed    Class = "completed"
	Cancelled    Class = "cancelled"
	Preempted    Class = "preempted"
	TimeLimit    Class = "time-limit"
	Deadline     Class = "deadline"
	NoRestart    Class = "no-restart"
	ECC          Class = "ecc"
	NVLink       Class = "nvlink"
	GPULost      Class = "gpu-lost"
	GPU          Class = "gpu"
	Memory       Class = "memory"
	Hung         Class = "hang"
	NodeLost     Class = "node-lost"
	BootFailed   Class = "boot-failed"
	LaunchFailed Class = "launch-failed"
	Requeued     Class = "requeued"
	HostMemory   Class = "host-memory"
	CUDAMemory   Class = "cuda-memory"
	ImportError  Class = "import-error"
	ProgramError Class = "program-error"
	BadData      Class = "bad-data"
	Checkpoint   Class = "checkpoint"
	MissingFile  Class = "missing-file"
	DiskFull     Class = "disk-full"
	Storage      Class = "storage"
	CannotStart  Class = "cannot-start"
	EFA          Class = "efa"
	GPUProgram   Class = "gpu-program"
	Exception    Class = "exception"
	Crash        Class = "crash"
	Killed       Class = "killed"
	Collective   Class = "collective-timeout"
	Network      Class = "network"
	Unknown      Class = "unknown"
)

// Row is what a class means.
type Row struct {
	Class Class
	// Says goes on from "the job".
	Says   string
	Blame  Blame
	Action Action
	// Signs say what tells it.
	Signs string
}

// Table are all classes; of several that fit, the first is the cause.
func Table() []Row {
	return []Row{
		{Completed, "completed", BlameNobody, Stop, "state COMPLETED"},
		{Cancelled, "was cancelled", BlameUser, Stop, "state CANCELLED"},
		{Preempted, "had to make room for another job", BlameCluster, Here, "state PREEMPTED; slurmstepd's DUE TO PREEMPTION; a batch script whose ranks ended early for it"},
		{TimeLimit, "ran into its time limit", BlameJob, Here, "state TIMEOUT; slurmstepd's DUE TO TIME LIMIT; a batch script whose ranks ended early for it"},
		{Deadline, "ran into its deadline", BlameJob, Stop, "state DEADLINE"},
		{NoRestart, "asked not to be started again", BlameJob, Stop, "exit code 93 of the batch script, a step or a rank"},
		{GPULost, "lost a GPU", BlameNode, Elsewhere, "Xid 79 or 167; the kernel's fallen off the bus; a batch script that finds fewer GPUs than its node has; CUDA's no CUDA-capable device; NVML's GPU is lost"},
		{ECC, "lost GPU memory to errors", BlameNode, Elsewhere, "Xid 48, 63, 64, 94, 95, 140, 156 or 172; CUDA's uncorrectable ECC error"},
		{NVLink, "lost an NVLink", BlameNode, Elsewhere, "Xid 74, 136, 155 or 166; Xid 144 to 150 or SXid that say Fatal; CUDA's NVLink errors"},
		{GPU, "had a GPU that failed", BlameNode, Elsewhere, "Xid 46, 54, 62, 109, 110, 119, 120, 143, 151, 158 or 169; Xid 154 that wants a reset; CUDA's system not yet initialized and other words for a driver, a fabric manager or a device that does not work; NVML's errors"},
		{Memory, "lost a node's memory to errors", BlameNode, Elsewhere, "slurmstepd's UNCORRECTABLE MEMORY ERROR"},
		{Hung, "stood still", BlameNobody, Elsewhere, "no progress for longer than the job's rhythm or `--hang` allows"},
		{NodeLost, "lost a node", BlameNode, Elsewhere, "state NODE_FAIL; DUE TO NODE FAILURE; a node of the run that went down meanwhile"},
		{BootFailed, "got nodes that did not come up", BlameNode, Elsewhere, "state BOOT_FAIL"},
		{LaunchFailed, "could not be launched on its nodes", BlameCluster, Here, "state LAUNCH_FAILED or RECONFIG_FAIL; reason JobLaunchFailure; srun's launch failed"},
		{Requeued, "was put back into the queue", BlameUser, Here, "state REQUEUED; slurmstepd's DUE TO JOB REQUEUE"},
		{HostMemory, "ran out of memory on a node", BlameJob, Stop, "state OUT_OF_MEMORY; oom_kill of slurmstepd or the kernel; Python's MemoryError; a data loader's worker that was killed; a /dev/shm that is too small"},
		{CUDAMemory, "ran out of GPU memory", BlameJob, Stop, "PyTorch's CUDA out of memory; JAX's RESOURCE_EXHAUSTED"},
		{ImportError, "could not import a module", BlameJob, Stop, "Python's ImportError and ModuleNotFoundError, and its No module named before a program runs"},
		{DiskFull, "had no room left on a disk", BlameJob, Stop, "No space left on device; Disk quota exceeded"},
		{Storage, "lost a file system", BlameCluster, Here, "Stale file handle, Input/output error, Read-only file system, Lustre's eviction and their like"},
		{Checkpoint, "could not read a checkpoint", BlameJob, Here, "PyTorch's, pickle's and safetensors' words for files that are not whole"},
		{BadData, "could not read its data", BlameJob, Stop, "exceptions of decoders: JSONDecodeError, UnicodeDecodeError, BadZipFile, UnidentifiedImageError and their like"},
		{MissingFile, "did not find a file, or may not read it", BlameJob, Stop, "FileNotFoundError, PermissionError and their like"},
		{ProgramError, "has a mistake in its program", BlameJob, Stop, "AssertionError, SyntaxError, TypeError, ValueError and other exceptions that come again; CUDA's device-side assert; wrong arguments; a loss that is no number; a service outside the cluster that refuses"},
		{GPUProgram, "failed on a GPU", BlameJob, Here, "CUDA's illegal memory access and other errors of programs; Xid 13, 31, 43 and others of NVIDIA's RESTART_APP"},
		{EFA, "lost its network", BlameNode, Elsewhere, "NCCL WARN of the plugin for EFA (NET/OFI): a transfer that failed; or a node that finds no EFA while the others do"},
		{Exception, "failed with an exception", BlameJob, Here, "any other exception of Python's"},
		{Crash, "crashed", BlameJob, Here, "SIGSEGV, SIGBUS, SIGABRT and other signals of a program's own mistake"},
		{CannotStart, "could not be started", BlameJob, Stop, "signal 53 of the batch script; exit code 126 or 127; slurmstepd's execve(); srun's and PMIx's words for a step that cannot be"},
		{Collective, "waited for a rank in vain", BlameNobody, Here, "the NCCL watchdog's collective operation timeout, Gloo's Timed out waiting, and nothing that explains it"},
		{Network, "lost the connection between its ranks", BlameNobody, Here, "NCCL error, DistBackendError, Connection reset and their like, and nothing that explains them; a port in use; a service outside the cluster that does not answer, or asks to wait"},
		{Killed, "was killed", BlameNobody, Here, "SIGKILL or SIGTERM that neither Slurm nor the kernel accounts for"},
		{Unknown, "failed", BlameNobody, Here, "nothing of this"},
	}
}

// row is what the class means.
func (c Class) row() Row { return table()[c.rank()] }

// rank is the class's place in the table: the lower is the cause of the higher.
func (c Class) rank() int {
	if i, ok := ranks()[c]; ok {
		return i
	}
	return ranks()[Unknown]
}

var table = sync.OnceValue(Table)

var ranks = sync.OnceValue(func() map[Class]int {
	all := map[Class]int{}
	for i, r := range table() {
		all[r.Class] = i
	}
	return all
})

// hardware says that the class is a fault of a machine, by evidence of its own.
func (c Class) hardware() bool {
	switch c {
	case GPULost, ECC, NVLink, GPU, Memory:
		return true
	}
	return false
}

// Forced says that the job did not fail: somebody had the queue take it back. It costs none of
// its restarts.
func (c Class) Forced() bool { return c == Preempted || c == Requeued }
