package trainlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// numbered are lines of which each has the next number.
func numbered(format string, numbers ...int) string {
	var out strings.Builder
	for _, n := range numbers {
		fmt.Fprintf(&out, format+"\n", n)
	}
	return out.String()
}

var upwards = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}

// Programs print much that has a number and a loss. It is progress only if it is of a training and rises.
func TestNoProgress(t *testing.T) {
	for _, row := range []struct{ name, text string }{
		{"once", numbered("step %d loss 2.5", 7)},
		{"twice", numbered("step %d loss 2.5", 7, 8)},
		{"the_same_step", numbered("step %d loss 2.5", 7, 7, 7, 7, 7, 7, 7, 7, 7)},
		{"steps_that_fall", numbered("step %d loss 2.5", 9, 8, 7, 6, 5, 4, 3, 2, 1)},
		{"numbers_without_order", numbered("batch %d loss 2.5", 5, 9, 2, 7, 8, 1, 6, 3, 4, 9, 2, 8, 1, 5, 7)},
		{"evaluation_by_epoch", numbered("Epoch %d: val_loss 0.5 val_acc 0.7", upwards...)},
		{"evaluation_by_step", numbered("eval step %d loss 0.5", upwards...)},
		{"evaluation_of_epochs", numbered("epoch %d test loss: 0.5 accuracy: 0.9", upwards...)},
		{"evaluation_in_brackets", numbered("Test: [%3d/196]\tTime 0.331 ( 0.331)\tLoss 6.8200e+00 (6.8000e+00)\tAcc@1 0.39 (0.39)", upwards...)},
		{"evaluation_of_mmengine", numbered("2024/01/01 00:00:00 - mmengine - INFO - Epoch(val)  [2][%3d/625]  loss: 1.5  time: 0.1", upwards...)},
		{"evaluation_in_a_bar", numbered("\rEvaluating: %d%%|#  | 14/64 [00:00<00:01, 2.00it/s, loss=3]", upwards...)},
		{"download", numbered("\rDownloading shards: %d%%|##  | 3/12 [00:10<00:30, 3.4MB/s]", upwards...)},
		{"tokenization", numbered("\rTokenizing (num_proc=8): %d%%|##  | 3000/12000 [00:10<00:30, 300.4 examples/s]", upwards...)},
		{"loading", numbered("Loading checkpoint shards: %d of 12, lossless", upwards...)},
		{"best", numbered("epoch %d: saved the best model, best loss 1.5", upwards...)},
		{"best_of_evaluation", numbered("step %d: new best val loss 1.5", upwards...)},
		{"loss_scale", numbered("step %d: loss scale 65536, loss_scale_window=1000", upwards...)},
		{"overflow", numbered("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: %d, reducing to 32768", upwards...)},
		{"configuration", numbered("loss_weight: 0.5\nlog_every_steps: %d\nwarmup_steps=100 loss=l2", upwards...)},
		{"config_in_one_line", numbered("max_steps=%d warmup_steps=10 aux_loss_coef=0.01", upwards...)},
		{"packet_loss", numbered("%d packets transmitted, 5 received, 0%% packet loss, time 4005ms", upwards...)},
		{"sentence", numbered("step %d of the protocol: no loss of 5 packets", upwards...)},
		{"summary", numbered("wandb: train/loss 0.5\nwandb: train/global_step %d", 1000)},
		{"accuracy", numbered("Test set: Average loss: 0.0489, Accuracy: %d/10000 (98%%)", upwards...)},
		{"trials", numbered("Trial %d finished with value: 0.5 and parameters: {'lr': 0.1}", upwards...)},
		{"step_without_loss", numbered("step %d done in 0.3 s", upwards...)},
		{"skipped", numbered("number of skipped iterations: %d | loss: 5.0", upwards...)},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, s := range read(row.text).Samples {
				t.Errorf("says %s", told(s))
			}
		})
	}
}

