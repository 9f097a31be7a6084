package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/cloud"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// upAWS makes a cluster on AWS what its file says.
func (a *app) upAWS(ctx context.Context, path string, o upOptions) error {
	up, err := a.readForAWS(path, o.workload)
	if err != nil {
		return err
	}
	if up.Name, up.Home, err = a.nameForAWS(path); err != nil {
		return err
	}
	if up.Account, err = account.Open(ctx, up.File.Cluster.Region); err != nil {
		return err
	}
	if err := a.lookForUp(ctx, path, up); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	up.Version, up.PublicKey, up.Address, up.Report = versionOf(info).Version, publicKey(), account.CallerAddress, a.reporter()
	answer := changeAnswer{Cluster: up.Name}
	up.Confirm = func(p *cloud.Plan) error {
		answer.Plan = p
		return a.confirmPlan(p, o.yes)
	}
	answer.Steps, err = cloud.Up(ctx, up)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.err, "\nmuster: `muster up` goes on from here, `muster down --cluster %s` takes away what there is\n", up.Name)
	}
	return a.showSteps(answer, err)
}

// readForAWS reads and checks the files as strictly as AWS takes them.
func (a *app) readForAWS(path, workload string) (cloud.UpOptions, error) {
	var up cloud.UpOptions
	var err error
	if up.Path, err = filepath.Abs(path); err != nil {
		return up, err
	}
	problems := &diag.List{}
	var ok bool
	if up.Source, ok = spec.Read(path, problems); !ok {
		return up, a.showProblems(problems)
	}
	up.File = spec.OpenText(path, up.Source, spec.Options{AWS: true})
	rules(up.File)
	if up.File.Problems.HasErrors() {
		return up, a.showFor(path, up.File)
	}
	if up.File.Cluster == nil {
		return up, errors.New("the file leaves the instance types to the capacity reservation: write InstanceType")
	}
	asked := workload != ""
	if !asked {
		workload = spec.WorkloadPath(path)
	}
	up.Workload, problems = spec.LoadWorkload(workload, up.File.Cluster)
	if err := a.showProblems(problems); err != nil {
		return up, err
	}
	up.WorkloadSource, err = os.ReadFile(workload)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		err = nil
	}
	return up, err
}

// lookForUp says of the file what AWS says of it, as `muster check --online` does. What
// AWS does not answer comes in one line.
func (a *app) lookForUp(ctx context.Context, path string, up cloud.UpOptions) error {
	f := spec.OpenText(path, up.Source, spec.Options{AWS: true})
	ask := online{app: a, accounts: map[string]*account.Account{up.File.Cluster.Region: up.Account}}
	if err := ask.judge(ctx, f, up.Name, up.Workload); err != nil {
		return err
	}
	return a.showFor(path, f)
}

// showFor shows a file's problems as `muster check` does, and fails if there are errors.
func (a *app) showFor(path string, f *spec.File) error {
	c := checker{}
	c.add(path, "cluster", "", f.Problems)
	if err := a.writeProblems(&c); err != nil {
		return err
	}
	if f.Problems.HasErrors() {
		return exitCode(exitProblem)
	}
	return nil
}

// nameForAWS is the name of the cluster that a file makes. One name means one
// cluster on a machine.
func (a *app) nameForAWS(path string) (name, home string, err error) {
	if home, name, err = a.newName(path); err != nil {
		return "", "", err
	}
	if taken, err := localCluster(home, name); err != nil || taken {
		return "", "", errors.Join(err, fmt.Errorf("there is a local cluster %s: choose another name with --cluster, or take it down with `muster down --cluster %s`", name, name))
	}
	return name, home, cloud.CheckUp(home, name)
}

// publicKey is the user's, nil if there is none. EC2 takes Ed25519 and RSA.
func publicKey() []byte {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	for _, name := range []string{"id_ed25519.pub", "id_rsa.pub"} {
		if key, err := os.ReadFile(filepath.Join(home, ".ssh", name)); err == nil {
			return key
		}
	}
	return nil
}

// confirmPlan shows what is to be done and asks, unless there is nothing to do.
func (a *app) confirmPlan(p *cloud.Plan, yes bool) error {
	if p.Empty() {
		return nil
	}
	if err := writeCloudPlan(a.err, p); err != nil {
		return err
	}
	if yes {
		return nil
	}
	question := "Go on?"
	if p.New {
		question = fmt.Sprintf("Make cluster %s?", p.Cluster)
	}
	return a.confirm(question)
}
