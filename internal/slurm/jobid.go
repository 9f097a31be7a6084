package slurm

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// NextJobID finds in what `scontrol show config` prints the ID that the next job gets.
func NextJobID(config string) (int, error) {
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == "NEXT_JOB_ID" {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("scontrol does not say which ID the next job gets")
}

// SavedJobID finds the ID that the next job gets in the head of slurmctld's file
// job_state, which may be some seconds old: a text with its length, the protocol's version of 16 bits, the time of 64
// and the ID of 32, in network order (src/slurmctld/job_mgr.c, dump_all_job_state).
func SavedJobID(state []byte) (int, error) {
	const text = "PROTOCOL_VERSION\x00"
	head := 4 + len(text) + 2 + 8
	if len(state) < head+4 || binary.BigEndian.Uint32(state) != uint32(len(text)) || string(state[4:4+len(text)]) != text {
		return 0, errors.New("job_state does not begin as Slurm's does")
	}
	return int(binary.BigEndian.Uint32(state[head:])), nil
}
