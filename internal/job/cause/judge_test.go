package cause_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/ras"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// sign is a sign of a rank, or of none.
func sign(kind trainlog.Kind, rank int, name, text string) cause.Sign {
	return cause.Sign{File: "job.out", Sign: trainlog.Sign{Kind: kind, Rank: rank, Task: trainlog.NoRank, LocalRank: trainlog.NoRank, Name: name, Text: text, Place: trainlog.Place{Line: 7}}}
}

// root is torchrun's entry for the rank that failed first.
func root(rank, code, signal int) cause.Sign {
	s := sign(trainlog.ChildFailed, rank, "", "exitcode")
	s.Root, s.ExitCode, s.Signal = true, code, signal
	return s
}

func with(e cause.Evidence, signs ...cause.Sign) cause.Evidence {
	e.Signs = append(e.Signs, signs...)
	return e
}

func state(state string, code, signal int) cause.Evidence {
	e := failed(0)
	e.Run.State, e.Run.Exit, e.Run.Steps = state, cause.Exit{Code: code, Signal: signal}, nil
	return e
}

func xid(e cause.Evidence, node, text string) cause.Evidence {
	e.Kernel = append(e.Kernel, cause.KernelLine{Node: node, Text: "NVRM: Xid (PCI:0000:38:00): " + text})
	return e
}

var none = trainlog.NoRank

// judged is a run's evidence and what is to be said of it.
type judged struct {
	name   string
	e      cause.Evidence
	class  cause.Class
	action cause.Action
	nodes  string // at fault, with ! if they are to be drained
	text   string // a part of it
}

// TestJudge has a row for each class and for what is not to be mixed up.
func TestJudge(t *testing.T) {
	for _, row := range slices.Concat(bySlurm(), byTime(), byProgram(), byMachine(), byHang()) {
		t.Run(row.name, func(t *testing.T) {
			v := cause.Judge(row.e)
			if v.Class != row.class || v.Action != row.action || atFault(v) != row.nodes || !strings.Contains(v.Text, row.text) {
				t.Errorf("got  %s, %s (%s), %q, %q\nwant %s, %s, %q, %q\nfindings %+v", v.Class, v.Action, v.Why, atFault(v), v.Text, row.class, row.action, row.nodes, row.text, v.Findings)
			}
		})
	}
}

// onNode is a sign that names its node.
func onNode(s cause.Sign, name string) cause.Sign {
	s.Node = name
	return s
}

