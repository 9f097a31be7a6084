package cause_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/message"
)

// printed is a text of the table as a program prints it.
func printed(w message.Where, text string) string {
	const traceback = "Traceback (most recent call last):\n  File \"x\", line 1, in <module>\n"
	text = strings.ReplaceAll(text, "&", " x ")
	switch w {
	case message.CUDA:
		if strings.HasPrefix(text, "CUDA_") {
			return traceback + "XlaRuntimeError: INTERNAL: " + text + ": x\n"
		}
		return traceback + "RuntimeError: CUDA error: " + text + "\n"
	case message.Usage:
		return "train.py: error: " + text + "x\n"
	case message.Slurm:
		return "slurmstepd: error: " + text + "x\n"
	case message.NCCL:
		return "n-1:1:1 [0] x.cc:1 NCCL WARN " + text + "\n"
	case message.Exception:
		return traceback + "RuntimeError: " + text + " x\n"
	case message.Name:
		return traceback + text + ": x\n"
	case message.Line:
	}
	return text + " x\n"
}

// TestEveryMessage: each text of the table, as its program prints it on one node of three, or where it is not known on which, comes to
// the class, the node and the action that the table says.
func TestEveryMessage(t *testing.T) {
	actions := map[cause.Class]cause.Action{}
	for _, r := range cause.Table() {
		actions[r.Class] = r.Action
	}
	for _, r := range message.Table() {
		for _, text := range r.Texts {
			for _, label := range []string{"", "1: "} {
				want := expected(r, actions, label != "")
				v := cause.Judge(logged("FAILED", cause.Exit{Code: 2}, printed(r.Where, text), label))
				if string(v.Class) != want.class || v.Action != want.action || atFault(v) != want.node || v.Guess != want.guess {
					t.Errorf("%s %q behind %q: got %s, %s at %q, guess %t, %q (%s)\nwant %+v", r.Where, text, label, v.Class, v.Action, atFault(v), v.Guess, v.Text, v.Why, want)
				}
				if r.Says != "" && !strings.HasPrefix(v.Text, r.Says) || v.Hint != r.Hint || r.Fault == message.Service && v.Blame != cause.BlameService || (v.WaitSeconds > 0) != (r.Follows == message.Later) {
					t.Errorf("%s %q: %+v", r.Where, text, v)
				}
			}
		}
	}
}

type expectation struct {
	class  string
	action cause.Action
	node   string
	guess  bool
}

// expected is what the table says, where it is known that the second node alone said so, or nothing of the node.
func expected(r message.Row, actions map[cause.Class]cause.Action, known bool) expectation {
	e := expectation{class: r.Class, guess: r.Guess}
	alone := r.Fault == message.Alone || r.Fault == message.AloneNode
	if r.Everywhere != "" && alone && !known {
		e.class, e.guess = r.Everywhere, false
	}
	e.action = actions[cause.Class(e.class)]
	switch r.Follows {
	case message.Here, message.Later:
		e.action = cause.Here
	case message.Stop:
		e.action = cause.Stop
	case message.AsClass:
	}
	if known && (alone || r.Fault == message.Node || r.Fault == message.Avoid) {
		e.node = "q-st-b-2"
		if e.action == cause.Here {
			e.action = cause.Elsewhere
		}
	}
	if known && (r.Fault == message.Node || r.Fault == message.AloneNode) {
		e.node += "!"
	}
	if e.action == cause.Elsewhere && e.node == "" {
		e.action = cause.Here
	}
	return e
}

// TestMessagesHaveClasses: the table has no class that job/cause has not.
func TestMessagesHaveClasses(t *testing.T) {
	for _, r := range message.Table() {
		for _, class := range []string{r.Class, r.Everywhere} {
			if class != "" && !slices.ContainsFunc(cause.Table(), func(row cause.Row) bool { return string(row.Class) == class }) {
				t.Errorf("%q has class %q", r.Texts, class)
			}
		}
	}
}

