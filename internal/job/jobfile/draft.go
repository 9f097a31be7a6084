package jobfile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Draft is what a new job file begins with. What is empty stands there as a comment, or has its
// usual value.
type Draft struct {
	Job, Model, Queue, Launcher, Script, Python, Image, Checkpoints, Logs, Time string
	Nodes, GPUs                                                                 int
	Arguments, Data                                                             []string
}

// Text is the job file, with comments that say what each key is for. Parse reads it, if the
// values are any that it takes.
func (d Draft) Text() string {
	var b strings.Builder
	line := func(given bool, text, comment string) {
		if !given {
			text = "# " + text
		}
		fmt.Fprintf(&b, "%-31s # %s\n", text, comment)
	}
	key := func(name, value, example, comment string) {
		if value == "" {
			line(false, name+": "+example, comment)
			return
		}
		line(true, name+": "+scalar(value), comment)
	}
	b.WriteString("# A training job: `muster run` submits it, `muster job script` shows the batch script that it becomes.\n")
	b.WriteString("# Paths are relative to this file.\n")
	key("Job", d.Job, "train", "its name, also in the names of its files")
	switch {
	case d.Model != "":
		key("Model", d.Model, "", "the model of muster.yaml that says how many nodes")
	case d.GPUs > 0:
		line(true, fmt.Sprintf("GPUs: %d", d.GPUs), "a part of one node; or Nodes for whole ones")
	default:
		line(true, fmt.Sprintf("Nodes: %d", max(d.Nodes, 1)), "whole nodes; or GPUs: 4 for a part of one, or Model: NAME of muster.yaml")
	}
	key("Queue", d.Queue, "gpu", "without it, the first queue with GPUs")
	key("Launcher", d.Launcher, "torchrun", "torchrun, fsdp, deepspeed, megatron, accelerate, or srun: each rank a task of Slurm's")
	key("Script", d.Script, "train.py", "what runs; or Module: package.train")
	key("Python", d.Python, "venv/bin/python", "the interpreter, without it python3")
	key("Image", d.Image, "train.sqsh", "a container image")
	line(len(d.Arguments) > 0, "Arguments: "+list(d.Arguments, "[--config, llama.yaml]"), "what the program is given")
	line(len(d.Data) > 0, "Data: "+list(d.Data, "[/fsx/data]"), "directories that must be there")
	key("Checkpoints", d.Checkpoints, "/fsx/checkpoints", "where the program writes them, and goes on from; muster looks there")
	fmt.Fprintf(&b, "# The program is not told of them: give it the directory, such as by Arguments: [--checkpoints, %s]\n", scalar(cmp.Or(d.Checkpoints, "/fsx/checkpoints")))
	key("Logs", d.Logs, "logs", "where the log goes, and the batch script")
	key("Time", d.Time, "1-00:00:00", "the time limit: days-hours:minutes:seconds")
	line(false, "Environment: {WANDB_MODE: offline}", "variables of the ranks; what the network needs is set without you")
	line(false, "Restarts: 10", "how often it starts anew after failures")
	line(false, "Hang: auto", "when a job without progress hangs: auto, off, 30m")
	return b.String()
}

func list(texts []string, example string) string {
	if len(texts) == 0 {
		return example
	}
	words := make([]string, len(texts))
	for i, t := range texts {
		words[i] = scalar(t)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// plain are texts that YAML reads as what they are, in lists, too. Those that begin with a digit
// may be numbers or times.
var plain = pattern.New(`^(/|--?[a-z]|[A-Za-z])[A-Za-z0-9_./-]*$`)

// words are texts that YAML takes for something else.
var words = pattern.New(`(?i)^(y|n|yes|no|on|off|true|false|null|nan|inf)$`)

// clock are times with days, which YAML takes for texts.
var clock = pattern.New(`^[0-9]+-[0-9:]+$`)

// scalar is a text as YAML reads it again: the escapes of Go's texts are YAML's, too.
func scalar(text string) string {
	if plain().MatchString(text) && !words().MatchString(text) || clock().MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}