// bySlurm are runs that ended well, and those that Slurm or a node ended.
func bySlurm() []judged {
	down := failed(1)
	down.Nodes = []cause.Node{{Name: "q-st-b-2", Down: true, Reason: "Not responding"}, {Name: "other", Down: true}}
	down.Signs = []cause.Sign{sign(trainlog.NCCLTimeout, 0, "ALLREDUCE", "Watchdog caught collective operation timeout"), sign(trainlog.Exception, 1, "torch.distributed.DistBackendError", "DistBackendError: NCCL error")}
	old := failed(1)
	old.Run.Start = start
	old.Nodes = []cause.Node{{Name: "q-st-b-2", Down: true, Since: start.Add(-time.Hour)}}
	return []judged{
		{"nothing_known", cause.Evidence{Policy: policy.Default()}, cause.Unknown, cause.Here, "", "nothing is known"},
		{"running", state("RUNNING", 0, 0), cause.Unknown, cause.Stop, "", "has not ended"},
		{"completed", state("COMPLETED", 0, 0), cause.Completed, cause.Stop, "", "completed"},
		{"completed_with_an_xid", xid(state("COMPLETED", 0, 0), "q-st-b-2", "63, Row Remapper"), cause.Completed, cause.Stop, "q-st-b-2!", "completed"},
		{"fewer_gpus_than_its_node_has", with(failed(1), onNode(sign(trainlog.GPULost, none, "", "q-st-b-2 shows 7 of 8 GPUs"), "q-st-b-2")), cause.GPULost, cause.Elsewhere, "q-st-b-2", "q-st-b-2 shows 7 of 8 GPUs"},
		{"an_old_message_of_the_kernel", func() cause.Evidence {
			s := onNode(sign(trainlog.Xid, none, "0000:38:00", "NVRM: Xid (PCI:0000:38:00): 79, x"), "q-st-b-2")
			s.Code, s.Time = 79, start.Add(-7*24*time.Hour)
			e := with(failed(1), s)
			e.Run.Start = start
			return e
		}(), cause.Unknown, cause.Here, "", "exit code 1"},
		{"cancelled", state("CANCELLED by 1000", 0, 15), cause.Cancelled, cause.Stop, "", "was cancelled by user 1000"},
		{"cancelled_has_consequences", with(state("CANCELLED+", 0, 0), sign(trainlog.Exception, 0, "KeyboardInterrupt", "KeyboardInterrupt"), sign(trainlog.Cancelled, none, "JOB 8", "*** JOB 8 ON n CANCELLED AT x ***")), cause.Cancelled, cause.Stop, "", "was cancelled"},
		{"node_fail_old", state("NODE_FAIL", 0, 0), cause.NodeLost, cause.Here, "", "lost a node"},
		{"node_fail_new", state("NODE_FAIL", 1, 0), cause.NodeLost, cause.Here, "", "lost a node"},
		{"node_fail_named", func() cause.Evidence {
			e := state("NODE_FAIL", 1, 0)
			e.Run.FailedNode = "q-st-b-3"
			return e
		}(), cause.NodeLost, cause.Elsewhere, "q-st-b-3", "lost a node: q-st-b-3 failed"},
		{"node_down_outranks_what_others_say", down, cause.NodeLost, cause.Elsewhere, "q-st-b-2", "lost a node: q-st-b-2 failed (Not responding)"},
		{"node_down_before", old, cause.Unknown, cause.Here, "", "failed: the batch script ended with exit code 1"},
		{"node_failure_in_the_log", with(failed(1), onNode(sign(trainlog.NodeFailure, none, "", "Node failure on q-st-b-1"), "q-st-b-1")), cause.NodeLost, cause.Elsewhere, "q-st-b-1", "lost a node"},
		{"preempted", state("PREEMPTED", 0, 15), cause.Preempted, cause.Here, "", "make room"},
		{"preempted_and_requeued", with(state("REQUEUED", 0, 15), sign(trainlog.Preempted, none, "JOB 7", "*** JOB 7 ON n CANCELLED AT x DUE TO PREEMPTION ***")), cause.Preempted, cause.Here, "", "make room"},
		{"requeued_old", state("REQUEUED", 0, 0), cause.Requeued, cause.Here, "", "back into the queue"},
		{"requeued_new", func() cause.Evidence {
			e := state("REQUEUED", 0, 0)
			e.Run.Derived.Signal = 15
			return e
		}(), cause.Requeued, cause.Here, "", "back into the queue"},
	}
}