// TestWhoSaysIt: of a device that is not there all nodes tell where the job was started so, and one where it is that node.
func TestWhoSaysIt(t *testing.T) {
	const (
		none    = "RuntimeError: CUDA error: no CUDA-capable device is detected\n"
		ordinal = "RuntimeError: CUDA error: invalid device ordinal\n"
		driver  = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination\n"
		fabric  = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n"
	)
	on := func(text string, labels ...string) string {
		var b strings.Builder
		for _, l := range labels {
			b.WriteString(l + "Traceback (most recent call last):\n" + l + text)
		}
		return b.String()
	}
	for _, row := range []struct {
		name, text string
		class      cause.Class
		action     cause.Action
		nodes      string
	}{
		{"no_gpu_on_one", on(none, "1: "), cause.GPULost, cause.Elsewhere, "q-st-b-2"},
		{"no_gpu_on_two", on(none, "1: ", "2: "), cause.GPULost, cause.Elsewhere, "q-st-b-2 q-st-b-3"},
		{"no_gpu_anywhere", on(none, "0: ", "1: ", "2: "), cause.ProgramError, cause.Stop, ""},
		{"ordinal_on_one", on(ordinal, "1: "), cause.GPULost, cause.Elsewhere, "q-st-b-2"},
		{"ordinal_on_one_and_somewhere", on(ordinal, "1: ", ""), cause.ProgramError, cause.Stop, ""},
		{"ordinal_on_two", on(ordinal, "1: ", "2: "), cause.ProgramError, cause.Stop, ""},
		{"driver_on_one", on(driver, "2: "), cause.GPU, cause.Elsewhere, "q-st-b-3!"},
		{"driver_everywhere", on(driver, "0: ", "1: ", "2: "), cause.ProgramError, cause.Stop, ""},
		{"fabric_everywhere", on(fabric, "0: ", "1: ", "2: "), cause.GPU, cause.Elsewhere, "q-st-b-1! q-st-b-2! q-st-b-3!"},
		{"fabric_explains_what_follows", on(fabric, "1: ") + on(none, "2: ") + "0: [rank0]: Traceback (most recent call last):\n0: [rank0]: RuntimeError: Connection closed by peer\n", cause.GPU, cause.Elsewhere, "q-st-b-2! q-st-b-3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := cause.Judge(logged("FAILED", cause.Exit{Code: 1}, row.text, ""))
			if v.Class != row.class || v.Action != row.action || atFault(v) != row.nodes {
				t.Errorf("got %s, %s at %q: %s", v.Class, v.Action, atFault(v), v.Text)
			}
		})
	}
}

// TestRankOfATable: where only torchrun's table says on which node a rank was, that is the node.
func TestRankOfATable(t *testing.T) {
	const text = `[rank5]: Traceback (most recent call last):
[rank5]:   File "x", line 1
[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_10:00:45
  host      : q-st-b-3.cluster.internal
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 13600)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
`
	if v := cause.Judge(logged("FAILED", cause.Exit{Code: 1}, text, "")); v.Class != cause.ECC || atFault(v) != "q-st-b-3!" {
		t.Errorf("got %s at %q", v.Class, atFault(v))
	}
}

// TestMentions: words in data, warnings and what was tried again end no run.
func TestMentions(t *testing.T) {
	steps := strings.Repeat("Batch 1 Loss: 7.00000, Speed: 1.20 samples/sec, lr: 0.000030\n", 1)
	for _, row := range []struct{ name, text string }{
		{"data", "sample 17: 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB'\n"},
		{"data_in_json", `{"text": "CUDA error: uncorrectable ECC error encountered", "label": 1}` + "\n"},
		{"a_tokenizer", "tokens: ['out', 'of', 'memory', 'CUDA', 'error']\n"},
		{"a_word", "the model ran out of memory in the ablation; we use less\n"},
		{"a_retry", "HTTP Error 429 thrown while requesting GET https://huggingface.co/x\nRetrying in 1s [Retry 1/5].\n"},
		{"a_caught_request", "Traceback (most recent call last):\n  File \"x\", line 1\nrequests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x\n" + steps},
		{"a_compiler", "nvcc: error: unrecognized arguments: -x\n"},
		{"help", "Set it if you see \"Failed to initialize NVML: Unknown Error\"\n"},
		{"not_at_the_beginning", "INFO it says Failed to initialize NVML: Driver/library version mismatch on old nodes\n"},
		{"a_warning_of_slurm", "slurmstepd: error: Unable to create TMPDIR [/x]: Permission denied\n"},
		{"the_head_alone", "tests of CUDA_ERROR_ handling: see cudaGetDeviceCount()\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := cause.Judge(logged("FAILED", cause.Exit{Code: 13}, row.text, ""))
			if v.Class != cause.Unknown || len(v.Faults) > 0 {
				t.Errorf("got %s, %s: %+v", v.Class, v.Text, v.Findings)
			}
		})
	}
	for _, row := range []struct {
		name, text string
		class      cause.Class
	}{
		{"a_warning_of_torch_on_cpus", "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 100: no CUDA-capable device is detected\n", cause.ProgramError},
		{"tensorflow_on_cpus", "E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n", cause.ProgramError},
		{"nvidia_smi_on_cpus", "No devices were found\n", cause.ProgramError},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := cause.Judge(logged("FAILED", cause.Exit{Code: 1}, row.text+"Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'x'\n", "1: "))
			if v.Class != row.class || !strings.Contains(v.Text, "KeyError") {
				t.Errorf("got %s, %s", v.Class, v.Text)
			}
		})
	}
}

