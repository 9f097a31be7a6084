package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/sbatch"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// jobKey begins the line of a job file that no other YAML file of ours has.
var jobKey = pattern.New(`(?m)^["']?Job["']?[ \t]*:`)

// isJobFile tells job files from batch scripts: by the name, or where that says nothing by
// a line that they have. A script begins with #!.
func isJobFile(name string, data []byte) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		return !batch.IsScript(data)
	case "":
		return !batch.IsScript(data) && jobKey().Match(data)
	}
	return false
}

// isJobFileAt is isJobFile for a file that may not be there.
func isJobFileAt(name string) bool {
	data, problems := readScript(name)
	return !problems.HasErrors() && isJobFile(name, data)
}

// jobWishes are what the command line says of a job file.
type jobWishes struct {
	// model is the one of muster.yaml that the job is of; all makes a job of each.
	model string
	all   bool
	// secretsOnStdin says that a muster outside has read the secrets.
	secretsOnStdin bool
	// args stand behind those of the file.
	args []string
}

// asks reports whether something is wished that only job files have.
func (w jobWishes) asks() bool { return w.model != "" || w.all }

// modelFlag adds --model to a command that takes job files.
func modelFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "model", "", "of a job file: the `MODEL` of muster.yaml that it is for")
}

// readJobs reads a job file. Relative paths in it begin in dir.
func readJobs(called, dir string, data []byte, w *spec.Workload, wishes jobWishes) ([]*jobfile.Job, *diag.List) {
	j, problems := jobfile.Parse(called, dir, data)
	if j == nil {
		return nil, problems
	}
	j.Arguments = slices.Concat(j.Arguments, wishes.args)
	if wishes.all {
		all, more := j.All(w)
		problems.Append(more.All()...)
		return all, problems
	}
	one, more := j.One(w, wishes.model)
	problems.Append(more.All()...)
	if one == nil {
		return nil, problems
	}
	return []*jobfile.Job{one}, problems
}

// workloadHere is the muster.yaml of the cluster whose machine this is; it is empty where
// there is none.
func workloadHere() *spec.Workload {
	_, w := filesHere()
	return w
}

// filesHere are the cluster file, nil if it cannot be read, and muster.yaml, which is empty then.
func filesHere() (*spec.Cluster, *spec.Workload) {
	c, _ := spec.Load(services.ClusterFile)
	data, err := os.ReadFile(services.WorkloadFile)
	if err != nil || len(data) == 0 {
		return c, &spec.Workload{}
	}
	if w, _ := spec.ParseWorkload(services.WorkloadFile, data, c); w != nil {
		return c, w
	}
	return c, &spec.Workload{}
}

// burnInsHere are how long new nodes of this cluster may prove themselves, by their queues.
func burnInsHere() map[string]time.Duration {
	c, w := filesHere()
	if c == nil {
		return nil
	}
	return w.BurnInLimits(c)
}

// jobDir is where the relative paths of a job file begin: beside it, or in the working
// directory where it was copied here from elsewhere or is read from the standard input.
func jobDir(b batchScript) (string, error) {
	if b.called != b.file {
		return os.Getwd()
	}
	path, err := filepath.Abs(b.file)
	return filepath.Dir(path), err
}

// keptScript is where the batch script of a job stays: beside its log, under a name that
// tells its text.
func keptScript(j *jobfile.Job, s *sbatch.Script) string {
	sum := sha256.Sum256([]byte(s.Text))
	return filepath.Join(j.Logs, fmt.Sprintf("%s.%x.sbatch", j.Name, sum[:4]))
}

// keepScript writes it, with the directory of the log, which Slurm makes for nobody.
func keepScript(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o775); err != nil {
		return fmt.Errorf("make the directory of the log: %w", err)
	}
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return nil
	}
	err := whole.Write(path, []byte(text), 0o644)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("keep the batch script beside the log: %w", err)
	}
	return err
}

// checkMade is what a check finds in a job's script, without what comments of the job file
// allow.
func checkMade(s *sbatch.Script, name string, file []byte, flags []string, f *batch.Facts) *diag.List {
	found := s.Check(flags, f)
	found.Allow(name, file)
	return found
}