// Where a format is known, its lines alone are the training's, unless there are none any more.
func TestGeneralBesideKnown(t *testing.T) {
	known := "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n"
	own := numbered("step %d loss 2.5", upwards...)
	if got := read(known + own).Samples; len(got) != 1 {
		t.Errorf("%d samples beside a known format", len(got))
	}
	var many []int
	for n := range 60 {
		many = append(many, n+1)
	}
	got := read(known + numbered("step %d loss 2.5", many...)).Samples
	if len(got) < 30 || got[len(got)-1].Step != 60 {
		t.Errorf("%d samples behind the last of a known format", len(got))
	}
}

// Of two kinds of lines with a loss, one is the training's until it comes no more.
func TestOneCourse(t *testing.T) {
	var text strings.Builder
	for n := range 40 {
		fmt.Fprintf(&text, "iter %d loss 2.5\nstep %d aux loss 0.1\n", n+100, n)
	}
	for _, s := range read(text.String()).Samples {
		if s.Loss.Float != 2.5 {
			t.Errorf("says %s", told(s))
		}
	}
	text.WriteString(numbered("phase two: update %d, train_loss=1.25", func() (all []int) {
		for n := range 60 {
			all = append(all, n)
		}
		return all
	}()...))
	got := read(text.String()).Samples
	if last := got[len(got)-1]; last.Step != 59 || last.Loss.Float != 1.25 {
		t.Errorf("the last is %s", told(last))
	}
}

func TestGeneralLines(t *testing.T) {
	for _, row := range []struct {
		name, format string // with the step
		want         trainlog.Sample
	}{
		{"words", "step %d loss 2.5", trainlog.Sample{Loss: some(2.5)}},
		{"colons", "Step: %d/1000, Loss: 2.5, LR: 3e-4", trainlog.Sample{Steps: 1000, Loss: some(2.5), LearningRate: some(3e-4)}},
		{"loss_first", "loss=2.5 at iteration %d (1,234 tok/s)", trainlog.Sample{Loss: some(2.5), TokensPerSecond: some(1234)}},
		{"json", `{"train": {"loss": 2.5, "lr": 0.1}, "global_step": %d, "tokens_per_second": 12}`, trainlog.Sample{Loss: some(2.5), LearningRate: some(0.1), TokensPerSecond: some(12)}},
		{"json_of_texts", `{"num_updates": "%d", "loss": "2.5"}`, trainlog.Sample{Loss: some(2.5)}},
		{"key_value", "ts=12:00:01 level=info step=%d train_loss=2.5 grad_norm=0.5 step_time=0.25", trainlog.Sample{Loss: some(2.5), GradNorm: some(0.5), StepSeconds: some(0.25)}},
		{"milliseconds", "[step %d] loss: 2.5 | step time: 250 ms | 40 samples/s", trainlog.Sample{Loss: some(2.5), StepSeconds: some(0.25), SamplesPerSecond: some(40)}},
		{"thousands", "iter 1,00%d | loss 2.5 | 1.2K tokens/s", trainlog.Sample{Loss: some(2.5), TokensPerSecond: some(1200)}},
		{"logger", "[2024-01-01 12:00:00,123][train.py:42][INFO] - step %d - loss 2.5", trainlog.Sample{Time: at("2024-01-01 12:00:00.123"), Loss: some(2.5)}},
		{"srun", "12: iter %d, loss 2.5", trainlog.Sample{Loss: some(2.5)}},
		{"infinite", "step %d loss inf", trainlog.Sample{Loss: some(inf)}},
		{"best_of_several", "step %d kl_loss 0.1 total_loss 2.5 aux_loss 0.2", trainlog.Sample{Loss: some(2.5)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var want []trainlog.Sample
			for _, n := range upwards[:6] {
				s := row.want
				s.Format, s.Step = trainlog.General, int64(n)
				if row.name == "thousands" {
					s.Step += 1000
				}
				want = append(want, s)
			}
			checkSamples(t, []sampleRow{{row.name, numbered(row.format, upwards[:6]...), want}})
		})
	}
}