// byTime are runs that had no more time or memory, or could not begin.
func byTime() []judged {
	return []judged{
		{"time_limit_with_a_checkpoint", state("TIMEOUT", 0, 0), cause.TimeLimit, cause.Here, "", "time limit"},
		{"time_limit_without", func() cause.Evidence {
			e := state("TIMEOUT", 0, 0)
			e.Checkpoint = cause.NoCheckpoint
			return e
		}(), cause.TimeLimit, cause.Stop, "", "time limit"},
		{"early_for_its_time", with(failed(1), sign(trainlog.TimeLimit, none, "", "Job 7 ended early: its time was nearly over")), cause.TimeLimit, cause.Here, "", "time limit"},
		{"early_for_its_time_without", func() cause.Evidence {
			e := with(failed(1), sign(trainlog.TimeLimit, none, "", "Job 7 ended early: its time was nearly over"))
			e.Checkpoint = cause.NoCheckpoint
			return e
		}(), cause.TimeLimit, cause.Stop, "", "time limit"},
		{"early_whatever_was_caught", with(failed(1), sign(trainlog.Exception, 0, "TypeError", "TypeError: x"), sign(trainlog.TimeLimit, none, "", "Job 7 ended early: its time was nearly over")), cause.TimeLimit, cause.Here, "", "time limit"},
		{"early_for_another", with(state("REQUEUED", 0, 0), sign(trainlog.Preempted, none, "", "Job 7 ended early: it makes room for another job")), cause.Preempted, cause.Here, "", "make room"},
		{"deadline", state("DEADLINE", 0, 0), cause.Deadline, cause.Stop, "", "deadline"},
		{"boot_fail", state("BOOT_FAIL", 0, 0), cause.BootFailed, cause.Here, "", "did not come up"},
		{"launch_failed", state("LAUNCH_FAILED", 0, 0), cause.LaunchFailed, cause.Here, "", "could not be launched"},
		{"no_output_directory", state("FAILED", 0, 53), cause.CannotStart, cause.Stop, "", "could not open its output"},
		{"no_program", failed(127), cause.CannotStart, cause.Stop, "", "a program that is not there"},
		{"asks_for_no_restart", failed(93), cause.NoRestart, cause.Stop, "", "exit code 93"},
		{"rank_asks_for_no_restart", with(failed(1), root(3, 93, 0)), cause.NoRestart, cause.Stop, "", "rank 3 ended with exit code 93"},
		{"out_of_memory", state("OUT_OF_MEMORY", 0, 125), cause.HostMemory, cause.Stop, "", "out of memory on a node"},
		{"out_of_memory_in_a_step", func() cause.Evidence {
			e := failed(1)
			e.Run.Steps = append(e.Run.Steps, cause.Step{Name: "0", State: "OUT_OF_MEMORY", Exit: cause.Exit{Signal: 125}})
			return e
		}(), cause.HostMemory, cause.Stop, "", "the kernel ended step 0"},
	}
}

