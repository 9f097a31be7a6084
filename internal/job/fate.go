package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

const (
	// fateWait is how long one may not know whether a job that has ended is started again: the keeper
	// may be about to find the job, and is away while the controller starts anew.
	fateWait = 30 * time.Second
	// fateAnswer is how long one answer may take.
	fateAnswer = 5 * time.Second
)

// Fate is what follows the end of a job's run.
type Fate struct {
	// Open says that this is not decided yet, Again that the job is started again. Else the job is over.
	Open, Again bool
	// Text is what there is to say. It goes on from "the job".
	Text string
}

// open is a run that has ended, of which it is not known what follows.
type open struct {
	job slurm.Job
	// silent is since when nobody could say, zero if somebody can.
	silent time.Time
	// again says that another run follows.
	again bool
}

var errUndecided = errors.New("it is not decided")

// final says that Slurm's word for the end of a run leaves nothing to decide.
func final(j slurm.Job) bool { return j.State == "COMPLETED" || j.State == "CANCELLED" }

// missedEnd says that the end of the run of which the user heard last was not seen: it was over between two looks.
func (s *following) missedEnd() bool {
	return s.Fate != nil && ran(s.said.Job) && !s.said.Job.Ended() && s.view.Job.Restarts > s.said.Job.Restarts
}

// decide finds out what follows the end of a run, if one has ended. known says that what happens
// to the job may be told: until then it may not be clear why.
func (s *following) decide(ctx context.Context, at time.Time) (known bool) {
	j := s.view.Job
	switch ended := j.Ended(); {
	case ended && (s.Fate == nil || final(j)):
		s.open, s.over = nil, true
		return true
	case ended && (s.open == nil || s.open.job.Restarts != j.Restarts || !s.open.job.StartTime.Equal(j.StartTime)):
		s.open = &open{job: j}
	case s.open == nil && s.missedEnd():
		s.open = &open{job: s.said.Job}
	case s.open == nil:
		return true
	case s.open.again && !ended:
		s.open = nil
		return true
	}
	fate, err := Fate{}, error(nil)
	if !s.open.again {
		asked, cancel := context.WithTimeout(ctx, fateAnswer)
		defer cancel()
		fate, err = s.Fate(asked, s.open.job)
	}
	if ctx.Err() != nil {
		return false
	}
	return s.conclude(fate, err, at)
}

// conclude does what follows from an answer.
func (s *following) conclude(fate Fate, err error, at time.Time) (known bool) {
	ended := s.view.Job.Ended()
	if fate.Open && !ended {
		err = errUndecided // it goes on meanwhile, which is not to be told too late
	}
	switch {
	case err == nil && fate.Open:
		s.open.silent = time.Time{}
		return false
	case err != nil && s.open.silent.IsZero():
		s.open.silent = at
		return false
	case err != nil && at.Sub(s.open.silent) < fateWait:
		return false
	case err != nil && ended:
		s.Say(fmt.Sprintf("may be started again, which is not known: %v", err))
	case err == nil && fate.Text != "":
		s.Say(fate.Text)
	}
	s.open.again = s.open.again || fate.Again
	if s.over = ended && !s.open.again; !ended {
		s.open = nil
	}
	return true
}
