package lint

import (
	"slices"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// WantExports adds to what AWS is to be asked the buckets that muster.yaml, which may be nil,
// exports to and that are not made.
func WantExports(w inventory.Wanted, workload *spec.Workload) {
	for _, e := range foreign(workload) {
		if names := w.Names["aws/bucket"]; !slices.Contains(names, e.Bucket) {
			w.Names["aws/bucket"] = append(names, e.Bucket)
		}
	}
}

// Exports are the problems of muster.yaml's exports that only AWS knows: a bucket that is
// not there.
func Exports(workload *spec.Workload, inv inventory.Inventory) *diag.List {
	list := &diag.List{}
	for _, e := range foreign(workload) {
		why, unasked := inv.Unasked["aws/bucket"]
		hidden := inv.Hidden["aws/bucket"][e.Bucket]
		ok, _ := inv.Has("aws/bucket", e.Bucket)
		switch {
		case ok:
		case unasked:
			list.Blindf("aws/bucket", e.Place.Path, "bucket %s is not looked up: %s", e.Bucket, why).At(e.Place)
		case hidden != "":
			list.Blindf("aws/bucket", e.Place.Path, "bucket %s is not looked up: %s", e.Bucket, hidden).At(e.Place)
		default:
			list.Errorf("aws/missing", e.Place.Path, "bucket %s does not exist, or account %s may not see it", e.Bucket, inv.Account).
				At(e.Place).WithHint("add it to Buckets to have it made, or mend its name")
		}
	}
	return list
}

// foreign are the exports to buckets that muster.yaml does not have made.
func foreign(workload *spec.Workload) []spec.Export {
	if workload == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(workload.Exports), func(e spec.Export) bool { return slices.Contains(workload.Buckets, e.Bucket) })
}