// byProgram are runs that their program ended.
func byProgram() []judged {
	return []judged{
		{"oom_kill_explains_sigkill", with(failed(137), sign(trainlog.HostMemory, none, "", "Detected 1 oom_kill event in StepId=7.0."), root(2, 0, 9)), cause.HostMemory, cause.Stop, "", "oom_kill"},
		{"cuda_memory", with(failed(1), sign(trainlog.NCCLError, 1, "", "NCCL error"), sign(trainlog.CUDAMemory, 5, "", "CUDA out of memory. Tried to allocate 2.00 GiB."), root(5, 1, 0)), cause.CUDAMemory, cause.Stop, "", "rank 5: CUDA out of memory"},
		{"import_error", with(failed(1), sign(trainlog.Exception, 0, "ModuleNotFoundError", "ModuleNotFoundError: No module named 'apex'")), cause.ImportError, cause.Stop, "", "could not import a module: rank 0: ModuleNotFoundError"},
		{"assertion", with(failed(1), sign(trainlog.Exception, 0, "AssertionError", "AssertionError: shape")), cause.ProgramError, cause.Stop, "", "AssertionError"},
		{"bad_data", with(failed(1), sign(trainlog.Exception, 0, "json.decoder.JSONDecodeError", "json.decoder.JSONDecodeError: Expecting value")), cause.BadData, cause.Stop, "", "could not read its data"},
		{"torn_checkpoint", with(failed(1), sign(trainlog.Exception, 0, "RuntimeError", "RuntimeError: PytorchStreamReader failed reading zip archive")), cause.Checkpoint, cause.Here, "", "could not read a checkpoint"},
		{"missing_file", with(failed(1), sign(trainlog.Exception, 0, "FileNotFoundError", "FileNotFoundError: [Errno 2] No such file")), cause.MissingFile, cause.Stop, "", "did not find a file"},
		{"disk_full", with(failed(1), sign(trainlog.Exception, 0, "OSError", "OSError: [Errno 28] No space left on device")), cause.DiskFull, cause.Stop, "", "no room left"},
		{"storage", with(failed(1), sign(trainlog.FileSystem, 0, "", "OSError: [Errno 116] Stale file handle")), cause.Storage, cause.Here, "", "lost a file system"},
		{"root_rank_outranks_the_others", with(failed(1), sign(trainlog.Exception, 0, "ValueError", "ValueError: got nothing"), sign(trainlog.Exception, 4, "RuntimeError", "RuntimeError: x"), root(4, 1, 0)), cause.Exception, cause.Here, "", "rank 4: RuntimeError: x"},
		{"what_was_got_over", func() cause.Evidence {
			caught := sign(trainlog.Exception, 0, "json.JSONDecodeError", "json.JSONDecodeError: x")
			caught.Later = 100
			return with(failed(1), caught, sign(trainlog.Exception, 0, "RuntimeError", "RuntimeError: x"))
		}(), cause.Exception, cause.Here, "", "rank 0: RuntimeError: x"},
		{"other_exception", with(failed(1), sign(trainlog.Exception, none, "RuntimeError", "RuntimeError: x")), cause.Exception, cause.Here, "", "failed with an exception: RuntimeError: x"},
		{"connection_lost", with(failed(1), sign(trainlog.Exception, 2, "RuntimeError", "RuntimeError: [gloo] Connection closed by peer [10.0.0.1]:1")), cause.Network, cause.Here, "", "Connection closed by peer"},
		{"watchdog_aborts", with(failed(134), sign(trainlog.NCCLTimeout, 3, "ALLGATHER", "Watchdog caught collective operation timeout")), cause.Collective, cause.Here, "", "Watchdog"},
		{"watchdog", with(failed(1), sign(trainlog.NCCLTimeout, 3, "ALLGATHER", "Watchdog caught collective operation timeout")), cause.Collective, cause.Here, "", "waited for a rank in vain"},
		{"segfault", with(failed(1), root(2, 0, 11)), cause.Crash, cause.Here, "", "crashed: rank 2 was ended by SIGSEGV"},
		{"crash_outranks_what_others_say", with(failed(1), sign(trainlog.Exception, 0, "RuntimeError", "RuntimeError: Connection closed by peer"), root(1, 0, 11)), cause.Crash, cause.Here, "", "crashed: rank 1 was ended by SIGSEGV"},
		{"abort_after_the_watchdog", with(failed(1), sign(trainlog.NCCLTimeout, 1, "", "Watchdog caught collective operation timeout"), root(1, 0, 6)), cause.Collective, cause.Here, "", "in vain"},
		{"told_to_end", with(failed(1), sign(trainlog.Exception, 0, "RuntimeError", "RuntimeError: Connection closed by peer"), root(1, 0, 15)), cause.Network, cause.Here, "", "Connection closed"},
		{"first_of_several_nodes", func() cause.Evidence {
			one, two := root(1, 0, 11), root(9, 0, 9)
			one.Time, two.Time = start.Add(time.Second), start
			return with(failed(1), one, two)
		}(), cause.Killed, cause.Here, "", "rank 9 was ended by SIGKILL"},
		{"killed", failed(137), cause.Killed, cause.Here, "", "was killed by SIGKILL"},
		{"python_says_a_signal", with(failed(1), root(2, -9, 0)), cause.Killed, cause.Here, "", "SIGKILL"},
		{"unknown", failed(13), cause.Unknown, cause.Here, "", "failed: the batch script ended with exit code 13"},
		{"what_is_left_of_the_run_before", func() cause.Evidence {
			e := failed(1)
			e.Run.Derived.Signal = 15
			e.Run.Steps = append(e.Run.Steps, cause.Step{Name: "0", State: "FAILED", Exit: cause.Exit{Code: 1}})
			return e
		}(), cause.Unknown, cause.Here, "", "step 0 ended with exit code 1"},
		{"slurm_code", state("FAILED", 0, 105), cause.Unknown, cause.Here, "", "Slurm's code 105"},
	}
}

