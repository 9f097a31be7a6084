package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

// upAWS makes a cluster on AWS what its file says.
func (a *app) upAWS(ctx context.Context, path string, o upOptions) error {
	var up aws.UpOptions
	err := heed.Call(ctx, func() (err error) {
		up, err = a.readForAWS(path)
		return err
	})
	if err != nil {
		return err
	}
	if up.Name, up.Home, err = a.nameForAWS(path); err != nil {
		return err
	}
	written := up.Source
	if err := openForAWS(ctx, &up); err != nil {
		return err
	}
	if err := heed.Call(ctx, func() error { return a.workloadForAWS(o.workload, &up) }); err != nil {
		return err
	}
	if err := a.lookForUp(ctx, path, written, &up); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	up.Version, up.PublicKey, up.Address, up.Report = versionOf(info).Version, publicKey(ctx), api.CallerAddress, a.reporter()
	up.Test = o.test()
	answer := changeAnswer{Cluster: up.Name}
	up.Confirm = func(p *aws.Plan) error {
		answer.Plan = p
		return a.confirmPlan(p, o.yes)
	}
	answer.Steps, err = aws.Up(ctx, up)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.err, "\nmuster: `muster up` goes on from here, `muster down --cluster %s` takes away what there is\n", up.Name)
	}
	return a.showSteps(answer, err)
}

// test says when a test job is run on AWS.
func (o upOptions) test() aws.Test {
	switch {
	case o.noTest:
		return aws.TestNever
	case o.verify:
		return aws.TestAlways
	}
	return aws.TestStatic
}

// readForAWS reads and checks the cluster file as strictly as AWS takes it.
func (a *app) readForAWS(path string) (aws.UpOptions, error) {
	var up aws.UpOptions
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
	if up.File.Cluster == nil { // AWS completes it
		return up, unknownType(up.File.Problems)
	}
	return up, up.File.Cluster.RefuseMounts()
}

// openForAWS opens the account, and asks it for what the file leaves to capacity
// reservations.
func openForAWS(ctx context.Context, up *aws.UpOptions) error {
	var err error
	if up.Account, err = api.Open(ctx, up.File.Model().Region); err != nil {
		return err
	}
	if up.File.Cluster != nil {
		return nil
	}
	if up.File, err = aws.Typed(ctx, up.Account, up.File); err != nil {
		return err
	}
	up.Source = up.File.Text()
	if up.File.Cluster == nil {
		return errors.New("the file leaves instance types to something else than a capacity reservation: write InstanceType")
	}
	return up.File.Cluster.RefuseMounts()
}

// unknownType refuses a file with an instance type that no list has.
func unknownType(problems *diag.List) error {
	for _, p := range problems.All() {
		if p.Code == "instance/unknown" {
			return fmt.Errorf("%s: %s", p.Message, p.Hint)
		}
	}
	return nil
}

// workloadForAWS reads and checks muster.yaml.
func (a *app) workloadForAWS(workload string, up *aws.UpOptions) error {
	var problems *diag.List
	up.Workload, up.WorkloadSource, problems = readWorkload(workload, up.File.Cluster)
	return a.showProblems(problems)
}

// notOnAWS refuses to make a local cluster of a name that this machine knows on AWS: one
// name means one cluster.
func (a *app) notOnAWS(path string, asked bool) error {
	home, name, err := a.newName(path, onLocal)
	if err != nil {
		return nil // what is wrong with the name is said elsewhere
	}
	record, err := aws.RecordOf(home, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if taken, err := localCluster(home, name); err != nil || taken {
		return err
	}
	if asked || record.Adopted != nil {
		return fault.Usage(fmt.Errorf("cluster %s is on AWS, in %s: choose another name for a local one with --cluster", name, record.Region))
	}
	return fault.Usage(fmt.Errorf("cluster %s is on AWS, in %s: `muster up %s --on aws` changes it; for a local one choose another name with --cluster", name, record.Region, path))
}

// lookForUp says of the file what AWS says of it, as `muster check --online` does. What
// AWS does not answer comes in one line. What it answers is kept for the templates.
func (a *app) lookForUp(ctx context.Context, path string, written []byte, up *aws.UpOptions) error {
	var err error
	ask := online{app: a, accounts: map[string]*api.Account{up.File.Cluster.Region: up.Account}}
	if up.Inventory, err = ask.ask(ctx, up.File, up.Name); err != nil {
		return err
	}
	f := spec.OpenText(path, written, spec.Options{AWS: true})
	judgeBy(up.Inventory, f, up.Workload)
	return a.showFor(path, f)
}

// showFor shows a file's problems as `muster check` does, and fails if there are errors.
func (a *app) showFor(path string, f *spec.File) error {
	if a.output == "json" && f.Problems.HasErrors() {
		return f.Problems
	}
	c := checker{}
	c.add(path, "cluster", "", f.Problems)
	if err := a.writeProblems(&c); err != nil {
		return err
	}
	if f.Problems.HasErrors() {
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}

// nameForAWS is the name of the cluster that a file makes. One name means one
// cluster on a machine.
func (a *app) nameForAWS(path string) (name, home string, err error) {
	var told string
	if home, name, told, err = a.nameForUp(path, onAWS); err != nil {
		return "", "", err
	}
	a.tell(told)
	if taken, err := localCluster(home, name); err != nil || taken {
		return "", "", errors.Join(err, fmt.Errorf("there is a local cluster %s: choose another name with --cluster, or take it down with `muster down --cluster %s`", name, name))
	}
	return name, home, aws.CheckUp(home, name)
}

// publicKey is the user's, nil if there is none. EC2 takes Ed25519 and RSA.
func publicKey(ctx context.Context) []byte {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	for _, name := range []string{"id_ed25519.pub", "id_rsa.pub"} {
		f, err := heed.Open(ctx, filepath.Join(home, ".ssh", name))
		if err != nil {
			continue
		}
		defer f.Close()
		if key, err := io.ReadAll(f); err == nil {
			return key
		}
	}
	return nil
}

// confirmPlan shows what is to be done and asks, unless there is nothing to do.
func (a *app) confirmPlan(p *aws.Plan, yes bool) error {
	if p.Empty() {
		return nil
	}
	if a.quiet && yes {
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
