// Package top is what `muster top` shows: the look at a cluster that it is given, and the
// frame of text that it becomes on a screen of some size. It looks at nothing itself, and
// knows no terminal: keys come in by their names, time as a value.
package top

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/status"
)

// Look is what was seen at one time.
type Look struct {
	At      time.Time      `json:"at"`
	Cluster status.Cluster `json:"cluster"`
	// Jobs are those that have not ended, in the order of their IDs.
	Jobs []Job `json:"jobs"`
	// Cost is what the nodes cost, nil where nobody pays for them.
	Cost *Cost `json:"cost,omitempty"`
	// Blind says what of the jobs could not be read.
	Blind []string `json:"blind,omitempty"`
}

// Cost is what nodes cost an hour, on demand, in a region.
type Cost struct {
	USDPerHour float64 `json:"nodes_usd_per_hour"`
	// Source is where the prices are from, such as us-east-1. Unpriced is how many nodes that run have no known price.
	Source   string `json:"source"`
	Unpriced int    `json:"unpriced,omitempty"`
}

// Job is a job that waits or runs.
type Job struct {
	job.Row
	// LeftSeconds is until the job's time limit; 0 is unknown, or there is none.
	LeftSeconds int `json:"left_seconds,omitempty"`
	// GivesWay says that it makes room for another job, and until when.
	GivesWay string `json:"gives_way,omitempty"`
	// Kept is what the keeper of jobs knows, if the job is kept and the caller's.
	Kept *client.JobReport `json:"kept,omitempty"`
	// Samples are lines of progress of a job that is not kept, as far as its output was read.
	Samples []client.JobSample `json:"samples,omitempty"`
	// Stdout is where its output is, Log the last lines of that, if they were asked for.
	Stdout string   `json:"stdout,omitempty"`
	Log    []string `json:"log,omitempty"`

	// trained are the lines of training, not those of evaluations; newest is what the last of
	// them say. They are found once for each look.
	trained []client.JobSample
	newest  client.JobSample
}

// waits tells whether the job is in the queue.
func (j Job) waits() bool { return j.State == "PENDING" || j.Start.IsZero() }

// samples are the lines of progress that there are.
func (j Job) samples() []client.JobSample {
	if j.Kept != nil && len(j.Kept.Samples) > 0 {
		return j.Kept.Samples
	}
	return j.Samples
}

// read finds what its lines of progress say.
func (j Job) read() Job {
	j.trained = slices.DeleteFunc(slices.Clone(j.samples()), func(s client.JobSample) bool { return s.Eval })
	j.newest = newestOf(j.trained)
	return j
}

// newestOf is what the last lines say: of each value the last one among a few lines. It has no
// step where there is no line.
func newestOf(all []client.JobSample) client.JobSample {
	if len(all) == 0 {
		return client.JobSample{Step: -1}
	}
	s := all[len(all)-1]
	for _, before := range slices.Backward(all[max(0, len(all)-recent) : len(all)-1]) {
		for _, v := range []struct{ to, from **float64 }{
			{&s.Loss, &before.Loss}, {&s.SamplesPerSecond, &before.SamplesPerSecond}, {&s.TokensPerSecond, &before.TokensPerSecond},
			{&s.TokensPerSecondPerGPU, &before.TokensPerSecondPerGPU}, {&s.TFLOPs, &before.TFLOPs}, {&s.StepSeconds, &before.StepSeconds},
		} {
			if *v.to == nil {
				*v.to = *v.from
			}
		}
		s.Steps = max(s.Steps, before.Steps)
	}
	return s
}

// recent is how many lines are looked at for a value that the last one does not say: some
// programs write the parts of one step in several lines.
const recent = 4

// values are one value of all lines that have it.
func values(all []client.JobSample, of func(client.JobSample) *float64) []float64 {
	var some []float64
	for _, s := range all {
		if v := of(s); v != nil {
			some = append(some, *v)
		}
	}
	return some
}

func lossOf(s client.JobSample) *float64   { return s.Loss }
func rateOf(s client.JobSample) *float64   { return s.SamplesPerSecond }
func tokensOf(s client.JobSample) *float64 { return s.TokensPerSecond }
func shareOf(s client.JobSample) *float64  { return s.TokensPerSecondPerGPU }
