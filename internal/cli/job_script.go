package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/sbatch"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

func (a *app) jobScript() *cobra.Command {
	var w jobWishes
	var to string
	c := &cobra.Command{
		Use:   "script FILE",
		Short: "Print the batch script that a job file becomes",
		Long: `Script prints the batch script that a job file becomes on a cluster. It is for
sbatch as it is, on that cluster, with muster and without. What "muster check" finds
in it is said of the job file's lines; an error stops it.

It needs the cluster's file, not the cluster: --cluster is a cluster file or a name;
without it, it is the cluster.yaml beside the job file, or else the cluster that
other commands are about. The muster.yaml beside the cluster file has the models.

With --all, a script is written for each model of muster.yaml, into a directory.`,
		Example: "  muster job script job.yaml\n  muster job script job.yaml --cluster cluster.yaml > job.sbatch\n" +
			"  muster job script --model model7 job.yaml\n  muster job script --all --to scripts job.yaml",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if w.all && to == "" {
				return fault.Usage(errors.New("--all writes several scripts: say with --to DIR where to"))
			}
			return a.scriptJobs(c.Context(), args[0], to, w)
		},
	}
	modelFlag(c, &w.model)
	c.Flags().BoolVar(&w.all, "all", false, "write a script for each model of muster.yaml")
	c.Flags().StringVar(&to, "to", "", "write NAME.sbatch into `DIR` instead of printing it")
	return c
}

// scriptJobs answers with the scripts of a job file.
func (a *app) scriptJobs(_ context.Context, file, to string, w jobWishes) error {
	data, problems := readScript(file)
	if err := a.showProblems(problems); err != nil {
		return err
	}
	if batch.IsScript(data) {
		return fault.Usage(fmt.Errorf("%s is a batch script already; `muster check` checks it", file))
	}
	cluster, workload, err := a.clusterFor(file)
	if err != nil {
		return err
	}
	facts := batch.FactsOf(cluster.With(workload))
	facts.Made = madeBeside(cluster)
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	jobs, problems := readJobs(file, filepath.Dir(path), data, workload, w)
	answer := scriptsAnswer{}
	for _, j := range jobs {
		script, more := sbatch.New(j, facts)
		problems.Append(more.All()...)
		if script == nil {
			continue
		}
		found := checkMade(script, file, data, nil, facts)
		problems.Append(found.All()...)
		answer.Jobs = append(answer.Jobs, scriptedJob{Job: j.Name, Model: j.Model, Script: script.Text, Problems: only(found, diag.Error, diag.Warning).All()})
	}
	if err := a.showProblems(only(problems, diag.Error, diag.Warning)); err != nil {
		return err
	}
	if to != "" {
		return a.writeScripts(answer, to)
	}
	return a.answer(answer, func() error {
		_, err := fmt.Fprint(a.out, answer.Jobs[0].Script)
		return err
	})
}

// writeScripts writes the scripts into a directory and says which there are.
func (a *app) writeScripts(answer scriptsAnswer, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for i := range answer.Jobs {
		j := &answer.Jobs[i]
		j.File = filepath.Join(to, j.Job+".sbatch")
		if err := whole.Write(j.File, []byte(j.Script), 0o644); err != nil {
			return err
		}
	}
	return a.answer(answer, func() error {
		for _, j := range answer.Jobs {
			if _, err := fmt.Fprintln(a.out, j.File); err != nil {
				return err
			}
		}
		return nil
	})
}

// clusterFor is the cluster that a job file is for, with its workload.
func (a *app) clusterFor(job string) (*spec.Cluster, *spec.Workload, error) {
	path, err := a.clusterFileFor(job)
	if err != nil {
		return nil, nil, err
	}
	c, problems := loadFilled(path, &spec.Variables{Environment: os.LookupEnv})
	if err := a.showProblems(only(problems, diag.Error)); err != nil {
		return nil, nil, err
	}
	if info, err := os.Stat(spec.WorkloadPath(path)); err == nil && info.Size() == 0 {
		return c, &spec.Workload{}, nil // up writes an empty one where the user has none
	}
	w, problems := spec.LoadWorkload(spec.WorkloadPath(path), c)
	return c, w, a.showProblems(only(problems, diag.Error))
}

// clusterFileFor is the file of that cluster.
func (a *app) clusterFileFor(job string) (string, error) {
	ext := filepath.Ext(a.cluster)
	info, err := os.Stat(a.cluster)
	beside := filepath.Join(filepath.Dir(job), "cluster.yaml")
	switch {
	case a.cluster != "" && (ext == ".yaml" || ext == ".yml" || err == nil && info.Mode().IsRegular()):
		return a.cluster, nil
	case a.asked() == "" && inside():
		return services.ClusterFile, nil
	case a.asked() == "" && there(beside):
		return beside, nil
	}
	return a.knownFile()
}

// knownFile is the file of the cluster that other commands are about: as it runs where that
// is here, or else the one that it was made of.
func (a *app) knownFile() (string, error) {
	home, err := homeDir()
	if err != nil {
		return "", err
	}
	name, err := a.which(home, nil)
	if err != nil {
		return "", err
	}
	if path, err := a.fileHere(); err == nil {
		return path, nil
	}
	all, err := known(home, nil)
	if err != nil {
		return "", err
	}
	for _, k := range all {
		if k.name == name && k.file != "" && there(k.file) {
			return k.file, nil
		}
	}
	return "", noCluster(home, name)
}
