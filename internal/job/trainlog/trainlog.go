// Package trainlog reads what training programs write: how far they have come (samples), and what went wrong (signs).
//
// Its law: what a log says does not depend on the pieces in which it is read, and no log, however long its lines or
// whatever its bytes are, makes a reader keep more than a few hundred KiB.
package trainlog

import "time"

// Format is who wrote a line of progress.
type Format string

// The formats that a reader knows. Lines of all of them may stand in one log.
const (
	FSDP        Format = "fsdp"        // Batch 10 Loss: 7.10000, Speed: 1.20 samples/sec, lr: 0.000030 (AWS's FSDP example and its guides)
	Torchtitan  Format = "torchtitan"  // step: 10  loss: 10.7069  grad_norm: 1.73  memory: 30.99GiB(32.62%)  tps: 7,034  tflops: 407.35  mfu: 41.19%
	DeepSpeed   Format = "deepspeed"   // step=10, skipped=0, lr=[0.001], mom=[0.9]; global_step=10, RunningAvgSamplesPerSec=6.6, CurrSamplesPerSec=6.4
	HuggingFace Format = "huggingface" // {'loss': 1.26, 'grad_norm': 0.86, 'learning_rate': 8.7e-06, 'epoch': 0.07}, and the bars between these
	Lightning   Format = "lightning"   // Epoch 0:  6%|▍ | 86/1563 [00:06<01:44, 14.19it/s, v_num=0, train_loss=1.800] (PyTorch Lightning, NeMo 1)
	Tqdm        Format = "tqdm"        // 10%|█ | 4/40 [00:00<00:01, 32.64it/s, loss=0.5] (a bar of the training's own)
	NeMo        Format = "nemo"        // Training epoch 0, iteration 17/99 | lr: 2.699e-06 | global_step: 17 | reduced_train_loss: 11.03 (NeMo 2)
	Megatron    Format = "megatron"    // iteration 25/ 5000 | elapsed time per iteration (ms): 87.0 | lm loss: 1.08E+01 | (Megatron-LM and its forks)
	General     Format = "general"     // step 1/1000 | loss 6.0000 | lr 3.00e-04 | 12345 tok/s (many programs: a step, a loss, and what else they say)
	User        Format = "user"        // what a Pattern matches
)

// Value is a number that a line may say or not; the zero value is one that it does not say. It may be NaN or infinite,
// which is worth seeing.
type Value struct {
	Float float64
	Known bool
}

// Some is a known value.
func Some(f float64) Value { return Value{f, true} }

const (
	// NoStep is the step of a sample that does not say one.
	NoStep = -1
	// NoRank is the rank of a line that nobody's rank is known of.
	NoRank = -1
)

// Place is where in a log something stands.
type Place struct {
	// Line counts from 1.
	Line int64
	// Offset is where the line begins, or the part of it behind a carriage return, in bytes.
	Offset int64
}

// Sample is what one line says of a training's progress. Some programs say it in several lines of the same step.
type Sample struct {
	Place  Place
	Format Format
	// Time is what the line itself says, as if its clock were UTC's; most lines do. It is zero if it does not.
	Time time.Time

	// Step is what the program counts: steps of the optimizer, or batches where it counts these. It falls when a
	// run goes on from an older checkpoint, and in FSDP's and Lightning's lines of old versions with each epoch.
	Step int64
	// Steps is how many there will be; 0 is unknown.
	Steps int64
	// Batch is what FSDP's line calls so; in one that counts steps, too, it begins anew with each epoch.
	Batch int64
	Epoch Value
	// EpochSteps is how many steps an epoch has, of a line that says this and not how many there will be in all.
	EpochSteps int64
	// Eval says that Loss is that of an evaluation.
	Eval bool

	Loss, LearningRate, GradNorm Value
	// SamplesPerSecond and TokensPerSecond are those of the whole job.
	SamplesPerSecond, TokensPerSecond Value
	// These are for each GPU.
	TokensPerSecondPerGPU, TFLOPsPerGPU Value
	// MFU is the model's utilization of the GPU's operations, 0 to 1.
	MFU         Value
	StepSeconds Value
}

// Found is what there is in a piece of a log, in the order in which it was known: what waited for a later line comes behind it.
type Found struct {
	Samples []Sample
	Signs   []Sign
}