// TestFirstCause: what came first explains what others say of it, whatever the order in the log.
func TestFirstCause(t *testing.T) {
	const (
		peer  = "[rank0]: Traceback (most recent call last):\n[rank0]: torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there was a network error, NCCL version 2.21.5\n"
		watch = "[rank2]:[E ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 600012 milliseconds before timing out.\n"
	)
	for name, row := range map[string]struct {
		text  string
		class cause.Class
	}{
		"jax_memory":  {"[rank1]: Traceback (most recent call last):\n[rank1]: jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes.\n", cause.CUDAMemory},
		"shm":         {"[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error. \n", cause.HostMemory},
		"no_program":  {"slurmstepd: error: execve(): pythonn: No such file or directory\n", cause.CannotStart},
		"gated":       {"[rank1]: Traceback (most recent call last):\n[rank1]: huggingface_hub.errors.GatedRepoError: 401 Client Error.\n", cause.ProgramError},
		"the_fabric":  {"[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n", cause.GPU},
		"the_service": {"[rank1]: Traceback (most recent call last):\n[rank1]: requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /x\n", cause.Network},
	} {
		for _, text := range []string{row.text + peer + watch, peer + row.text, peer + watch + row.text} {
			v := cause.Judge(logged("FAILED", cause.Exit{Code: 1}, text, ""))
			if name == "the_service" {
				if v.Class == cause.Network && v.Blame != cause.BlameService {
					t.Errorf("%s: %s", name, v.Text)
				}
				continue
			}
			if v.Class != row.class {
				t.Errorf("%s: got %s, %s", name, v.Class, v.Text)
			}
		}
	}
}

// TestWaits: a job waits longer for a service outside the cluster each time, and such runs are none that came no further, but are
// restarts.
func TestWaits(t *testing.T) {
	const text = "Traceback (most recent call last):\n  File \"x\", line 1\nhuggingface_hub.errors.HfHubHTTPError: 503 Server Error: Service Unavailable for url: https://huggingface.co/x\n"
	waited := cause.Round{Class: cause.Network, Action: cause.Here, Checkpoint: 100, Waited: true}
	idle := cause.Round{Class: cause.Network, Action: cause.Here, Checkpoint: 100}
	for _, row := range []struct {
		name   string
		rounds []cause.Round
		action cause.Action
		wait   int
	}{
		{"first", nil, cause.Here, 300},
		{"second", []cause.Round{waited}, cause.Here, 600},
		{"sixth", slices.Repeat([]cause.Round{waited}, 5), cause.Here, 3600},
		{"after_another", []cause.Round{waited, idle}, cause.Here, 300},
		{"no_restarts_left", slices.Repeat([]cause.Round{waited}, 10), cause.Stop, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := logged("FAILED", cause.Exit{Code: 1}, text, "")
			e.Rounds = row.rounds
			if v := cause.Judge(e); v.Action != row.action || v.WaitSeconds != row.wait {
				t.Errorf("got %s, %d s: %s", v.Action, v.WaitSeconds, v.Why)
			}
		})
	}
	other := logged("FAILED", cause.Exit{Code: 1}, "Traceback (most recent call last):\n  File \"x\", line 1\nRuntimeError: x\n", "")
	other.Rounds = []cause.Round{idle, waited, waited}
	if v := cause.Judge(other); v.Action != cause.Here {
		t.Errorf("two runs that came no further are three: %s", v.Why)
	}
	other.Rounds = []cause.Round{idle, idle, waited, idle}
	if v := cause.Judge(other); v.Action != cause.Stop {
		t.Errorf("a wait between hides runs that came no further: %s", v.Why)
	}
}
