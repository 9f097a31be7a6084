package ras

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// wire is NCCL's JSON (src/ras/client_support.cc).
type wire struct {
	Version string     `json:"nccl_version"`
	Comms   []wireComm `json:"communicators"`
	RAS     struct {
		Timeouts int `json:"timeouts_count"`
	} `json:"ras"`
}

type wireComm struct {
	Hash    string     `json:"hash"`
	Second  string     `json:"secondary_hash"`
	Size    int        `json:"size"`
	Ranks   []wireRank `json:"ranks"`
	Missing []wireRank `json:"missing_ranks"`
}

type wireRank struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	PID    int    `json:"pid"`
	GPU    int    `json:"cuda_dev"`
	Status struct {
		Init       int  `json:"init_state"`
		Async      int  `json:"async_error"`
		Finalize   bool `json:"finalize_called"`
		Destroy    bool `json:"destroy_flag"`
		Abort      bool `json:"abort_flag"`
		Unanswered bool `json:"unresponsive"`
		Dead       bool `json:"considered_dead"`
	} `json:"status"`
	Launched map[string]uint64 `json:"collective_counts"`
}

// commaless is where NCCL 2.28.7 to 2.30.6 leave a comma out, in missing_ranks.
//
// https://github.com/NVIDIA/nccl/blob/v2.30.7-1/src/ras/client_support.cc
var commaless = pattern.New(`("nvml_dev": -?[0-9]+)(\s+")`)

// parseJSON reads an answer in JSON.
func parseJSON(text []byte) (Report, error) {
	var w wire
	err := json.Unmarshal(text, &w)
	if err != nil {
		w = wire{}
		if again := json.Unmarshal(commaless().ReplaceAll(text, []byte("$1,$2")), &w); again != nil {
			return Report{}, fmt.Errorf("read NCCL's report: %w", err)
		}
	}
	r := Report{Version: w.Version, Timeouts: w.RAS.Timeouts}
	for _, c := range w.Comms {
		r.Comms = append(r.Comms, c.comm())
		for _, m := range c.Missing {
			r.miss(m)
		}
	}
	r.SilentCount, r.DeadCount = len(r.Silent), len(r.Dead)
	return r, nil
}

func (c wireComm) comm() Comm {
	comm := Comm{Hash: c.Hash, Second: c.Second, Size: c.Size}
	for _, w := range c.Ranks {
		rank := Rank{Process: w.process(), Error: max(w.Status.Init, w.Status.Async), Ending: w.Status.Finalize || w.Status.Destroy || w.Status.Abort, Launched: w.Launched}
		comm.Ranks = append(comm.Ranks, rank)
	}
	return comm
}

func (w wireRank) process() Process {
	return Process{Rank: w.Rank, Host: w.Host, PID: w.PID, GPU: strconv.Itoa(w.GPU)}
}

// miss notes a rank that did not answer. A process is in many communicators, under other ranks:
// it counts once.
func (r *Report) miss(w wireRank) {
	p, list := w.process(), &r.Silent
	if w.Status.Dead {
		list = &r.Dead
	}
	for _, o := range *list {
		if o.Host == p.Host && o.PID == p.PID {
			return
		}
	}
	*list = append(*list, p)
}

// Parse reads an answer of NCCL's, text or JSON.
func Parse(text []byte) (Report, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseJSON(trimmed)
	}
	return parseText(text)
}
