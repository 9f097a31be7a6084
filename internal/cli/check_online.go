package cli

import (
	"context"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

// online asks AWS about cluster files.
type online struct {
	*app
	// accounts are those that were opened, by the file's region.
	accounts map[string]*api.Account
}

// judge adds to a file's problems what AWS says of it. name is the cluster's, empty if
// it is not known; the workload, which may be nil, has buckets that `up` makes.
func (o *online) judge(ctx context.Context, f *spec.File, name string, workload *spec.Workload) error {
	region := lint.Wanted(f).Region
	acc := o.accounts[region]
	if acc == nil {
		var err error
		if acc, err = api.Open(ctx, region); err != nil {
			return err
		}
		o.accounts[region] = acc
	}
	inv, err := aws.Survey(ctx, acc, f, workload, name, talk{o.app})
	if err != nil {
		return err
	}
	aws.Judge(inv, f, workload)
	return nil
}

// beside is the muster.yaml beside a cluster file, nil if it has none that can be read.
func beside(f *spec.File, path string) *spec.Workload {
	if path == stdinName {
		return nil
	}
	w, _ := spec.LoadWorkload(spec.WorkloadPath(path), f.Cluster) // its problems are reported elsewhere
	return w
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
