package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/sbatch"
	"github.com/muster-hpc/muster/internal/slurm"
)

// madeJob is a job of a job file with its batch script.
type madeJob struct {
	*jobfile.Job
	script *sbatch.Script
	// secrets are not in it.
	secrets secretValues
	// submit is the script as it is submitted.
	submit batchScript
}

// submitJobs submits the jobs of a job file: all are made and checked before the first one
// goes to Slurm. What stands behind the file are arguments of the program.
func (a *app) submitJobs(ctx context.Context, s slurm.Client, b batchScript, data []byte, w jobWishes) ([]submittedJob, error) {
	w.args, b.args = b.args, nil
	made, err := a.makeJobs(ctx, s, b, data, w)
	if err != nil {
		return nil, err
	}
	for i := range made {
		if err := a.checkJob(ctx, s, &made[i], data); err != nil {
			return nil, err
		}
	}
	if err := a.findSecrets(ctx, made, w.secretsOnStdin); err != nil {
		return nil, err
	}
	var done []submittedJob
	for _, m := range made {
		one := submittedJob{Job: m.Name, Model: m.Model, Script: m.submit.file}
		one.ID, err = a.submitJob(ctx, s, m)
		if err != nil {
			one.Error = err.Error()
			return append(done, one), fmt.Errorf("submit %s: %w", m.Name, err)
		}
		done = append(done, one)
	}
	return done, nil
}

// makeJobs reads a job file and makes the scripts for the cluster that runs.
func (a *app) makeJobs(ctx context.Context, s slurm.Client, b batchScript, data []byte, w jobWishes) ([]madeJob, error) {
	facts, err := runningFacts(ctx, s)
	if err != nil {
		return nil, err
	}
	dir, err := jobDir(b)
	if err != nil {
		return nil, err
	}
	jobs, problems := readJobs(b.called, dir, data, workloadHere(), w)
	var made []madeJob
	for _, j := range jobs {
		script, more := sbatch.New(j, facts)
		problems.Append(more.All()...)
		if script == nil {
			continue
		}
		m := madeJob{Job: j, script: script, submit: b}
		m.submit.file, m.submit.unseen = keptScript(j, script), true
		made = append(made, m)
	}
	return made, a.showProblems(problems)
}

// checkJob checks a job's script as any other. The directory of its log is made when it is
// submitted.
func (a *app) checkJob(ctx context.Context, s slurm.Client, m *madeJob, file []byte) error {
	text := []byte(m.script.Text)
	if err := a.showProblems(checkSize(ctx, s, m.submit, text)); err != nil {
		return err
	}
	facts, err := a.factsFor(ctx, s, m.submit, text)
	if err != nil {
		return err
	}
	facts.Missing = slices.DeleteFunc(facts.Missing, func(dir string) bool { return dir == m.Logs })
	facts.Made = append(facts.Made, m.Logs)
	found := checkMade(m.script, m.File, file, m.submit.flags, facts)
	found.Append(missingScript(m.Job).All()...)
	return a.showChecked(found, m.submit.force)
}

// missingScript says that the program of a job is not there. What is in an image is not seen from here.
func missingScript(j *jobfile.Job) *diag.List {
	list := j.Problems()
	if j.Image != "" || j.Script == "" {
		return list
	}
	if _, err := os.Stat(j.Script); !errors.Is(err, fs.ErrNotExist) {
		return list
	}
	d := list.Errorf("job/script", "Script", "there is no file %s", j.Script)
	var beside []string
	entries, _ := os.ReadDir(filepath.Dir(j.Script)) // those that were read before an error
	for _, e := range entries {
		if !e.IsDir() {
			beside = append(beside, e.Name())
		}
	}
	if near := diag.Nearest(filepath.Base(j.Script), beside); near != "" {
		d.WithHint("did you mean %s?", filepath.Join(filepath.Dir(j.Script), near))
	} else if _, err := os.Stat(filepath.Dir(j.Script)); errors.Is(err, fs.ErrNotExist) {
		d.WithHint("the directory %s does not exist, either", filepath.Dir(j.Script))
	}
	return list
}

// submitJob keeps a job's script and submits it.
func (a *app) submitJob(ctx context.Context, s slurm.Client, m madeJob) (int, error) {
	if err := keepScript(m.submit.file, m.script.Text); err != nil {
		return 0, err
	}
	if len(m.secrets) > 0 {
		return a.submitSecret(ctx, s, m)
	}
	return a.toSlurm(ctx, s, m.submit, len(m.script.Text))
}

// findSecrets gives each job the secrets of its file, which are the same for all.
func (a *app) findSecrets(ctx context.Context, made []madeJob, onStdin bool) error {
	for i := range made {
		if i > 0 {
			made[i].secrets = made[0].secrets
			continue
		}
		values, err := a.secretsFor(ctx, made[i].Job, onStdin)
		if err != nil {
			return err
		}
		made[i].secrets = values
	}
	return nil
}