// byMachine are runs of which kernels, CUDA and networks tell.
func byMachine() []judged {
	late := xid(failed(1), "q-st-b-2", "79, GPU has fallen off the bus.")
	late.Run.Start, late.Run.End = start, start.Add(time.Hour)
	late.Kernel[0].Time = start.Add(-time.Hour)
	return []judged{
		{"xid_79", xid(failed(1), "q-st-b-2", "79, pid=1, GPU has fallen off the bus."), cause.GPULost, cause.Elsewhere, "q-st-b-2!", "Xid 79 on q-st-b-2 (GPU 0000:38:00): the GPU fell off the bus"},
		{"xid_48", xid(failed(1), "q-st-b-2", "48, pid=1, DBE"), cause.ECC, cause.Elsewhere, "q-st-b-2!", "Xid 48"},
		{"xid_74", xid(failed(1), "q-st-b-1", "74, pid=1, NVLink"), cause.NVLink, cause.Elsewhere, "q-st-b-1!", "Xid 74"},
		{"xid_119", xid(failed(1), "q-st-b-1", "119, pid=1, Timeout"), cause.GPU, cause.Elsewhere, "q-st-b-1!", "GSP"},
		{"xid_31_is_the_program", xid(failed(1), "q-st-b-1", "31, pid=1, MMU Fault"), cause.GPUProgram, cause.Here, "", "Xid 31"},
		{"xid_45_is_nothing", xid(failed(137), "q-st-b-1", "45, pid=1, Ch 08"), cause.Killed, cause.Here, "", "SIGKILL"},
		{"xid_149_nonfatal", xid(failed(1), "q-st-b-1", "149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 08 (0x0)"), cause.Unknown, cause.Here, "", "exit code 1"},
		{"xid_149_fatal", xid(failed(1), "q-st-b-1", "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x0)"), cause.NVLink, cause.Elsewhere, "q-st-b-1!", "Xid 149"},
		{"xid_154_reset", xid(failed(1), "q-st-b-1", "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"), cause.GPU, cause.Elsewhere, "q-st-b-1!", "Xid 154"},
		{"xid_154_none", xid(failed(1), "q-st-b-1", "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"), cause.Unknown, cause.Here, "", "exit code 1"},
		{"xid_of_another_time", late, cause.Unknown, cause.Here, "", "exit code 1"},
		{"xid_of_another_node", xid(failed(1), "other", "79, x"), cause.GPULost, cause.Here, "", "lost a GPU"},
		{"ecc_by_cuda", with(failed(1), onNode(sign(trainlog.CUDAError, 3, "uncorrectable ECC error encountered", "RuntimeError: CUDA error: uncorrectable ECC error encountered"), "q-st-b-3")), cause.ECC, cause.Elsewhere, "q-st-b-3!", "lost GPU memory to errors: rank 3"},
		{"cuda_exception", with(failed(1), sign(trainlog.Exception, 3, "RuntimeError", "RuntimeError: CUDA error: device-side assert triggered")), cause.ProgramError, cause.Stop, "", "device-side assert"},
		{"illegal_access", with(failed(1), sign(trainlog.CUDAError, 3, "", "CUDA error: an illegal memory access was encountered")), cause.GPUProgram, cause.Here, "", "illegal memory access"},
		{"fault_explains_a_time_limit", xid(state("TIMEOUT", 0, 0), "q-st-b-1", "79, x"), cause.TimeLimit, cause.Elsewhere, "q-st-b-1!", "time limit"},
		{"machine_memory", with(failed(1), onNode(sign(trainlog.MemoryError, none, "JOB 7", "UNCORRECTABLE MEMORY ERROR"), "q-st-b-3")), cause.Memory, cause.Elsewhere, "q-st-b-3!", "node's memory"},
		{"nvswitch", with(failed(1), onNode(sign(trainlog.SXid, none, "", "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 3"), "q-st-b-3")), cause.NVLink, cause.Elsewhere, "q-st-b-3!", "NVSwitch"},
		{"efa_here", with(failed(1), onNode(sign(trainlog.NCCLWarning, 3, "", "NCCL WARN NET/OFI No eligible providers were found"), "q-st-b-3")), cause.EFA, cause.Elsewhere, "q-st-b-3!", "lost its network"},
		{"efa_nowhere", with(failed(1), onNode(sign(trainlog.NCCLWarning, 3, "", "NCCL WARN NET/OFI No eligible providers were found"), "q-st-b-3"), onNode(sign(trainlog.NCCLWarning, 1, "", "NCCL WARN NET/OFI No eligible providers were found"), "q-st-b-1")), cause.EFA, cause.Here, "", "No eligible"},
		{"efa_nowhere_ends_no_run", with(failed(1), onNode(sign(trainlog.NCCLWarning, 3, "", "NCCL WARN NET/OFI No eligible providers were found"), "q-st-b-3"), onNode(sign(trainlog.NCCLWarning, 1, "", "NCCL WARN NET/OFI No eligible providers were found"), "q-st-b-1"), sign(trainlog.Exception, 0, "RuntimeError", "RuntimeError: x")), cause.Exception, cause.Here, "", "RuntimeError"},
		{"efa_is_well", with(failed(1), onNode(sign(trainlog.NCCLWarning, 3, "", "NCCL WARN NET/OFI Failed to initialize GDRCopy: Failed to open gdr handle"), "q-st-b-3")), cause.Unknown, cause.Here, "", "exit code 1"},
		{"efa_of_a_peer", with(failed(1), onNode(sign(trainlog.NCCLWarning, 3, "", "NCCL WARN NET/OFI Request completed with error. Unresponsive receiver"), "q-st-b-3")), cause.EFA, cause.Here, "", "Unresponsive receiver"},
	}
}

