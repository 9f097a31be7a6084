package trainlog_test

import (
	"math"
	"testing"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// plain is a sample of the guides' line.
func plain(step int64, loss, speed, lr float64) trainlog.Sample {
	return trainlog.Sample{Format: trainlog.FSDP, Step: step, Batch: step, Loss: some(loss), SamplesPerSecond: some(speed), LearningRate: some(lr)}
}

func TestFSDP(t *testing.T) {
	ofSrun := plain(1, 11.64398, 10.9, 1e-4)
	ofSrun.Time = at("2025-06-17 16:24:55")
	nsight := plain(1003, 1.5, 2, 0.1)
	nsight.Batch, nsight.Epoch = 3, some(2)
	eval := trainlog.Sample{Format: trainlog.FSDP, Step: 25, Batch: 25, Eval: true, Loss: some(6.5)}
	checkSamples(t, []sampleRow{
		{"plain", "Batch 10 Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.00003\n", []trainlog.Sample{plain(10, 7.1, 1.2, 3e-5)}},
		{"of_srun", "0: 2025-06-17 16:24:55 I [train.py:103] Batch 1 Loss: 11.64398, Speed: 10.90 samples/sec, lr: 0.000100\n", []trainlog.Sample{ofSrun}},
		{"with_steps", "Epoch 2 Batch 3 Steps 1003 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\r\n", []trainlog.Sample{nsight}},
		{"in_colour", "\x1b[32mBatch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 1e-05\x1b[0m\n", []trainlog.Sample{plain(3, 1.5, 2, 1e-5)}},
		{"infinite", "Batch 3 Loss: inf, Speed: 2.0 samples/sec, lr: 0.1\n", []trainlog.Sample{plain(3, math.Inf(1), 2, 0.1)}},
		{"not_a_number", "Batch 3 Loss: nan, Speed: 2.0 samples/sec, lr: 0.1\n", []trainlog.Sample{plain(3, math.NaN(), 2, 0.1)}},
		{"second_word", "Batch size 4, Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n", []trainlog.Sample{plain(3, 1.5, 2, 0.1)}},
		{"without_end", "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1", []trainlog.Sample{plain(3, 1.5, 2, 0.1)}},
		{"evaluation", "Batch 25 Validation loss: 6.5\n", []trainlog.Sample{eval}},
		{"empty", "", nil},
		{"other", "Batch size 10, Loss: 7\n", nil},
		{"a_part", "Batch 10 Loss: 7.1, Speed: 1.2 sam\n", nil},
		{"no_number", "Batch 10 Loss: 7.1.2, Speed: 1.2 samples/sec, lr: 0.1\n", nil},
		{"too_large", "Batch 99999999999999999999 Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.1\n", nil},
		{"too_large_a_loss", "Batch 9 Loss: 7.1e999, Speed: 1.2 samples/sec, lr: 0.1\n", nil},
		{"binary", "\xff\x00\x1b\x1b[\n\x1b]", nil},
	})
}
