package jobfile

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// Placeholder stands for a model's name in a job file.
const Placeholder = "{model}"

// One is the job of a model of muster.yaml: the one that model names, or else the job file,
// or none.
func (j *Job) One(w *spec.Workload, model string) (*Job, *diag.List) {
	list := j.Problems()
	if model == "" {
		model = j.Model
	}
	if model == "" {
		j.unfilled(list)
		return j.whole(list)
	}
	for _, m := range w.Models {
		if m.Name == model {
			return j.of(m).whole(list)
		}
	}
	d := list.Errorf("job/model", "Model", "muster.yaml has no model %q", model)
	if near := diag.Nearest(model, names(w)); near != "" {
		d.WithHint("did you mean %s?", near)
	} else if len(w.Models) > 0 {
		d.WithHint("it has %s", strings.Join(names(w), ", "))
	} else {
		d.WithHint("say Nodes or GPUs here, or add Models to the muster.yaml beside the cluster file")
	}
	return nil, list
}

// All are the jobs of all models, in muster.yaml's order: one file for each.
func (j *Job) All(w *spec.Workload) ([]*Job, *diag.List) {
	list := j.Problems()
	if j.Model != "" {
		list.Errorf("job/model", "Model", "the job is that of %s, not of all models", j.Model).WithHint("remove Model")
	}
	if len(w.Models) == 0 {
		list.Errorf("job/model", "Job", "there are no Models").WithHint("add them to the muster.yaml beside the cluster file")
	}
	var all []*Job
	for _, m := range w.Models {
		one, problems := j.of(m).whole(j.Problems())
		list.Append(problems.All()...)
		if one != nil {
			all = append(all, one)
		}
	}
	j.apart(all, list)
	if list.HasErrors() {
		return nil, list
	}
	return all, list
}

func names(w *spec.Workload) []string {
	var all []string
	for _, m := range w.Models {
		all = append(all, m.Name)
	}
	return all
}

// of is the job of a model: its name in the texts, and what the file leaves to it.
func (j *Job) of(m spec.Model) *Job {
	fill := strings.NewReplacer(Placeholder, m.Name).Replace
	some := func(texts []string) []string {
		texts = slices.Clone(texts)
		for i := range texts {
			texts[i] = fill(texts[i])
		}
		return texts
	}
	one := *j
	one.Model = m.Name
	one.Name = fill(j.Name)
	if j.Model == "" && one.Name == j.Name {
		one.Name += "-" + m.Name
	}
	for _, text := range []*string{&one.Image, &one.Script, &one.Python, &one.Checkpoints, &one.Logs} {
		*text = fill(*text)
	}
	one.Arguments, one.Data, one.Mounts = some(j.Arguments), some(j.Data), some(j.Mounts)
	one.Environment = slices.Clone(j.Environment)
	for i := range one.Environment {
		one.Environment[i].Value = fill(one.Environment[i].Value)
	}
	if j.Nodes == 0 && j.GPUs == 0 {
		one.Nodes, one.GPUs = m.Nodes, m.GPUs
	}
	if one.Queue == "" {
		one.Queue = m.Queue
	}
	if one.Checkpoints == "" {
		one.Checkpoints = m.Checkpoints
	}
	one.Policy.Model, one.Policy.Checkpoints = m.Name, nil
	if one.Checkpoints != "" {
		one.Policy.Checkpoints = []string{one.Checkpoints}
	}
	return &one
}

// unfilled reports a text that waits for a model's name.
func (j *Job) unfilled(list *diag.List) {
	waiting := func(path string, texts ...string) {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, Placeholder) }) {
			list.Errorf("job/model", path, "%s has %s, and the job is that of no model", path, Placeholder).
				WithHint("say which with Model or --model NAME; --all is for all of muster.yaml's")
		}
	}
	waiting("Job", j.Name)
	waiting("Script", j.Script)
	waiting("Image", j.Image)
	waiting("Checkpoints", j.Checkpoints)
	waiting("Logs", j.Logs)
	waiting("Data", j.Data...)
	waiting("Mounts", j.Mounts...)
	waiting("Arguments", j.Arguments...)
	for _, v := range j.Environment {
		waiting("Environment."+v.Name, v.Value)
	}
}

// whole is the job, nil if the list has errors or something is left unsaid.
func (j *Job) whole(list *diag.List) (*Job, *diag.List) {
	if j.Nodes == 0 && j.GPUs == 0 {
		what := "nothing says how many nodes the job has"
		if j.Model != "" {
			what = "neither the job file nor muster.yaml says how many nodes " + j.Model + " has"
		}
		list.Errorf("job/share", "Job", "%s", what).WithHint("add Nodes: 2, or GPUs: 4 for a part of one node")
	}
	if list.HasErrors() {
		return nil, list
	}
	return j, list
}

// apart reports jobs that would write into each other's checkpoints.
func (j *Job) apart(all []*Job, list *diag.List) {
	of := map[string]string{}
	for _, one := range all {
		if other := of[one.Checkpoints]; other != "" {
			list.Errorf("job/model", "Checkpoints", "%s and %s both write checkpoints to %s", other, one.Model, one.Checkpoints).
				WithHint("put %s into the directory's name", Placeholder)
			return
		}
		if one.Checkpoints != "" {
			of[one.Checkpoints] = one.Model
		}
	}
}