// byHang are runs that stood still.
func byHang() []judged {
	hung := state("REQUEUED", 0, 15)
	hung.Hang = &cause.Hang{Silent: 11 * time.Minute, Limit: 10 * time.Minute, Nodes: []string{"q-st-b-3"}}
	hung.Signs = []cause.Sign{sign(trainlog.Requeued, none, "JOB 7", "*** JOB 7 ON q-st-b-1 CANCELLED AT 2026-11-20T20:34:36 DUE TO JOB REQUEUE ***")}
	hungCancelled := hung
	hungCancelled.Run.State = "CANCELLED by 0"
	return []judged{
		{"hang", hung, cause.Hung, cause.Elsewhere, "q-st-b-3", "it came no further for 11m0s, and may be 10m0s without a step"},
		{"hang_that_we_cancelled", hungCancelled, cause.Hung, cause.Elsewhere, "q-st-b-3", "stood still"},
		{"hang_that_goes_on", func() cause.Evidence {
			e := hung
			e.Run.State = "RUNNING"
			return e
		}(), cause.Hung, cause.Elsewhere, "q-st-b-3", "stood still"},
		{"hang_by_hardware_that_goes_on", func() cause.Evidence {
			e := xid(hung, "q-st-b-1", "79, x")
			e.Run.State = "RUNNING"
			return e
		}(), cause.GPULost, cause.Elsewhere, "q-st-b-1! q-st-b-3", "lost a GPU"},
		{"hang_by_hardware", xid(hung, "q-st-b-1", "79, x"), cause.GPULost, cause.Elsewhere, "q-st-b-1! q-st-b-3", "lost a GPU"},
	}
}

func atFault(v cause.Verdict) string {
	var all []string
	for _, f := range v.Faults {
		mark := ""
		if f.Drain {
			mark = "!"
		}
		all = append(all, f.Node+mark)
	}
	return strings.Join(all, " ")
}

func round(class cause.Class, action cause.Action, checkpoint int64) cause.Round {
	return cause.Round{Class: class, Action: action, Checkpoint: checkpoint}
}

func same(n int, class cause.Class, action cause.Action, checkpoint int64) []cause.Round {
	return slices.Repeat([]cause.Round{round(class, action, checkpoint)}, n)
}

