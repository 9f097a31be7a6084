package cli

import (
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// submitAnswer is what `muster job submit -o json` prints.
type submitAnswer struct {
	ID int `json:"id"`
	// Script is where the batch script is that a job file became.
	Script string `json:"script,omitempty"`
}

// submittedJobs is what `muster job submit --all -o json` prints.
type submittedJobs struct {
	Jobs []submittedJob `json:"jobs"`
}

// submittedJob is a job that was submitted; of a job file, with what it is and where its
// batch script is. Error says why it was not.
type submittedJob struct {
	ID     int    `json:"id,omitempty"`
	Job    string `json:"job,omitempty"`
	Model  string `json:"model,omitempty"`
	Script string `json:"script,omitempty"`
	Error  string `json:"error,omitempty"`
}

// initAnswer is what `muster job init -o json` prints.
type initAnswer struct {
	File string `json:"file"`
}

// scriptsAnswer is what `muster job script -o json` prints.
type scriptsAnswer struct {
	Jobs []scriptedJob `json:"jobs"`
}

// scriptedJob is the batch script of a job. File is where it was written to, if it was.
type scriptedJob struct {
	Job    string `json:"job"`
	Model  string `json:"model,omitempty"`
	Script string `json:"script"`
	File   string `json:"file,omitempty"`
	// Problems are those that a check finds.
	Problems []diag.Diagnostic `json:"problems"`
}

// jobsAnswer is what `muster job list -o json` prints.
type jobsAnswer struct {
	Jobs []job.Row `json:"jobs"`
	// More says that there are older ones, which --last left out.
	More bool `json:"more,omitempty"`
	// Blind says what could not be read.
	Blind []string `json:"blind,omitempty"`
}

// cancelAnswer is what `muster job cancel -o json` prints.
type cancelAnswer struct {
	Jobs []cancelledJob `json:"jobs"`
}

// cancelledJob is a job that was to be cancelled. Error says why it was not.
type cancelledJob struct {
	ID        string `json:"id"`
	Cancelled bool   `json:"cancelled"`
	// State is Slurm's word for a job that had ended before.
	State string `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// jobAnswer is what `muster job show -o json` and `muster run -o json` print.
type jobAnswer struct {
	ID    int    `json:"id"`
	Label string `json:"label"`
	Name  string `json:"name"`
	User  string `json:"user"`
	// State is Slurm's word. Text says it in words that go on from "the job".
	State string `json:"state"`
	Text  string `json:"text"`
	// Ended and Completed are of all tasks, if the user asked for an array.
	Ended     bool `json:"ended"`
	Completed bool `json:"completed"`
	// ExitCode and Signal are how the job's script ended.
	ExitCode  int    `json:"exit_code"`
	Signal    int    `json:"signal,omitempty"`
	Partition string `json:"partition"`
	Account   string `json:"account,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// Priority is Slurm's, of a job that waits.
	Priority int `json:"priority,omitempty"`
	NumNodes int `json:"num_nodes"`
	// Nodes are the nodes of the last run, by name.
	Nodes            []string  `json:"nodes"`
	CPUs             int       `json:"cpus,omitempty"`
	GPUs             int       `json:"gpus"`
	TimeLimitSeconds int       `json:"time_limit_seconds,omitempty"`
	Submit           time.Time `json:"submit,omitzero"`
	Start            time.Time `json:"start,omitzero"`
	End              time.Time `json:"end,omitzero"`
	ElapsedSeconds   int       `json:"elapsed_seconds"`
	Script           string    `json:"script,omitempty"`
	WorkDir          string    `json:"work_dir,omitempty"`
	Stdout           string    `json:"stdout,omitempty"`
	Stderr           string    `json:"stderr,omitempty"`
	// Progress is the last line of progress in the job's output.
	Progress *progressShape `json:"progress,omitempty"`
	// Unread is there where the job has written for a while, and no line of progress that is known.
	Unread *job.Unread `json:"unread,omitempty"`
	// Kept is what the keeper of jobs knows of it, absent for jobs that are not kept.
	Kept *client.JobReport `json:"kept,omitempty"`
	// cause says why it failed, where more is known than its state says.
	cause string
	// hint says what to do about that.
	hint string
	// Attempts are the job's runs, the last one last.
	Attempts []attempt `json:"attempts"`
	// Tasks are those of the array, if the ID is an array's. The rest is about one of them.
	Tasks []job.Row `json:"tasks,omitempty"`
	// Blind says what could not be read.
	Blind []string `json:"blind,omitempty"`
}

// attempt is one run of a job.
type attempt struct {
	Attempt        int       `json:"attempt"`
	State          string    `json:"state"`
	Text           string    `json:"text"`
	ExitCode       int       `json:"exit_code"`
	Signal         int       `json:"signal,omitempty"`
	Nodes          []string  `json:"nodes"`
	Start          time.Time `json:"start,omitzero"`
	End            time.Time `json:"end,omitzero"`
	ElapsedSeconds int       `json:"elapsed_seconds"`
	nodeList       string
}

// progressShape is how far a training has come. A value that is no finite
// number is absent.
type progressShape struct {
	Batch            int      `json:"batch"`
	Loss             *float64 `json:"loss,omitempty"`
	LossNotFinite    string   `json:"loss_not_finite,omitempty"` // NaN, +Inf or -Inf, which JSON has no numbers for
	SamplesPerSecond *float64 `json:"samples_per_second,omitempty"`
	LearningRate     *float64 `json:"learning_rate,omitempty"`
	// What follows is absent where no line says it. Step counts the optimizer's steps, or what the program counts; Batch is the same
	// where the line has no batch of its own.
	Step                  *int64   `json:"step,omitempty"`
	Steps                 int64    `json:"steps,omitempty"`
	TokensPerSecond       *float64 `json:"tokens_per_second,omitempty"`
	TokensPerSecondPerGPU *float64 `json:"tokens_per_second_per_gpu,omitempty"`
	TFLOPs                *float64 `json:"tflops,omitempty"`
	StepSeconds           *float64 `json:"step_seconds,omitempty"`
	GradNorm              *float64 `json:"grad_norm,omitempty"`
	Epoch                 *float64 `json:"epoch,omitempty"`
	// EpochSteps is how many steps an epoch has, where it is not known how many there will be in all.
	EpochSteps int64 `json:"epoch_steps,omitempty"`
	text       string
}

// progressOf is what a line of progress says, in the words of its program where these are its own.
func progressOf(s trainlog.Sample) *progressShape {
	v := client.SampleOf(s, s.Time)
	p := &progressShape{
		Batch: int(max(0, s.Step)), Loss: v.Loss, LossNotFinite: v.LossNotFinite, SamplesPerSecond: v.SamplesPerSecond, LearningRate: v.LearningRate, Steps: s.Steps,
		TokensPerSecond: v.TokensPerSecond, TokensPerSecondPerGPU: v.TokensPerSecondPerGPU, TFLOPs: v.TFLOPs, StepSeconds: v.StepSeconds,
		GradNorm: v.GradNorm, Epoch: v.Epoch, EpochSteps: v.EpochSteps, text: sampleText(v),
	}
	if s.Step >= 0 {
		p.Step = &s.Step
	}
	if s.Format == trainlog.FSDP {
		p.Batch = int(s.Batch)
		p.text = fmt.Sprintf("batch %d, loss %g, %g samples/s, learning rate %g", s.Batch, s.Loss.Float, s.SamplesPerSecond.Float, s.LearningRate.Float)
	}
	return p
}
