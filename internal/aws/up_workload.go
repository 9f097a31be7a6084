package aws

import (
	"context"
	"errors"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// formerWorkload reads the muster.yaml that the cluster has. Where there is none beside the cluster
// file it stays the cluster's: a file that is missing is no wish to lose what it says.
func (u *up) formerWorkload(ctx context.Context) error {
	if u.bucket == nil {
		return nil
	}
	text, err := readObject(ctx, u.bucket, manifest.WorkloadKey(u.Name))
	if errors.Is(err, store.ErrNotFound) || err == nil && len(text) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	w, problems := spec.ParseWorkload(place.FormerWorkload, text, u.File.Cluster)
	if w == nil { // the cluster file has changed, or another muster wrote it
		w, _ = spec.ParseWorkload(place.FormerWorkload, text, nil)
	}
	u.former = w
	if u.WorkloadSource != nil {
		return nil
	}
	if problems.HasErrors() {
		return place.Unfit(problems)
	}
	u.Workload, u.WorkloadSource = w, text
	u.Report.Note(place.KeepsWorkload(u.Name))
	return nil
}
