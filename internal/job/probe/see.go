package probe

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// seen is what a look at a process shows.
type seen struct {
	pid, parent        int
	job, rank, command string
	state              string
	path               string // of its environment, as what follows
	venv, conda        string
	rasAddr, rasEnable string
	python             bool
	// told says that the launcher of the ranks named the rank; else it is the number of Slurm's task.
	told       bool
	part       Part
	ticks      int64
	start      uint64
	busy, held bool
	io         int64
}

// ticksPerSecond is what the kernel's times are in, on all machines (USER_HZ).
const ticksPerSecond = 100

func (s seen) process() Process {
	return Process{
		PID: s.pid, Start: s.start, Command: s.command, Rank: s.rank, Part: s.part, State: s.state, Busy: s.busy, Held: s.held,
		CPUSeconds: float64(s.ticks) / ticksPerSecond, IOBytes: s.io,
	}
}

func pids(proc string) []int {
	entries, _ := os.ReadDir(proc) // without one, there are no processes to tell of
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// read is a small file of a process, "" if it has gone or is not ours.
func read(proc string, pid int, name string) string {
	f, err := os.Open(filepath.Join(proc, strconv.Itoa(pid), name))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text)
}

// see looks at one process. Others' show their environment to root alone, who does not look at them either: who says there
// that it is of a job may be anybody.
func see(proc string, pid int) (s seen, ok bool) {
	info, err := os.Stat(filepath.Join(proc, strconv.Itoa(pid)))
	if err != nil {
		return s, false
	}
	if owner, known := info.Sys().(*syscall.Stat_t); known && int(owner.Uid) != os.Geteuid() {
		return s, false
	}
	s.pid = pid
	task := ""
	for entry := range strings.SplitSeq(read(proc, pid, "environ"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "SLURM_JOB_ID":
			s.job = value
		case "RANK":
			s.rank, s.told = value, value != ""
		case "SLURM_PROCID":
			task = value
		case "PATH":
			s.path = value
		case "VIRTUAL_ENV":
			s.venv = value
		case "CONDA_PREFIX":
			s.conda = value
		case "NCCL_RAS_ADDR":
			s.rasAddr = value
		case "NCCL_RAS_ENABLE":
			s.rasEnable = value
		}
	}
	if !s.told {
		s.rank = task
	}
	if s.job == "" || !s.times(read(proc, pid, "stat")) || s.state == "Z" {
		return s, false
	}
	exe, err := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe"))
	s.python = err == nil && strings.HasPrefix(filepath.Base(exe), "python")
	s.io = transferred(read(proc, pid, "io"))
	s.command = strings.TrimSpace(strings.ReplaceAll(read(proc, pid, "cmdline"), "\x00", " "))
	if most := 200; len(s.command) > most {
		s.command = s.command[:most]
	}
	s.command = strings.ToValidUTF8(s.command, "?")
	return s, true
}

// times takes what the kernel says of the process: proc_pid_stat(5), from the third field on.
func (s *seen) times(stat string) bool {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return false
	}
	fields := strings.Fields(stat[end+1:])
	const state, parent, user, system, start = 0, 1, 11, 12, 19
	if len(fields) <= start {
		return false
	}
	u, err := strconv.ParseInt(fields[user], 10, 64)
	k, err2 := strconv.ParseInt(fields[system], 10, 64)
	begun, err3 := strconv.ParseUint(fields[start], 10, 64)
	s.parent, _ = strconv.Atoi(fields[parent]) // of one that cannot be, nobody knows the parent
	s.state, s.ticks, s.start = fields[state], u+k, begun
	return err == nil && err2 == nil && err3 == nil
}

// transferred is how much a process has read and written by proc_pid_io(5), -1 if that is not told.
func transferred(text string) int64 {
	var sum int64
	counted := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err == nil && (name == "rchar" || name == "wchar") {
			sum += n
			counted++
		}
	}
	if counted < 2 || sum < 0 {
		return -1
	}
	return sum
}

// ranked says which processes lead ranks and which help them. The topmost Python of a rank is its program; where no Python
// has a rank, each process with one is.
func ranked(all []seen) []seen {
	byPID := map[int]*seen{}
	told, python := false, false
	for i := range all {
		byPID[all[i].pid] = &all[i]
		told = told || all[i].told
	}
	for i := range all {
		if told && !all[i].told {
			all[i].rank = "" // a task of Slurm's, which began the ranks
		}
		python = python || all[i].python && all[i].rank != ""
	}
	for i := range all {
		s := &all[i]
		switch {
		case s.rank == "":
		case led(s, byPID):
			s.part = Helper
		case s.python || !python:
			s.part = Leader
		}
	}
	return all
}

// led says that a process is below another of its rank that may lead it.
func led(s *seen, byPID map[int]*seen) bool {
	at := s
	for range len(byPID) {
		up := byPID[at.parent]
		if up == nil || up == at {
			return false
		}
		if up.rank == s.rank && up.python {
			return true
		}
		at = up
	}
	return false
}
