package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// JobReport is what the keeper of jobs knows of one that wishes to be kept.
type JobReport struct {
	ID    int    `json:"id"`
	Label string `json:"label"`
	Name  string `json:"name"`
	User  string `json:"user"`
	UID   int    `json:"uid"`
	// Adopted says that it is kept by `muster job adopt`, not by its script.
	Adopted bool `json:"adopted,omitempty"`
	// State is Slurm's word. Phase is what the training is at: waiting, starting, training,
	// silent, returning, ended.
	State string `json:"state"`
	Phase string `json:"phase"`
	// Restarts counts the runs that were followed by another.
	Restarts int `json:"restarts"`
	// Counted are those since somebody else started it last that count against Allowed, as those do not that made room
	// for others.
	Counted int       `json:"restarts_counted"`
	Allowed int       `json:"restarts_allowed"`
	Start   time.Time `json:"start,omitzero"` // of the run
	// Samples are lines of progress of all runs, thinned, the last one last.
	Samples []JobSample `json:"samples,omitempty"`
	Rhythm  JobRhythm   `json:"rhythm"`
	// Curves is the directory with the samples as TensorBoard shows them.
	Curves string `json:"curves,omitempty"`
	// Checkpoint is the newest whole one, Torn are newer ones that are not.
	Checkpoint *JobCheckpoint  `json:"checkpoint,omitempty"`
	Torn       []JobCheckpoint `json:"torn,omitempty"`
	// Saved are the checkpoints that became whole since SavedSince, the last one last.
	Saved      []JobSaved `json:"saved,omitempty"`
	SavedSince time.Time  `json:"saved_since,omitzero"`
	// Rounds are the runs that have ended, the last one last.
	Rounds []JobRound `json:"rounds,omitempty"`
	// Hang is why the job is thought to hang.
	Hang *JobHang `json:"hang,omitempty"`
	// Slow is why the job is told of that is silent for long and is not seen to hang.
	Slow *JobHang `json:"slow,omitempty"`
	// ExpectedEnd is when the last step is over at the present speed, where it is known which is the last.
	ExpectedEnd time.Time `json:"expected_end,omitzero"`
	// Blind says what could not be read, or written.
	Blind []string `json:"blind,omitempty"`
}

// JobSample is a line of progress. What it did not say is absent.
type JobSample struct {
	At               time.Time `json:"at"`
	Step             int64     `json:"step"`
	Steps            int64     `json:"steps,omitempty"` // the last one
	Loss             *float64  `json:"loss,omitempty"`
	LossNotFinite    string    `json:"loss_not_finite,omitempty"` // NaN, +Inf or -Inf, which JSON has no numbers for
	LearningRate     *float64  `json:"learning_rate,omitempty"`
	SamplesPerSecond *float64  `json:"samples_per_second,omitempty"`
	TokensPerSecond  *float64  `json:"tokens_per_second,omitempty"`
	// TokensPerSecondPerGPU and TFLOPs are those of one GPU.
	TokensPerSecondPerGPU *float64 `json:"tokens_per_second_per_gpu,omitempty"`
	TFLOPs                *float64 `json:"tflops,omitempty"`
	StepSeconds           *float64 `json:"step_seconds,omitempty"`
	GradNorm              *float64 `json:"grad_norm,omitempty"`
	Eval                  bool     `json:"eval,omitempty"`
	Epoch                 *float64 `json:"epoch,omitempty"`
	// EpochSteps is how many steps an epoch has, where the line says this and not how many there will be.
	EpochSteps int64 `json:"epoch_steps,omitempty"`
}

// JobRhythm is the time between two lines of progress, in seconds.
type JobRhythm struct {
	MedianSeconds  float64 `json:"median_seconds,omitempty"`
	HighSeconds    float64 `json:"high_seconds,omitempty"` // of a hundred, five take longer
	LongestSeconds float64 `json:"longest_seconds,omitempty"`
	// StartUpSeconds is from a run's start to its first line.
	StartUpSeconds float64 `json:"start_up_seconds,omitempty"`
	// LimitSeconds is after which silence the job is thought to hang; 0 is never.
	LimitSeconds float64 `json:"limit_seconds,omitempty"`
}

