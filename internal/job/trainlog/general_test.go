package trainlog_test

import (
	"fmt"
	"slices"
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

// Lines of programs in whose logs they were seen; the loss falls from 2.5, and nothing else that is said of a step may be wrong.
func TestOtherPrograms(t *testing.T) {
	for _, row := range []struct {
		name, format string // with the step, and the loss
		want         string // what the third line says, but for step and loss
	}{
		{"ignite", "Epoch[1] Iteration[%d/938] Loss: %.3f", "Epoch=1 EpochSteps=938"},
		{"pyg", "Epoch: %03d, Loss: %.3f, Train: 0.5, Val: 0.3, Test: 0.2", "Epoch=3"},
		{"flax", "train epoch: %d, loss: %.4f, accuracy: 12.50", "Epoch=3"},
		{"mingpt", "iter_dt 30.25ms; iter %d: train loss %.5f", "StepSeconds=0.03025"},
		{"nanochat", "step %05d/21400 (0.05%%) | loss: %.6f | lrm: 1.00 | dt: 300.00ms | tok/sec: 1,234,567 | mfu: 45.00 | total time: 0.10m", "Steps=21400 TokensPerSecond=1.234567e+06 MFU=0.45 StepSeconds=0.3"},
		{"flair", "2024-01-01 00:00:00,123 epoch 1 - iter %d/100 - loss %.5f - time (sec): 1.25 - samples/sec: 123.40 - lr: 0.100000", "at 2024-01-01T00:00:00.123 Epoch=1 EpochSteps=100 LearningRate=0.1 SamplesPerSecond=123.4"},
		{"paddle", "[2024/01/01 00:00:00] ppcls INFO: [Train][Epoch 1/120][Iter: %d/5004]lr(LinearWarmup): 0.00010, CELoss: %.5f, batch_cost: 0.3s, ips: 123.4 samples/s, eta: 1 day, 2:03:04", "at 2024-01-01T00:00:00 Steps=600480 Epoch=1 LearningRate=0.0001 SamplesPerSecond=123.4"},
		{"mindspore", "epoch: 1 step: %d, loss is %.4f", "Epoch=1"},
		{"opennmt", "[2024-01-01 00:00:00,123 INFO] Step %d/100000; acc: 10.1; ppl: 1234.5; xent: %.1f; lr: 1.00000; sents: 1024; bsz: 100/ 100/ 4; 12345/12345 tok/s; 10 sec;", "at 2024-01-01T00:00:00.123 Steps=100000 LearningRate=1 TokensPerSecond=12345"},
		{"fairseq2", "[2024-01-01 00:00:00,123] [rank 0] INFO fairseq2 - Train Metrics (step %d) - NLL Loss: %.3f | Elapsed Time: 12s | Gradient Norm: 1.5 | Learning Rate: 1e-05", "at 2024-01-01T00:00:00.123 LearningRate=1e-05 GradNorm=1.5"},
		{"mmcv", "2024-01-01 00:00:00,123 - mmdet - INFO - Epoch [1][%d/7330]\tlr: 1.978e-03, eta: 1:02:03, time: 0.500, data_time: 0.050, memory: 3000, loss_cls: 0.5, loss: %.4f", "at 2024-01-01T00:00:00.123 Epoch=1 EpochSteps=7330 LearningRate=0.001978 StepSeconds=0.5"},
		{"lightgbm", "[%d]\ttraining's binary_logloss: %.3f\tvalid_1's binary_logloss: 0.6", ""},
		{"t5x", "I0101 00:00:00.123456 140 logging_writer.py:64] [%d] collection=train accuracy=0.1, learning_rate=0.01, loss=%.3f, loss_per_all_target_tokens=2.1, timing/steps_per_second=2.0, z_loss=0.1", "LearningRate=0.01 StepSeconds=0.5"},
		{"dinov2", "I20240101 00:00:00 140 dinov2 helpers.py:103] Training  [%d/125000]  eta: 1 day, 2:03:04  lr: 0.0000 (0.0000)  total_loss: %.4f (11.5)  dino_local_crops_loss: 9.1 (9.2)  time: 0.500000  data: 0.001000  max mem: 12345", "Steps=125000 LearningRate=0 StepSeconds=0.5"},
		{"wenet", "2024-01-01 00:00:00,123 DEBUG TRAIN | steps/sec 2.0| Batch %d/800 loss %.4f loss_ctc 3.5 lr 0.0001 grad_norm 12.5 rank 0", "at 2024-01-01T00:00:00.123 Steps=800 LearningRate=0.0001 GradNorm=12.5 StepSeconds=0.5"},
		{"gpt2", "[%d | 24.18] loss=%.2f avg=3.20", ""},
		{"internevo", "2024-01-01 00:00:00,123\tINFO train.py:300 -- tflops=150.5 step=%d loss=%.3f tgs (tokens/gpu/second)=4000.5 lr=1e-05 loss_scale=65536.0 grad_norm=1.5", "at 2024-01-01T00:00:00.123 LearningRate=1e-05 GradNorm=1.5 TokensPerSecondPerGPU=4000.5 TFLOPsPerGPU=150.5"},
		{"model_garden", "train | step: %6d | steps/sec:    2.0 | output: \n    {'training_loss': %.4f,\n     'learning_rate': 0.001}", ""},
		{"coqui", "   \x1b[1m--> TIME: 2024-01-01 00:00:00 -- STEP: 24/100 -- GLOBAL_STEP: %d\x1b[0m\n     | > loss: %.5f  (2.6)", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var text strings.Builder
			for n := range 6 {
				fmt.Fprintf(&text, row.format+"\n", n+1, 2.5-float64(n)/10)
			}
			third := ""
			for _, s := range read(text.String()).Samples {
				if s.Step == 3 && s.Loss.Known && !s.Eval {
					third = told(s)
				}
			}
			_, got, _ := strings.Cut(third, ": ")
			if a, b := sorted(got), sorted("Format=general Step=3 Loss=2.3 "+row.want); a != b {
				t.Errorf("says %s, want %s", a, b)
			}
		})
	}
}

