package aws

import (
	"context"
	"errors"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// logGroup is the name of a cluster's own logs.
func logGroup(name string) string { return "/aws/muster/" + name }

// deleteLogs deletes the logs of the cluster, unless its file says that they outlive it,
// or the file is gone. Logs that were there before the cluster are not
// its own.
func (d *down) deleteLogs(ctx context.Context, left []api.Left) (string, error) {
	name := logGroup(d.Name)
	own, err := d.Account.OwnLogGroup(ctx, name, d.Name)
	if err != nil || !own {
		return "", err
	}
	if err := d.findBucket(ctx, left); err != nil {
		return "", err
	}
	file, err := d.file(ctx)
	if err != nil {
		return "", err
	}
	if file == nil {
		d.kept[name] = "the cluster's file, which may want to keep it, is not there any more; `aws logs delete-log-group --log-group-name " + name + "` deletes it"
		return "", nil
	}
	if file.Monitoring.Logs.Kept {
		d.kept[name] = retainedWhy
		return "", nil
	}
	delete(d.kept, name)
	return ", and its logs", d.Account.DeleteLogGroup(ctx, name)
}

// findBucket finds the bucket with the cluster's file where no stack names it any more.
func (d *down) findBucket(ctx context.Context, left []api.Left) error {
	for _, l := range left {
		if d.bucket != "" || l.Kind != "bucket" {
			continue
		}
		b, err := openBucket(ctx, d.Account, l.ID)
		if err != nil {
			return err
		}
		_, err = b.Head(ctx, manifest.FileKey(d.Name))
		switch {
		case err == nil:
			d.bucket = l.ID
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return nil
}
