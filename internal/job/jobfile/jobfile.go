// Package jobfile reads job files: what a training job is, in YAML, in the words of Slurm and
// of the frameworks. It gives the job as a typed value, or every problem at once, each with
// its line and column.
//
// A job is a value that a batch script can be made of by whoever knows the cluster: paths
// are absolute, names fit into Slurm's options, and no text has a zero byte. One file can
// be the job of several models of muster.yaml: "{model}" in it stands for each one's name.
package jobfile

import (
	_ "embed"
	"sync"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/spec"
)

//go:embed jobfile.tsv
var tableText string

// Table are the keys of a job file.
var Table = sync.OnceValue(func() *spec.Table { return spec.NewTable(tableText) })

// Launcher is what starts the ranks of a job.
type Launcher string

// The launchers. FSDP, DeepSpeed and Megatron are torchrun with what they want of the
// environment; Srun starts each rank as a task of Slurm's.
const (
	Torchrun   Launcher = "torchrun"
	FSDP       Launcher = "fsdp"
	DeepSpeed  Launcher = "deepspeed"
	Megatron   Launcher = "megatron"
	Accelerate Launcher = "accelerate"
	Srun       Launcher = "srun"
)

// Job is a job file.
type Job struct {
	// File is the name under which the file was read.
	File string
	// Name is the job's, with "{model}" in a file for several models.
	Name string
	// Model is a model of muster.yaml, empty for none.
	Model string
	// Nodes is the number of whole nodes, GPUs that of a part of one. At most one is not 0.
	Nodes, GPUs int
	// Spares are nodes besides, for when one dies.
	Spares int
	// Ranks is how many a node has; 0 leaves it to the node.
	Ranks                           int
	Queue, Constraint, Account, QoS string
	// Image is a container image: an absolute path, or one of a registry. Mounts are in
	// the words of --container-mounts.
	Image  string
	Mounts []string
	Launcher
	// Script or Module is what runs, the other one is empty. Script and Python are absolute
	// paths, or Python a program's name.
	Script, Module, Python string
	Arguments              []string
	// Data, Checkpoints and Logs are absolute directories. Checkpoints may be empty.
	Data              []string
	Checkpoints, Logs string
	// Time is as Slurm reads it.
	Time        string
	Environment []Variable
	Secrets     []Secret
	// Policy is what becomes of the job when it fails or hangs.
	Policy policy.Policy

	locate func(path string) diag.Place
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// Secret is a variable whose value is read where the job is submitted, from one of the three.
type Secret struct {
	Name string
	// File is a path, Environment a variable of whoever submits, SecretsManager a name or
	// ARN, of which Key is a part of the value; empty is all.
	File, Environment, SecretsManager, Key string
}

// Place is where the file has the value at a path such as "Environment.NCCL_ALGO", or what
// is around it.
func (j *Job) Place(path string) diag.Place {
	if j.locate == nil {
		return diag.Place{File: j.File, Path: path}
	}
	return j.locate(path)
}

// Problems is an empty list for problems of the file, which have their places in it.
func (j *Job) Problems() *diag.List { return &diag.List{Locate: j.Place} }

// maxBytes is the size of the largest file that is read: as sbatch takes 4 MiB, there is
// room for what the script says besides.
const maxBytes = 1 << 20

// Parse reads a text. Relative paths in it begin in dir, which is absolute. The job is nil if
// the list has errors. name stands for the file in diagnostics.
func Parse(name, dir string, data []byte) (*Job, *diag.List) {
	if len(data) > maxBytes {
		list := &diag.List{}
		list.Errorf("file/size", "", "the file has more than %d MiB", maxBytes>>20).At(diag.Place{File: name}).
			WithHint("a job file has a few lines; is this the right file?")
		return nil, list
	}
	j := &Job{File: name}
	list := Table().Check(name, data, func(root spec.View) {
		j.build(root, dir)
		checkJob(root, j)
	})
	if list.HasErrors() {
		return nil, list
	}
	j.locate = list.Locate
	return j, list
}