// JobCheckpoint is one that the job has written.
type JobCheckpoint struct {
	Dir       string    `json:"dir"`
	Step      int64     `json:"step"` // -1 is not known
	Layout    string    `json:"layout,omitempty"`
	SizeBytes int64     `json:"size_bytes,omitempty"`
	At        time.Time `json:"at"`
	// Torn says what is missing.
	Torn string `json:"torn,omitempty"`
}

// JobSaved is when a checkpoint was written that was found whole.
type JobSaved struct {
	Step int64     `json:"step"` // -1 is not known
	At   time.Time `json:"at"`
}

// JobRound is a run that has ended, and what followed.
type JobRound struct {
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	State string    `json:"state"`
	Nodes string    `json:"nodes,omitempty"` // a host list
	// Class is why it ended, Why says it in words that go on from "the job", Blame is whose matter
	// it is, AtFault a host list, Findings are what says so.
	Class    string   `json:"class,omitempty"`
	Why      string   `json:"why,omitempty"`
	Blame    string   `json:"blame,omitempty"`
	AtFault  string   `json:"at_fault,omitempty"`
	Findings []string `json:"findings,omitempty"`
	// Guess says that the class is likely and not certain, Hint what to do about it.
	Guess bool   `json:"guess,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// WaitSeconds is how long the job waits before it starts again, for a service outside the cluster.
	WaitSeconds int `json:"wait_seconds,omitempty"`
	// Action is what followed: elsewhere, here, stop, or none where there was nothing to do. Because
	// says why that, By who had it queued again: muster or slurm.
	Action  string `json:"action,omitempty"`
	Because string `json:"because,omitempty"`
	By      string `json:"by,omitempty"`
	// Checkpoint is the step of the newest whole checkpoint when it ended, -1 if there was none.
	Checkpoint int64 `json:"checkpoint"`
	// Step is the last one that was seen.
	Step int64 `json:"step,omitempty"`
	// Aside are torn checkpoints that were moved out of the way before the job went on.
	Aside []JobAside `json:"aside,omitempty"`
}

// JobAside is a torn checkpoint with its new path.
type JobAside struct {
	Path string `json:"path"`
	Now  string `json:"now"`
	Why  string `json:"why"`
}

// JobHang is a suspicion.
type JobHang struct {
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
	// Ranks are the processes that stand still, in words, Capture the file with their stacks.
	Ranks   []string `json:"ranks,omitempty"`
	Capture string   `json:"capture,omitempty"`
}

// AdoptRequest has a job kept that does not ask for it itself. Options are those of #MUSTER
// lines, such as --restarts=3.
type AdoptRequest struct {
	Options []string `json:"options,omitempty"`
}

// ErrNotTheirs says that a job is not the caller's.
var ErrNotTheirs = errors.New("the job is not yours")

// Jobs are the kept jobs that the caller may see, by their IDs. A controller that keeps none has none.
func (c Client) Jobs(ctx context.Context) (all []JobReport, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/jobs", nil, &all)
	return all, unlessServed(err)
}

// Job is what is known of a kept job, nil if it is not kept or not the caller's.
func (c Client) Job(ctx context.Context, id int) (*JobReport, error) {
	var r *JobReport
	err := c.call(ctx, http.MethodGet, "/v1/jobs/"+strconv.Itoa(id), nil, &r)
	if err != nil {
		return nil, unlessServed(err)
	}
	return r, nil
}

// unlessServed drops the error of a controller that keeps no jobs: it refuses what it does not
// know to most users.
func unlessServed(err error) error {
	if no, ok := errors.AsType[*refusal](err); ok && no.code == http.StatusForbidden {
		return nil
	}
	return unlessNone(err)
}

// Adopt has a job kept.
func (c Client) Adopt(ctx context.Context, id int, r AdoptRequest) error {
	return c.post(ctx, "/v1/jobs/"+strconv.Itoa(id)+"/adopt", r, nil)
}
