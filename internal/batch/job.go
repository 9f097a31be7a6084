package batch

import (
	"strconv"
	"strings"
)

// job is what a batch script asks for, each with the option that says so. A
// number of 0 is not asked for, or not told.
type job struct {
	partition, nodes, cpus, tasks, memory, gpus, constraint Option

	// minNodes is the least of a range; exact says that it is the number. It is 0
	// if Slurm decides.
	minNodes                  int
	exact                     bool
	cpusPerTask, tasksPerNode int
	// allTasks is --ntasks.
	allTasks  int
	memoryMiB int
	// gpuCount is for each node, of a type if one is asked for.
	gpuCount int
	gpuType  string
	facts    *Facts
}

func (j job) cpusPerNode() int { return max(j.cpusPerTask, 1) * max(j.tasksPerNode, 1) }

// jobOf reads what we understand of the options. Later ones win.
func jobOf(all []Option, facts *Facts) job {
	j := job{facts: facts}
	for _, o := range all {
		switch o.Name {
		case "partition":
			j.partition = o
		case "nodes":
			j.nodes, j.minNodes = o, nodeCount(o.Value)
			j.exact = j.minNodes > 0 && !strings.ContainsAny(o.Value, "-,")
		case "cpus-per-task":
			j.cpus, j.cpusPerTask = o, number(o.Value)
		case "constraint":
			j.constraint = o
		case "ntasks":
			j.allTasks = number(o.Value)
		case "ntasks-per-node":
			j.tasks, j.tasksPerNode = o, number(o.Value)
		case "mem":
			j.memory, j.memoryMiB = o, memoryMiB(o.Value)
		case "gres":
			if kind, n, ok := gres(o.Value); ok {
				j.gpus, j.gpuType, j.gpuCount = o, kind, n
			}
		case "gpus-per-node":
			if kind, n, ok := gres("gpu:" + o.Value); ok {
				j.gpus, j.gpuType, j.gpuCount = o, kind, n
			}
		}
	}
	if j.nodes.Name == "" {
		j.minNodes, j.exact = j.nodesOfTasks()
	}
	return j
}

// nodesOfTasks is how many nodes a job has that only says its tasks.
func (j job) nodesOfTasks() (int, bool) {
	switch {
	case j.allTasks == 0:
		return 1, true
	case j.tasksPerNode > 0:
		return (j.allTasks + j.tasksPerNode - 1) / j.tasksPerNode, true
	case j.allTasks == 1:
		return 1, true
	}
	return 0, false
}

// several tells whether the job surely has more than one node.
func (j job) several() bool { return j.minNodes > 1 }

// taskCount is the number of tasks of the job, 0 if it is not told.
func (j job) taskCount() int {
	switch {
	case j.allTasks > 0:
		return j.allTasks
	case j.exact:
		return j.minNodes * max(j.tasksPerNode, 1)
	}
	return 0
}

// variables are those that Slurm sets for the job.
func (j job) variables() map[string]value {
	env := map[string]value{}
	set := func(n int, names ...string) {
		for _, name := range names {
			if n > 0 {
				env[name] = value{text: strconv.Itoa(n)}
			}
		}
	}
	if j.exact {
		set(j.minNodes, "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
	}
	if j.allTasks > 0 || j.tasksPerNode > 0 {
		set(j.taskCount(), "SLURM_NTASKS", "SLURM_NPROCS")
	}
	set(j.tasksPerNode, "SLURM_NTASKS_PER_NODE")
	set(j.cpusPerTask, "SLURM_CPUS_PER_TASK")
	set(j.gpuCount, "SLURM_GPUS_ON_NODE")
	if j.gpus.Name == "gpus-per-node" {
		env["SLURM_GPUS_PER_NODE"] = value{text: j.gpus.Value}
	}
	return env
}

// number reads a whole number; 0 is none.
func number(text string) int {
	const most = 7 // digits
	if text == "" || len(text) > most || strings.Trim(text, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.Atoi(text)
	return n
}

// nodeCount reads the least of "4", "4-8", "2k"; 0 is something else.
func nodeCount(text string) int {
	low, _, _ := strings.Cut(text, "-")
	factor := 1
	switch {
	case strings.HasSuffix(low, "k"), strings.HasSuffix(low, "K"):
		factor = 1024
	case strings.HasSuffix(low, "m"), strings.HasSuffix(low, "M"):
		factor = 1024 * 1024
	}
	if factor > 1 {
		low = low[:len(low)-1]
	}
	return number(low) * factor
}

// memoryMiB reads "4000", "64G"; a part of a MiB counts as one. 0 is all of
// the node's or something else.
func memoryMiB(text string) int {
	unit := strings.ToUpper(strings.TrimLeft(text, "0123456789"))
	n := number(text[:len(text)-len(unit)])
	switch unit {
	case "", "M", "MB":
		return n
	case "K", "KB":
		return (n + 1023) / 1024
	case "G", "GB":
		return n << 10
	case "T", "TB":
		return n << 20
	}
	return 0
}

// gres reads the GPUs in "gpu:8", "gpu:h200:8", "gres:gpu", "nvme:1,gpu:2".
func gres(list string) (kind string, n int, ok bool) {
	for item := range strings.SplitSeq(list, ",") {
		item, _, _ = strings.Cut(item, "(")
		parts := strings.Split(strings.TrimPrefix(item, "gres:"), ":")
		if parts[0] != "gpu" || len(parts) > 3 {
			continue
		}
		n = 1
		last := parts[len(parts)-1]
		if len(parts) > 1 && number(last) > 0 {
			n = number(last)
			parts = parts[:len(parts)-1]
		} else if len(parts) == 3 || len(parts) == 2 && strings.Trim(last, "0") == "" {
			return "", 0, false
		}
		if len(parts) == 2 {
			kind = parts[1]
		}
		return kind, n, true
	}
	return "", 0, false
}