// sorted are a text's words in their order.
func sorted(text string) string { return strings.Join(slices.Sorted(strings.FieldsSeq(text)), " ") }

// Where steps stand, and what they count, is told from the lines.
func TestStepsOfLines(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"ranks_one_behind", "0: step 1 loss 3\n1: step 1 loss 3\n0: step 2 loss 2\n1: step 1 loss 3\n1: step 2 loss 2\n0: step 3 loss 1\n", "1 1 2 1 2 3"},
		{"count_that_goes_on", "epoch 1 step 10/60 loss 3\nepoch 1 step 20/60 loss 3\nepoch 1 step 30/60 loss 3\nepoch 2 step 40/60 loss 2\nepoch 2 step 50/60 loss 2\n", "10 20 30 40/60 50/60"},
		{"count_that_begins_anew", "epoch 1 step 10/30 loss 3\nepoch 1 step 20/30 loss 3\nepoch 1 step 30/30 loss 3\nepoch 2 step 10/30 loss 2\n", "10 20 30 40"},
		{"count_without_epochs", "batch 10/30 loss 3\nbatch 20/30 loss 3\nbatch 30/30 loss 3\nbatch 10/30 loss 2\n", "10/30 20/30 30/30 40"},
		{"begun_again", "step 10/90 loss 3\nstep 20/90 loss 3\nstep 30/90 loss 3\nstep 20/90 loss 3\n", "10/90 20/90 30/90 20/90"},
		{"epoch_from_zero", "Epoch 0/2 12/100 loss 3\nEpoch 0/2 24/100 loss 3\nEpoch 1/2 12/100 loss 3\n", "12/300 24/300 112/300"},
		{"accuracy_is_no_loss", "Epoch: 1, Loss: 3, Val: 0.3\nEpoch: 2, Loss: 2, Val: 0.4\nEpoch: 3, Loss: 2, Val: 0.4\n", "1 2 3"},
		{"label_behind_its_bar", "\r1|1|Loss: 6.0:   0%|  | 1/90 [00:01<01:30,  1.00it/s]\r1|1|Loss: 6.0:   0%|  | 2/90 [00:01<01:30,  1.00it/s]\r1|2|Loss: 4.0:   0%|  | 2/90 [00:01<01:30,  1.00it/s]\r", "1/90 2/90"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, s := range read(row.text).Samples {
				text := fmt.Sprint(s.Step)
				if s.Steps > 0 {
					text += fmt.Sprintf("/%d", s.Steps)
				}
				if s.Eval {
					text += " evaluated"
				}
				if s.Format == trainlog.Tqdm && s.Loss != some(8-2*float64(s.Step)) {
					t.Errorf("a loss of another step: %s", told(s))
				}
				got = append(got, text)
			}
			if all := strings.Join(got, " "); all != row.want {
				t.Errorf("steps %s, want %s", all, row.want)
			}
		})
	}
}