// TestJudge_decides by the policy and the runs before.
func TestJudge_decides(t *testing.T) {
	lost := state("NODE_FAIL", 1, 0)
	lost.Run.FailedNode = "q-st-b-1"
	for _, row := range []struct {
		name   string
		e      cause.Evidence
		policy string
		rounds []cause.Round
		action cause.Action
		why    string
	}{
		{"elsewhere", lost, "", nil, cause.Elsewhere, "the node failed, not the job"},
		{"stop_policy", lost, "--on-failure=stop", nil, cause.Stop, "its --on-failure=stop wants it so"},
		{"stop_policy_and_preempted", state("PREEMPTED", 0, 0), "--on-failure=stop", nil, cause.Here, "nothing of it failed"},
		{"requeue_policy", state("OUT_OF_MEMORY", 0, 0), "--on-failure=requeue", nil, cause.Here, "its --on-failure=requeue wants it so"},
		{"requeue_policy_and_cancelled", state("CANCELLED", 0, 0), "--on-failure=requeue", nil, cause.Stop, "somebody wanted it to end"},
		{"requeue_policy_and_no_restart", failed(93), "--on-failure=requeue", nil, cause.Stop, "its program wants it so"},
		{"no_restarts", lost, "--restarts=0", nil, cause.Stop, "--restarts=0 allows no other start"},
		{"restarts_left", lost, "--restarts=3", []cause.Round{round(cause.NodeLost, cause.Elsewhere, 10), round(cause.NodeLost, cause.Elsewhere, 20)}, cause.Elsewhere, ""},
		{"restarts_spent", lost, "--restarts=2", []cause.Round{round(cause.NodeLost, cause.Elsewhere, 10), round(cause.NodeLost, cause.Elsewhere, 20)}, cause.Stop, "it was started again 2 times, and --restarts=2 allows no more"},
		{"making_room_costs_nothing", lost, "--restarts=2", same(50, cause.Preempted, cause.Here, 50), cause.Elsewhere, ""},
		{"two_without_a_checkpoint", lost, "", []cause.Round{round(cause.NodeLost, cause.Elsewhere, 100), round(cause.NodeLost, cause.Elsewhere, 100)}, cause.Elsewhere, ""},
		{"three_without_a_checkpoint", lost, "", same(3, cause.NodeLost, cause.Elsewhere, 100), cause.Stop, "3 runs in a row made no new checkpoint"},
		{"three_with_one_between", lost, "", []cause.Round{round(cause.NodeLost, cause.Elsewhere, 50), round(cause.NodeLost, cause.Elsewhere, 50), round(cause.NodeLost, cause.Elsewhere, 100), round(cause.NodeLost, cause.Elsewhere, 100)}, cause.Elsewhere, ""},
		{"this_one_made_one", lost, "", same(9, cause.NodeLost, cause.Elsewhere, 50), cause.Elsewhere, ""},
		{"making_room_counts_neither_way", lost, "", append(same(3, cause.NodeLost, cause.Elsewhere, 100), same(4, cause.Preempted, cause.Here, 100)...), cause.Stop, "3 runs in a row made no new checkpoint"},
		{"somebody_started_it_again", lost, "", append(same(3, cause.NodeLost, cause.Elsewhere, 100), round(cause.NodeLost, cause.Stop, 100)), cause.Elsewhere, ""},
		{"three_without_a_step", bySteps(lost, cause.NoCheckpoint), "", same(2, cause.NodeLost, cause.Elsewhere, cause.NoCheckpoint), cause.Stop, "3 runs in a row showed no step"},
		{"two_without_a_step", bySteps(lost, cause.NoCheckpoint), "", same(1, cause.NodeLost, cause.Elsewhere, cause.NoCheckpoint), cause.Elsewhere, ""},
		{"three_at_a_step", bySteps(lost, 70), "", same(3, cause.NodeLost, cause.Elsewhere, 100), cause.Stop, "3 runs in a row came no further than step 100"},
		{"a_further_step", bySteps(lost, 101), "", same(3, cause.NodeLost, cause.Elsewhere, 100), cause.Elsewhere, ""},
		{"time_limit_at_the_same_step", bySteps(state("TIMEOUT", 0, 0), 100), "", same(1, cause.TimeLimit, cause.Here, 100), cause.Stop, "another run of that length would get no further: this one came no further than step 100"},
		{"time_limit_without_a_step", bySteps(state("TIMEOUT", 0, 0), cause.NoCheckpoint), "", nil, cause.Here, ""},
		{"time_limit_without_a_step_again", bySteps(state("TIMEOUT", 0, 0), cause.NoCheckpoint), "", same(1, cause.TimeLimit, cause.Here, cause.NoCheckpoint), cause.Stop, "another run of that length would get no further: this one showed no step"},
		{"hang_stop", hangs(), "--on-hang=stop", nil, cause.Stop, "its --on-hang=stop wants it so"},
		{"hang_tell", hangs(), "--on-hang=tell", nil, cause.Stop, "its --on-hang=tell wants it so"},
		{"hang_requeue", hangs(), "", nil, cause.Here, "it may go on from its last checkpoint"},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := row.e
			e.Rounds = row.rounds
			if row.policy != "" {
				p, list := policy.Default().With([]string{row.policy})
				if list.Len() > 0 {
					t.Fatal(list.All())
				}
				e.Policy = p
			}
			v := cause.Judge(e)
			if v.Action != row.action || row.why != "" && v.Why != row.why {
				t.Errorf("got %s: %s, want %s: %s", v.Action, v.Why, row.action, row.why)
			}
		})
	}
}

