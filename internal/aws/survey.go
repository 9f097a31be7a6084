package aws

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/spec"
)

// Survey asks the account for what a file and its muster.yaml, which may be nil, name, and says
// so if it takes long. name is the cluster's, empty if it is not known.
func Survey(ctx context.Context, acc *api.Account, f *spec.File, workload *spec.Workload, name string, t place.Talk) (inventory.Inventory, error) {
	w := lint.Wanted(f)
	lint.WantExports(w, workload)
	w.Cluster = name
	return survey(ctx, acc, w, t)
}

// Judge adds to a file's problems what an inventory says of it and of its muster.yaml.
func Judge(inv inventory.Inventory, f *spec.File, workload *spec.Workload) {
	if workload != nil {
		makeBuckets(&inv, workload.Buckets)
	}
	lint.Online(f, inv)
	f.Problems.Append(lint.Exports(workload, inv).All()...)
	f.Finish()
}

// tellAfter is how long a question may take until it is told.
const tellAfter = time.Second

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
func survey(ctx context.Context, acc *api.Account, w inventory.Wanted, t place.Talk) (inventory.Inventory, error) {
	type answer struct {
		inventory.Inventory
		error
	}
	came := make(chan answer, 1)
	go func() {
		inv, err := acc.Survey(ctx, w)
		came <- answer{inv, err}
	}()
	timer := time.NewTimer(tellAfter)
	defer timer.Stop()
	select {
	case x := <-came:
		return x.Inventory, x.error
	case <-timer.C:
		if !t.Quiet() {
			fmt.Fprintf(t.Out(), "asking AWS what there is in %s ...\n", acc.Region)
		}
	}
	x := <-came
	return x.Inventory, x.error
}
