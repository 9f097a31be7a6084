package trainlog

import (
	"bytes"
	"strings"
)

// slurm reads slurmstepd's messages.
func slurm(text []byte, s *Sign) bool {
	if bytes.Contains(text, []byte("CANCELLED AT ")) || bytes.Contains(text, []byte("UNCORRECTABLE MEMORY ERROR")) {
		return cancelled(text, s)
	}
	for _, word := range [...]string{"oom_kill event", "oom-kill event"} {
		before, _, ok := bytes.Cut(text, []byte(" "+word))
		if !ok || !bytes.Contains(before, []byte("Detected ")) {
			continue
		}
		s.Kind, s.Node, s.Count = HostMemory, stepdNode(text), countAfter(text, "Detected ")
		if name, ok := between(text, " in StepId=", ". "); ok {
			s.Name = name
		}
		if full, ok := between(text, " in StepId=", " "); ok {
			s.Name = strings.TrimSuffix(full, ".")
		}
		return true
	}
	return false
}

// cancelled reads "*** JOB 7 ON node CANCELLED AT 2026-11-20T20:34:36 DUE TO TIME LIMIT ***".
func cancelled(text []byte, s *Sign) bool {
	_, rest, ok := bytes.Cut(text, []byte("*** "))
	if !ok {
		return false
	}
	name, rest, ok := bytes.Cut(rest, []byte(" ON "))
	if !ok || !bytes.HasPrefix(name, []byte("JOB ")) && !bytes.HasPrefix(name, []byte("STEP ")) {
		return false
	}
	node, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return false
	}
	s.Name, s.Node = clip(name), clip(node) // it is the writer's own: Slurm's slurmstepd/req.c
	if bytes.HasPrefix(rest, []byte("UNCORRECTABLE MEMORY ERROR")) {
		s.Kind = MemoryError
		return true
	}
	why, ok := bytes.CutPrefix(rest, []byte("CANCELLED AT "))
	if !ok {
		return false
	}
	s.Kind = Cancelled
	if t := stamp(why); !t.IsZero() {
		s.Time = t
	}
	for _, reason := range [...]struct {
		words string
		kind  Kind
	}{
		{"DUE TO TIME LIMIT", TimeLimit},
		{"DUE TO PREEMPTION", Preempted},
		{"DUE TO NODE FAILURE", NodeFailure},
		{"DUE TO JOB REQUEUE", Requeued},
	} {
		if bytes.Contains(why, []byte(reason.words)) {
			s.Kind = reason.kind
		}
	}
	if s.Kind == NodeFailure {
		s.Node = "" // whoever writes lives
	}
	if signal, ok := between(why, "DUE to SIGNAL ", "*"); ok {
		s.Signal = signalOf(signal)
	}
	return true
}

// stepdNode is the host in "slurmstepd-p5e-st-1: error: ..."; Slurm 25.11 does not say it.
func stepdNode(text []byte) string {
	node, _ := between(text, "slurmstepd-", ":")
	return node
}

// srun reads srun's messages on tasks and nodes, and bash's on what it ran.
func srun(text []byte, s *Sign) bool {
	if _, rest, ok := bytes.Cut(text, []byte("srun: error: ")); ok {
		if node, ok := bytes.CutPrefix(rest, []byte("Node failure on ")); ok {
			s.Kind, s.Node = NodeFailure, clip(node)
			return true
		}
		return tasks(rest, s)
	}
	if _, rest, ok := bytes.Cut(text, []byte("slurm_script: line ")); ok {
		return program(rest, s)
	}
	return false
}

// tasks reads "p5e-st-2: task 1: Exited with exit code 13" and "p5e-st-[1-2]: tasks 0-15: Killed".
func tasks(text []byte, s *Sign) bool {
	node, rest, ok := bytes.Cut(text, []byte(": task"))
	if !ok || bytes.IndexByte(node, ' ') >= 0 {
		return false
	}
	rest = bytes.TrimPrefix(rest, []byte("s"))
	numbers, how, ok := bytes.Cut(rest, []byte(": "))
	if !ok || len(numbers) < 2 || numbers[0] != ' ' || !isDigit(numbers[1]) {
		return false
	}
	s.Kind, s.Node = TaskEnded, clip(node)
	if task, end := digits(numbers, 1); end <= 9 {
		s.Task = task
	}
	said := clip(how)
	switch {
	case strings.HasPrefix(said, "Out Of Memory"):
		s.Kind = HostMemory
	case strings.HasPrefix(said, "Exited with exit code "):
		s.ExitCode = countAfter(how, "Exited with exit code ")
	default:
		s.Signal = signalOf(said)
	}
	return s.Kind == HostMemory || s.ExitCode != 0 || s.Signal != 0
}

// program reads "5: 12345 Killed                  python train.py" behind the script's name.
func program(text []byte, s *Sign) bool {
	_, rest, ok := bytes.Cut(text, []byte(": "))
	if !ok {
		return false
	}
	at := spaces(rest)
	_, end := digits(rest, at)
	if end == at {
		return false
	}
	s.Kind, s.Signal = TaskEnded, signalOf(string(bytes.TrimLeft(rest[end:], " ")))
	return s.Signal != 0
}

// early reads what batch scripts of job files say of ranks that saved and ended when they were told: "Job 7 ended early: it
// makes room for another job". It has no name.
func early(text []byte, s *Sign) bool {
	job, why, _ := bytes.Cut(text, []byte(" ended early: "))
	number, ok := bytes.CutPrefix(job, []byte("Job "))
	if _, end := digits(number, 0); !ok || end == 0 || end != len(number) {
		return false
	}
	switch string(bytes.TrimSpace(why)) {
	case "it makes room for another job":
		s.Kind = Preempted
	case "its time was nearly over":
		s.Kind = TimeLimit
	default:
		return false
	}
	return true
}
