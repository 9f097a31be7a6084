package job_test

import (
	"math"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job"
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
			if got.Batch != c.batch || ok != (c.batch > 0) {
				t.Errorf("got %+v, %v; want batch %d", got, ok, c.batch)
			}
		})
	}
}

func FuzzLastProgress(f *testing.F) {
	f.Add([]byte("x\nBatch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		p, ok := job.LastProgress(output)
		if !ok && p != (job.Progress{}) || p.Batch < 0 {
			t.Errorf("got %+v, %v", p, ok)
		}
	})
}
