package keeper

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/cause"
)

// roundsKept is how many rounds of a job are known one by one.
const roundsKept = 100

// forgotten is what is left of rounds that are no longer kept: what decides about the next ones.
type forgotten struct {
	Runs int `json:"runs"`
	// Goes is how many were followed by another run, Restarts how many of these count as restarts.
	Goes     int `json:"goes,omitempty"`
	Restarts int `json:"restarts,omitempty"`
	// Checkpoint and Step are the highest ones.
	Checkpoint int64 `json:"checkpoint"`
	Step       int64 `json:"step,omitempty"`
}

// over adds a round. Of very many, the oldest are forgotten, but for what they count.
func (r *record) over(round client.JobRound) {
	r.Rounds = append(r.Rounds, round)
	for len(r.Rounds) > roundsKept {
		r.Forgotten.add(r.Rounds[0])
		r.Rounds = slices.Delete(r.Rounds, 0, 1)
	}
}

func (f *forgotten) add(round client.JobRound) {
	if f.Runs == 0 {
		f.Checkpoint = round.Checkpoint
	}
	f.Runs++
	f.Checkpoint, f.Step = max(f.Checkpoint, round.Checkpoint), max(f.Step, round.Step)
	switch {
	case !goesOn(round):
		f.Restarts = 0 // somebody else started it after that
	case !cause.Class(round.Class).Forced():
		f.Restarts++
	}
	if goesOn(round) {
		f.Goes++
	}
}

// goesOn says that another run follows.
func goesOn(round client.JobRound) bool {
	return round.Action == actionElsewhere || round.Action == actionHere
}

// fewerNodesSince is when the last run began that had fewer nodes than the one before it, as a job with a range of nodes may; it has not been
// added yet. Zero is never.
func (r *record) fewerNodesSince() time.Time {
	var at time.Time
	before := 0
	for _, round := range append(slices.Clone(r.Rounds), r.Act.Round) {
		nodes := len(expand(round.Nodes))
		if 0 < nodes && nodes < before {
			at = round.Start
		}
		before = nodes
	}
	return at
}

// counted is how many restarts count against those that the job may have, since somebody else started it last.
func (r *record) counted() int {
	n := r.Forgotten.Restarts
	for _, round := range r.Rounds {
		switch {
		case !goesOn(round):
			n = 0
		case !cause.Class(round.Class).Forced():
			n++
		}
	}
	return n
}
