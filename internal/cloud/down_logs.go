package cloud

import (
	"context"
)

// logGroup is the name of a cluster's own logs.
func logGroup(name string) string { return "/aws/muster/" + name }

// deleteLogs deletes the logs of the cluster, unless its file says that they outlive it.
// Logs that were there before the cluster are not its own.
func (d *down) deleteLogs(ctx context.Context) (string, error) {
	name := logGroup(d.Name)
	own, err := d.Account.OwnLogGroup(ctx, name, d.Name)
	if err != nil || !own {
		return "", err
	}
	file, err := d.file(ctx)
	if err != nil {
		return "", err
	}
	if file != nil {
		root, _ := file.Root()
		if root.At("Monitoring.Logs.CloudWatch.DeletionPolicy").Text() == "Retain" {
			d.kept[name] = retainedWhy
			return "", nil
		}
	}
	delete(d.kept, name)
	return ", and its logs", d.Account.DeleteLogGroup(ctx, name)
}
