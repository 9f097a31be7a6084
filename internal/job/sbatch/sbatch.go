// Package sbatch makes the batch script of a job: of a job file and what the cluster has.
//
// The script is for people to read and for sbatch to take, on its own: unless the job has
// secrets, it needs muster neither on the head node nor on the nodes. It sets what the instance type and the launcher
// need, and nothing more. No text of the job file is more than a word of it, whatever it
// holds; where each line comes from is known, so that what a check finds in the script is
// said of the job file.
package sbatch

import (
	"slices"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
)

// Script is a batch script.
type Script struct {
	Text string
	job  *jobfile.Job
	// origins are the paths in the job file that the script's lines come from, empty where
	// a line is the script's own.
	origins []string
}

// New makes the script of a job on a cluster. It is nil if the list has errors.
func New(j *jobfile.Job, f *batch.Facts) (*Script, *diag.List) {
	list := j.Problems()
	s, ok := shapeOf(j, f, list)
	if !ok || list.HasErrors() {
		return nil, list
	}
	t := &text{}
	w := writer{text: t, job: j, shape: s, facts: f}
	w.write()
	return &Script{Text: t.b.String(), job: j, origins: t.origins}, list
}

// Check is what batch.Check finds in the script, at the places in the job file that its lines
// come from. flags are sbatch's options on the command line.
func (s *Script) Check(flags []string, f *batch.Facts) *diag.List {
	list := s.job.Problems()
	for _, d := range batch.Check(s.job.File, []byte(s.Text), flags, f).All() {
		if d.Line > 0 {
			d.At(s.origin(d.Line))
		}
		list.Append(d)
	}
	return list
}

// origin is where a line comes from; of the script's own lines it is the job's name.
func (s *Script) origin(line int) diag.Place {
	path := "Job"
	if line <= len(s.origins) && s.origins[line-1] != "" {
		path = s.origins[line-1]
	}
	return s.job.Place(path)
}

// writer writes a script, part by part.
type writer struct {
	*text
	job   *jobfile.Job
	shape shape
	facts *batch.Facts
}

func (w writer) write() {
	w.head()
	w.directives()
	w.policy()
	w.begin()
	w.places()
	if w.shape.spares > 0 {
		w.choosing()
		w.environment()
		w.secrets()
		w.meet()
		w.warning()
		w.train()
		w.starts()
		return
	}
	w.meeting()
	w.environment()
	w.secrets()
	w.preflight()
	w.warning()
	w.launch()
	w.end()
}

// perNode reports whether the ranks of a node are started by one task.
func perNode(l jobfile.Launcher) bool { return l != jobfile.Srun }

// torch reports whether a launcher is torchrun.
func torch(l jobfile.Launcher) bool {
	return slices.Contains([]jobfile.Launcher{jobfile.Torchrun, jobfile.FSDP, jobfile.DeepSpeed, jobfile.Megatron}, l)
}
