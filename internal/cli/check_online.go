package cli

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

// online asks AWS about cluster files.
type online struct {
	*app
	// accounts are those that were opened, by the file's region.
	accounts map[string]*api.Account
}

// slow is how long a question may take until it is told.
const slow = time.Second

// judge adds to a file's problems what AWS says of it. name is the cluster's, empty if
// nobody knows it; the workload, which may be nil, has buckets that `up` makes.
func (o *online) judge(ctx context.Context, f *spec.File, name string, workload *spec.Workload) error {
	inv, err := o.ask(ctx, f, name)
	if err != nil {
		return err
	}
	judgeBy(inv, f, workload)
	return nil
}

// ask asks for what a file names.
func (o *online) ask(ctx context.Context, f *spec.File, name string) (inventory.Inventory, error) {
	w := lint.Wanted(f)
	w.Cluster = name
	acc := o.accounts[w.Region]
	if acc == nil {
		var err error
		if acc, err = api.Open(ctx, w.Region); err != nil {
			return inventory.Inventory{}, err
		}
		o.accounts[w.Region] = acc
	}
	return o.survey(ctx, acc, w)
}

// judgeBy adds to a file's problems what an inventory says of it.
func judgeBy(inv inventory.Inventory, f *spec.File, workload *spec.Workload) {
	if workload != nil {
		makeBuckets(&inv, workload.Buckets)
	}
	lint.Online(f, inv)
	f.Finish()
}

// beside is the muster.yaml beside a cluster file, nil if it has none that can be read.
func beside(f *spec.File, path string) *spec.Workload {
	if path == stdinName {
		return nil
	}
	w, _ := spec.LoadWorkload(spec.WorkloadPath(path), f.Cluster) // what is wrong with it is said elsewhere
	return w
}

// makeBuckets adds buckets that will be there.
func makeBuckets(inv *inventory.Inventory, names []string) {
	inv.Buckets = maps.Clone(inv.Buckets) // what the account has stays as it is
	for _, name := range names {
		if _, ok := inv.Buckets[name]; !ok {
			inv.Buckets[name] = inventory.Bucket{Region: inv.Region}
		}
	}
}

// survey asks AWS, and says so if it takes long.
func (a *app) survey(ctx context.Context, acc *api.Account, w inventory.Wanted) (inventory.Inventory, error) {
	type answer struct {
		inventory.Inventory
		error
	}
	came := make(chan answer, 1)
	go func() {
		inv, err := acc.Survey(ctx, w)
		came <- answer{inv, err}
	}()
	timer := time.NewTimer(slow)
	defer timer.Stop()
	select {
	case x := <-came:
		return x.Inventory, x.error
	case <-timer.C:
		if !a.quiet {
			fmt.Fprintf(a.err, "asking AWS what there is in %s ...\n", acc.Region)
		}
	}
	x := <-came
	return x.Inventory, x.error
}

// named is the name of the cluster that a file makes, empty for the standard input.
func (a *app) named(path string) string {
	if a.cluster != "" && spec.CheckName(a.cluster) == nil {
		return a.cluster
	}
	if path == stdinName {
		return ""
	}
	name, err := spec.NameOf(path)
	if err != nil {
		return ""
	}
	return name
}
