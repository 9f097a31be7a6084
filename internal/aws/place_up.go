package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

// wanted is what a cluster is to be.
type wanted struct {
	UpOptions
	// workload is the path of muster.yaml, empty for the one beside the cluster file.
	workload string
	// file is the cluster file as its user calls it.
	file string
	talk place.Talk
}

// Read implements place.Place: it reads and checks the cluster file as strictly as AWS
// takes it, until the context ends.
func (Place) Read(ctx context.Context, f place.Files, t place.Talk) (place.Wanted, error) {
	w := &wanted{file: f.Cluster, workload: f.Workload, talk: t}
	err := heed.Call(ctx, func() error { return w.read(f) })
	return w, err
}

func (w *wanted) read(f place.Files) (err error) {
	path := f.Cluster
	w.Path = spec.Lasting(path)
	if w.Source, err = place.ReadCluster(f, w.talk); err != nil {
		return err
	}
	w.File = openForAWS(path, w.Source)
	if w.File.Problems.HasErrors() {
		return w.talk.Checked(w.File, path)
	}
	if w.File.Cluster == nil { // AWS completes it
		return unknownType(w.File.Problems)
	}
	return w.File.Cluster.RefuseMounts()
}

// openForAWS reads a cluster file as strictly as AWS takes it.
func openForAWS(path string, text []byte) *spec.File {
	f := spec.OpenText(path, text, spec.Options{AWS: true})
	lint.Cluster(f)
	f.Finish()
	return f
}

// Up implements place.Wanted.
func (w *wanted) Up(ctx context.Context, o place.UpOptions) (place.Answer, error) {
	w.Home, w.Name, w.Version = o.Home, o.Name, o.Version
	if err := checkUp(w.Home, w.Name); err != nil {
		return place.Answer{}, err
	}
	if err := w.prepare(ctx); err != nil {
		return place.Answer{}, err
	}
	w.PublicKey, w.Address, w.Report = publicKey(ctx), api.CallerAddress, w.talk.Report()
	switch {
	case o.NoTest:
		w.Test = TestNever
	case o.Verify:
		w.Test = TestAlways
	}
	answer := place.Answer{Cluster: w.Name}
	w.Confirm = func(p *Plan) error {
		answer.Plan = p
		return w.confirm(p, o.Yes)
	}
	w.Tested = func(t place.TestJob) { answer.TestJob = &t }
	var err error
	answer.Steps, err = Up(ctx, w.UpOptions)
	return answer, err
}

// prepare asks the account for what the files leave to it, and checks them by it.
func (w *wanted) prepare(ctx context.Context) error {
	path, written := w.file, w.Source
	if err := w.open(ctx); err != nil {
		return err
	}
	if err := heed.Call(ctx, w.readWorkload); err != nil {
		return err
	}
	return w.look(ctx, path, written)
}

// open opens the account, and asks it for what the file leaves to capacity reservations.
func (w *wanted) open(ctx context.Context) error {
	var err error
	if w.Account, err = api.Open(ctx, w.File.Model().Region); err != nil {
		return err
	}
	if w.File.Cluster != nil {
		return nil
	}
	if w.File, w.Inventory.Reservations, err = Typed(ctx, w.Account, w.File); err != nil {
		return err
	}
	w.Source = w.File.Text()
	if w.File.Cluster == nil {
		return errors.New("the file leaves instance types to something else than a capacity reservation: write InstanceType")
	}
	return w.File.Cluster.RefuseMounts()
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

// readWorkload reads and checks muster.yaml.
func (w *wanted) readWorkload() error {
	var problems *diag.List
	w.Workload, w.WorkloadSource, problems = place.ReadWorkload(w.workload, w.File.Cluster)
	return w.talk.Problems(problems)
}

// look says of the file what AWS says of it, as `muster check --online` does. What AWS
// does not answer comes in one line. What it answers is kept for the templates.
func (w *wanted) look(ctx context.Context, path string, written []byte) (err error) {
	asked := lint.Wanted(w.File)
	lint.WantExports(asked, w.Workload)
	asked.Cluster, asked.Reservations = w.Name, w.Inventory.Reservations
	if w.Inventory, err = survey(ctx, w.Account, asked, w.talk); err != nil {
		return err
	}
	f := spec.OpenText(path, written, spec.Options{AWS: true})
	Judge(w.Inventory, f, w.Workload)
	return w.talk.Checked(f, path)
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

// confirm shows the plan and asks, unless the plan is empty.
func (w *wanted) confirm(p *Plan, yes bool) error {
	if p.Empty() {
		return nil
	}
	if w.talk.Quiet() && yes {
		return nil
	}
	if err := p.Write(w.talk.Out()); err != nil {
		return err
	}
	if yes {
		return nil
	}
	question := "Go on?"
	if p.New {
		question = fmt.Sprintf("Make cluster %s?", p.Cluster)
	}
	return w.talk.Confirm(question)
}
