package job_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

func TestParseProgress(t *testing.T) {
	cases := map[string]struct {
		line string
		want job.Progress
		ok   bool
	}{
		"plain":      {"Batch 10 Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.00003", job.Progress{Batch: 10, Loss: 7.1, Speed: 1.2, LR: 3e-5}, true},
		"of_srun":    {"0: 2025-06-17 16:24:55 I [train.py:103] Batch 1 Loss: 11.64398, Speed: 10.90 samples/sec, lr: 0.000100", job.Progress{Batch: 1, Loss: 11.64398, Speed: 10.9, LR: 1e-4}, true},
		"with_steps": {"Epoch 2 Batch 3 Steps 4 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\r", job.Progress{Batch: 3, Loss: 1.5, Speed: 2, LR: 0.1}, true},
		"in_colour":  {"\x1b[32mBatch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 1e-05\x1b[0m", job.Progress{Batch: 3, Loss: 1.5, Speed: 2, LR: 1e-5}, true},
		"infinite":   {"Batch 3 Loss: inf, Speed: 2.0 samples/sec, lr: 0.1", job.Progress{Batch: 3, Loss: math.Inf(1), Speed: 2, LR: 0.1}, true},
		"empty":      {"", job.Progress{}, false},
		"other":      {"Batch size 10, Loss: 7", job.Progress{}, false},
		"a_part":     {"Batch 10 Loss: 7.1, Speed: 1.2 sam", job.Progress{}, false},
		"no_number":  {"Batch 10 Loss: 7.1.2, Speed: 1.2 samples/sec, lr: 0.1", job.Progress{}, false},
		"too_large":  {"Batch 99999999999999999999 Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.1", job.Progress{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := job.ParseProgress([]byte(c.line))
			if got != c.want || ok != c.ok {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, c.want, c.ok)
			}
		})
	}
	if p, ok := job.ParseProgress([]byte("Batch 3 Loss: nan, Speed: 2.0 samples/sec, lr: 0.1")); !ok || !math.IsNaN(p.Loss) {
		t.Errorf("got %+v, %v; want a loss that is no number", p, ok)
	}
}

func TestLastProgress(t *testing.T) {
	const line = "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n"
	cases := map[string]struct {
		output string
		batch  int
	}{
		"one":          {line, 3},
		"text_after":   {line + "End of training\n\n", 3},
		"last_counts":  {line + strings.Replace(line, "3", "4", 1), 4},
		"not_whole":    {line + "Batch 44 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1", 3},
		"nothing":      {"", 0},
		"only_newline": {"\n\n", 0},
		"no_line_end":  {strings.TrimSpace(line), 0},
		"binary":       {"\xff\x00\n" + line + "\x00\n", 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := job.LastProgress([]byte(c.output))
			if got.Batch != int64(c.batch) || ok != (c.batch > 0) {
				t.Errorf("got %+v, %v; want batch %d", got, ok, c.batch)
			}
		})
	}
}

// TestLastProgressOfAll is that the last line counts of whatever program, and that an evaluation's does not.
func TestLastProgressOfAll(t *testing.T) {
	cases := map[string]struct {
		output string
		want   string
	}{
		"torchtitan": {"[titan] 2026-11-23 07:01:40 - root - INFO - step: 10  loss: 10.7069  grad_norm: 1.7299  memory: 30.99GiB(32.62%)  tps: 7,034  tflops: 407.35  mfu: 41.19%\n" +
			"[titan] 2026-11-23 07:02:40 - root - INFO - validate step: 10  loss: 9.5  memory: 30.99GiB(32.62%)  tps: 9,034\n", "step 10 of 0, loss 10.7069, tokens 7034, tflops 407.35"},
		"megatron": {" iteration       25/    5000 | elapsed time per iteration (ms): 87.0 | learning rate: 1.638E-08 | global batch size:     2 | lm loss: 1.086954E+01 |\n",
			"step 25 of 5000, loss 10.86954, lr 1.638e-08, samples 22.98850574712644, seconds 0.087"},
		"lightning": {"Epoch 0:   6%|▍         | 86/1563 [00:06<01:44, 14.19it/s, v_num=0, train_loss=1.800]\n", "step 86 of 0, loss 1.8, seconds 0.07047216349541931"},
		"deepspeed_in_two_lines": {"[Rank 0] step=14000, skipped=25, lr=[0.001], mom=[0.9]\nepoch=0/micro_step=14000/global_step=14000, RunningAvgSamplesPerSec=1412.76, CurrSamplesPerSec=1322.81, MemAllocated=0.0GB\n",
			"step 14000 of 0, lr 0.001, samples 1322.81"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, ok := job.LastProgress([]byte(c.output))
			got := fmt.Sprintf("step %d of %d", s.Step, s.Steps)
			for _, v := range []struct {
				name string
				of   trainlog.Value
			}{{"loss", s.Loss}, {"lr", s.LearningRate}, {"samples", s.SamplesPerSecond}, {"tokens", s.TokensPerSecondPerGPU}, {"tflops", s.TFLOPsPerGPU}, {"seconds", s.StepSeconds}} {
				if v.of.Known {
					got += fmt.Sprintf(", %s %g", v.name, v.of.Float)
				}
			}
			if !ok || got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzLastProgress(f *testing.F) {
	f.Add([]byte("x\nBatch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		p, ok := job.LastProgress(output)
		if !ok && p != (trainlog.Sample{}) || p.Batch < 0 {
			t.Errorf("got %+v, %v", p, ok)
		}
	})
}
