package trainlog_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// processor is the time that this process was given so far, the collector's part of it, too. On a machine that does other
// things it says more than a clock.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// chatter is what most lines of a log are.
var chatter = []string{
	"0: 2025-06-17 16:23:09 I [train.py:156] loaded shard 17 of 512 from /fsx/data/c4/en/shard-00017.tar in 3.1 s\n",
	"1: p5-dy-gpu-3:47930:47930 [0] NCCL INFO Channel 00/0 : 3[3] -> 14[6] [send] via NET/Libfabric/3/GDRDMA\n",
	"2: p5-dy-gpu-4:930643:930850 [7] NCCL INFO NET/OFI Using transport protocol RDMA (platform set)\n",
	"[rank3]:/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py:1747: UserWarning: expandable_segments not supported\n",
	"  warnings.warn(\"the iterator was not used for a while, which may mean that the loader is slow\")\n",
	"0: step time 2.91 s, data wait 0.02 s, memory 61.2 GiB of 139.8 GiB, temperature 61 C, power 640 W\n",
	"\n",
	"+ export NCCL_SOCKET_IFNAME=ens32 FI_PROVIDER=efa LD_LIBRARY_PATH=/opt/amazon/efa/lib:/opt/amazon/openmpi/lib\n",
	"DEBUG:checkpoint: 1024 of 4096 tensors are written to /fsx/checkpoints/llama-70b/step_4000/.tmp\n",
}

// BenchmarkRead reads logs in which one line in ten is of progress.
func BenchmarkRead(b *testing.B) {
	const lines = 1000
	for _, row := range []struct {
		name, pattern, line string
	}{
		{"fsdp", "", "0: 2025-06-17 16:24:55 I [train.py:103] Batch STEP Loss: 11.64398, Speed: 10.90 samples/sec, lr: 0.000100\n"},
		{"torchtitan", "", "[rank0]:[titan] 2025-06-04 08:51:58,557 - root - INFO - \x1b[31mstep: STEP\x1b[0m  \x1b[32mloss: 10.7069\x1b[0m  memory: 30.99GiB(32.62%)  tps: 7,034  tflops: 407.35  mfu: 41.19%\n"},
		{"megatron", "", "1:  iteration     STEP/73242187 | consumed samples:           50 | elapsed time per iteration (ms): 87.0 | learning rate: 1.638E-08 | global batch size:     2 | lm loss: 1.086954E+01 | loss scale: 4294967296.0 | grad norm: 0.000 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"},
		{"huggingface", "", "{'loss': 1.266, 'grad_norm': 0.8577702641487122, 'learning_rate': 8.695652173913044e-06, 'epoch': 0.07}\n"},
		{"lightning", "", "\rEpoch 0:   6%|\u2588\u258d        | STEP/1563 [00:06<01:44, 14.19it/s, v_num=0, train_loss=1.800, train_acc=0.281]\n"},
		{"general", "", "0: 2025-06-17 16:24:55 I [train.py:103] step STEP/20000 | loss 11.64398 | grad_norm 0.5 | lr 1.00e-04 | 123456 tok/s\n"},
		{"pattern", `iter (?P<step>\d+).*loss=(?P<loss>\S+) lr=(?P<lr>\S+)`, "0: 2025-06-17 16:24:55 iter STEP of 20000: loss=11.64398 lr=0.0001\n"},
	} {
		b.Run(row.name, func(b *testing.B) {
			var piece []byte
			for step := range lines {
				piece = append(piece, strings.Join(chatter, "")+strings.ReplaceAll(row.line, "STEP", strconv.Itoa(step+1))...)
			}
			var r trainlog.Reader
			if row.pattern != "" {
				r.Pattern = compiled(b, row.pattern)
			}
			b.SetBytes(int64(len(piece)))
			b.ReportAllocs()
			began := processor(b)
			for b.Loop() {
				if n := len(r.Feed(piece).Samples); n != lines && (row.name != "general" || n < lines-3) {
					b.Fatalf("%d samples of %d", n, lines)
				}
			}
			b.ReportMetric((processor(b)-began).Seconds()/float64(b.N)/float64(len(piece))*1e9, "cpu-s/GB")
		})
	}
}
