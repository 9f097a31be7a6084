package slurm

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
)

// NextJobID is the ID that the next job gets.
func (c Client) NextJobID(ctx context.Context) (int, error) {
	conf, err := c.Conf(ctx)
	if err != nil {
		return 0, err
	}
	id, err := strconv.Atoi(conf["NEXT_JOB_ID"])
	if err != nil {
		return 0, errors.New("scontrol does not say which ID the next job gets")
	}
	return id, nil
}

// The head of slurmctld's file job_state: a text with its length, the protocol's
// version of 16 bits, the time of 64 and the ID of the next job of 32, in network order
// (src/slurmctld/job_mgr.c, dump_all_job_state; the same from 22.05 to 25.11).
const (
	stateText   = "PROTOCOL_VERSION\x00"
	stateNextID = 4 + len(stateText) + 2 + 8
	stateHead   = stateNextID + 4
)

// SavedJobID finds the ID that the next job gets in the head of job_state, which may be
// some seconds old.
func SavedJobID(state []byte) (int, error) {
	if len(state) < stateHead || binary.BigEndian.Uint32(state) != uint32(len(stateText)) || string(state[4:4+len(stateText)]) != stateText {
		return 0, errors.New("job_state does not begin as Slurm's does")
	}
	return int(binary.BigEndian.Uint32(state[stateNextID:])), nil
}

// LastJobID is below Slurm's largest ID of a job (MaxJobId of slurm.conf) by far more
// jobs than a rehearsal has.
const LastJobID = 60_000_000

// unsavedJobs is as many IDs as slurmctld can give away between two writes of job_state,
// which are five seconds apart: it knows as many jobs at a time (MaxJobCount of
// slurm.conf), and forgets none within five minutes (MinJobAge).
const unsavedJobs = 10_000

// NextAfterLoss is an ID that no job has had, from the next ID that a slurmctld saved
// before it was killed. Near the largest ID it is the saved one: Slurm begins again
// from the first.
func NextAfterLoss(saved int) int {
	if saved <= 0 || saved > LastJobID-unsavedJobs {
		return saved
	}
	return saved + unsavedJobs
}