func bySteps(e cause.Evidence, step int64) cause.Evidence {
	e.BySteps, e.Checkpoint = true, step
	return e
}

func hangs() cause.Evidence {
	e := state("REQUEUED", 0, 0)
	e.Hang = &cause.Hang{Silent: time.Hour}
	return e
}

// TestJudge_findings: the cause comes first, what follows from it is marked, and what many ranks say is counted.
func TestJudge_findings(t *testing.T) {
	e := state("NODE_FAIL", 1, 0)
	e.Run.FailedNode = "q-st-b-1"
	for rank := range 800 {
		e = with(e, sign(trainlog.NCCLTimeout, rank, "ALLREDUCE", "Watchdog caught collective operation timeout"))
	}
	v := cause.Judge(e)
	if len(v.Findings) > 20 || v.Findings[0].Place != "accounting: FailedNode=q-st-b-1" || v.Findings[0].Follows {
		t.Fatalf("got %+v", v.Findings)
	}
	last := v.Findings[len(v.Findings)-1]
	if !last.Follows || last.Text != "rank 0: Watchdog caught collective operation timeout (800 times)" || last.Place != "job.out:7" {
		t.Errorf("got %+v", last)
	}
}

// TestRanksOf: NCCL's hosts are addresses, and who is behind matters only where nothing moves.
func TestRanksOf(t *testing.T) {
	stand := ras.Stand{Known: true, Frozen: true, Dead: []ras.Process{{Rank: 3, Host: "10.0.0.2"}}, Behind: []ras.Process{{Rank: 7, Host: "q-st-b-2"}}}
	e := hangs()
	e.RAS = cause.RanksOf(stand, map[string]string{"10.0.0.2": "q-st-b-2"})
	if v := cause.Judge(e); v.Class != cause.Hung || v.Action != cause.Elsewhere || atFault(v) != "q-st-b-2" || len(v.Findings) < 4 {
		t.Errorf("got %+v", v)
	}
	stand.Frozen = false
	if r := cause.RanksOf(stand, nil); len(r.Behind) > 0 || r.Frozen || r.Dead[0].Node != "10.0.0.2" {
		t.Errorf("got %+v", r)
	}
}

// TestHangIsSomebodys: what was seen of processes counts more than who does not answer NCCL, and that more than who is behind.
func TestHangIsSomebodys(t *testing.T) {
	on := func(node string) []cause.Rank { return []cause.Rank{{Rank: 1, Node: node}} }
	for _, row := range []struct {
		name string
		seen []string
		ras  *cause.Ranks
		want string
	}{
		{"nothing", nil, nil, ""},
		{"seen", []string{"q-st-b-1"}, &cause.Ranks{Silent: on("q-st-b-2"), Behind: on("q-st-b-2"), Frozen: true}, "q-st-b-1"},
		{"silent", nil, &cause.Ranks{Silent: on("q-st-b-2"), Behind: on("q-st-b-1"), Frozen: true}, "q-st-b-2"},
		{"behind", nil, &cause.Ranks{Behind: on("q-st-b-1"), Frozen: true}, "q-st-b-1"},
		{"two", nil, &cause.Ranks{Dead: on("q-st-b-1"), Silent: on("q-st-b-2"), Behind: on("q-st-b-1")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := hangs()
			e.Hang.Nodes, e.RAS = row.seen, row.ras
			if v := cause.Judge(e); v.Class != cause.Hung || atFault(v) != row.want {
				t.Errorf("got %s at %q, want %q", v.Class, atFault(v), row.want)
			}
		})
	}
}
