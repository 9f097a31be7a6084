package cli

import (
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/sbatch"
	"github.com/muster-hpc/muster/internal/spec"
)

// checkJob checks a job file, and where there is a cluster file before it, the scripts that it
// becomes there.
func (c *checker) checkJob(path string, data []byte) {
	if c.around != nil {
		c.around()
		c.around = nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	j, list := jobfile.Parse(path, filepath.Dir(abs), data)
	summary := ""
	if j != nil && c.cluster != nil {
		list.Append(c.madeOf(j, data).All()...)
		if !list.HasErrors() {
			summary = "fits " + c.cluster.File
		}
	}
	c.add(path, "job", summary, list)
}

// madeOf is what is wrong with the scripts that a job file becomes: that of its model, or those
// of all models where it is for several.
func (c *checker) madeOf(j *jobfile.Job, data []byte) *diag.List {
	w := &spec.Workload{}
	if c.cluster.File != stdinName {
		if beside, _ := spec.LoadWorkload(spec.WorkloadPath(c.cluster.File), c.cluster); beside != nil {
			w = beside // its problems are reported elsewhere
		}
	}
	var jobs []*jobfile.Job
	list := &diag.List{}
	if j.Model == "" && strings.Contains(string(data), jobfile.Placeholder) {
		jobs, list = j.All(w)
	} else if one, problems := j.One(w, ""); one != nil {
		jobs = append(jobs, one)
	} else {
		list = problems
	}
	facts := batch.FactsOf(c.cluster.With(w))
	facts.Made = madeBeside(c.cluster)
	for _, one := range jobs {
		script, problems := sbatch.New(one, facts)
		list.Append(problems.All()...)
		if script != nil {
			list.Append(checkMade(script, j.File, data, nil, facts).All()...)
		}
		if list.HasErrors() {
			break // the other models' are the same
		}
	}
	return list
}
