// Package probe says what the processes of a job do on one node: which are stopped or wait in the
// kernel, which compute, and where their Python code is. It runs there as the job's user, so it
// sees that user's processes alone, and it changes nothing: what it finds of a process that ends
// meanwhile is left out.
package probe

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/job/ras"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Report is what a node's processes do.
type Report struct {
	Node      string    `json:"node"`
	Processes []Process `json:"processes"`
	// Addrs are the node's own addresses, by which NCCL calls it.
	Addrs []string `json:"addrs,omitempty"`
	// NCCL is what NCCL says of the job's ranks, at each address where it may listen.
	NCCL []Answer `json:"nccl,omitempty"`
}

// Answer is NCCL's at an address, or why there is none.
type Answer struct {
	Addr   string      `json:"addr"`
	Report *ras.Report `json:"report,omitempty"`
	Blind  string      `json:"blind,omitempty"`
}

// Process is a process of the job.
type Process struct {
	PID int `json:"pid"`
	// Start is when it began, in the kernel's ticks: with PID it is one process, whoever has the number later.
	Start   uint64 `json:"start,omitempty"`
	Command string `json:"command"`
	// Rank is the training's, "" if the process has none, Part what the process is of it.
	Rank string `json:"rank,omitempty"`
	Part Part   `json:"part,omitempty"`
	// State is the kernel's letter: R runs, S sleeps, D waits for a device or a file system, T is stopped.
	State string `json:"state"`
	// Wait is the kernel's function that it waits in.
	Wait string `json:"wait,omitempty"`
	// Busy says that it computed while it was looked at, Held that it waited in the kernel all the time.
	Busy bool `json:"busy,omitempty"`
	Held bool `json:"held,omitempty"`
	// CPUSeconds is how long it has computed since it began, IOBytes what it has read and written, -1 if that cannot be seen.
	CPUSeconds float64 `json:"cpu_seconds"`
	IOBytes    int64   `json:"io_bytes"`
	// Place is where in its code a rank's program was all the time, "" if it moved, or if nobody knows.
	Place string `json:"place,omitempty"`
	// Stack is where it is, as far as that can be known, and Blind why it cannot.
	Stack string `json:"stack,omitempty"`
	Blind string `json:"blind,omitempty"`
}

// Part is what a process is of its rank.
type Part string

// Leader is the rank's program itself, Helper a process that it began, as loaders of data are. The rest, such as
// the shell of the batch script, only waits.
const (
	Leader Part = "leader"
	Helper Part = "helper"
)

// Write writes the report as srun can bring it: in base64, as a line. Srun brings what tasks write in messages of 1024 bytes at
// most (SLURM_IO_MAX_MSG_LEN of Slurm's common/io_hdr.h), each on lines of its own with --label, so that reports that are longer come mixed.
func (r Report) Write(w io.Writer) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, base64.StdEncoding.EncodeToString(text))
	return err
}

// Read reads what a step wrote that ran Write on each node, with srun's --label. What is no report is left out: it is of
// processes of the user's, who can write there.
func Read(step []byte) []Report {
	var tasks []string
	texts := map[string][]byte{}
	for line := range bytes.Lines(step) {
		label, text, labelled := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		task := string(label)
		if !labelled {
			continue
		}
		if texts[task] == nil {
			tasks = append(tasks, task)
		}
		texts[task] = append(texts[task], text...)
	}
	var all []Report
	for _, task := range tasks {
		var r Report
		text, err := base64.StdEncoding.DecodeString(string(texts[task]))
		if err == nil && json.Unmarshal(text, &r) == nil && r.Node != "" {
			all = append(all, r)
		}
	}
	return all
}

// Stands says that the process cannot go on by itself.
func (p Process) Stands() bool {
	return p.State == "T" || p.State == "t" || p.State == "D" && p.Held
}

const (
	// window is how long processes are watched.
	window = 2 * time.Second
	// processesAtMost is how many are told of.
	processesAtMost = 256
)

// Look looks at the processes of a job below the directory of the kernel's processes.
func Look(ctx context.Context, proc string, job int) (Report, error) {
	node, err := os.Hostname()
	if err != nil {
		return Report{}, fmt.Errorf("find the node's name: %w", err)
	}
	r := Report{Node: node, Processes: []Process{}}
	before := map[int]seen{}
	for _, pid := range pids(proc) {
		if s, ok := see(proc, pid); ok && s.job == strconv.Itoa(job) && pid != os.Getpid() && len(before) < processesAtMost {
			before[pid] = s
		}
	}
	crew := ranked(slices.Collect(maps.Values(before)))
	var at map[int]string
	var asked sync.WaitGroup
	asked.Go(func() { r.Addrs, r.NCCL = addrs(), askNCCL(ctx, crew) })
	asked.Go(func() { at = places(ctx, proc, crew) })
	err = pause.For(ctx, window)
	asked.Wait()
	if err != nil {
		return r, err
	}
	var there []seen
	for _, pid := range slices.Sorted(maps.Keys(before)) {
		b := before[pid]
		now, alive := see(proc, pid)
		if !alive || now.start != b.start {
			continue
		}
		now.busy, now.held = now.ticks > b.ticks, now.ticks == b.ticks && now.state == "D" && b.state == "D"
		there = append(there, now)
	}
	there = ranked(there)
	for _, s := range there {
		p := s.process()
		p.Wait, p.Place = strings.Trim(read(proc, s.pid, "wchan"), "0"), at[s.pid]
		r.Processes = append(r.Processes, p)
	}
	stacks(ctx, proc, there, func(pid int, text, blind string) {
		i := slices.IndexFunc(r.Processes, func(p Process) bool { return p.PID == pid })
		r.Processes[i].Stack, r.Processes[i].Blind = text, blind
	})
	return r, nil
}
