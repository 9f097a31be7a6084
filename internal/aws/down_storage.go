package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// storage exports file systems that are linked with S3 for a last time and deletes those
// whose data is all there. The stack stays as long as it holds data that is nowhere else: the
// next `up` mounts it again.
func (d *down) storage(ctx context.Context) (string, error) {
	name := storageStack(d.Name)
	state, ok := d.stacks[name]
	if !ok {
		return "no file systems", nil
	}
	if state.InProgress() || !state.Good() {
		// Half made or half deleted: its resources are looked at once it is settled.
		if err := d.driver.Settle(ctx, name); err != nil {
			return "", err
		}
	}
	all, err := d.driver.Resources(ctx, name)
	if errors.Is(err, cloudformation.ErrNoStack) {
		return "no file systems", nil
	}
	if err != nil {
		return "", err
	}
	template, err := d.driver.Template(ctx, name)
	if err != nil {
		return "", err
	}
	retained, err := cloudformation.Kept(template)
	if err != nil {
		return "", err
	}
	keep, err := d.sort(ctx, all, retained)
	if err != nil {
		return "", err
	}
	if err := d.endOpenZFS(ctx, all); err != nil {
		return "", err
	}
	if len(keep) == 0 {
		if err := release(ctx, d.driver, state); err != nil {
			return "", err
		}
		return d.delete(ctx, name)
	}
	d.keepStorage = true
	return d.shrink(ctx, name, template, all, keep)
}

// sort exports what can be exported and returns the names of resources whose data
// is nowhere else.
func (d *down) sort(ctx context.Context, all []cloudformation.Resource, retained map[string]bool) ([]string, error) {
	var keep []string
	for _, r := range all {
		if !slices.Contains(holdsData, r.Type) || r.ID == "" {
			continue
		}
		exported, err := d.export(ctx, r)
		switch {
		case err != nil && (ctx.Err() != nil || refused(err)):
			return nil, err
		case err != nil && d.DeleteData:
			return nil, fmt.Errorf("%w; delete its links with S3 by hand if its data is not wanted", err)
		case err != nil:
			return nil, err
		case retained[r.Name]:
			d.kept[r.ID] = retainedWhy
			if !d.DeleteData {
				keep = append(keep, r.Name)
			}
		case d.DeleteData || exported == "":
		default:
			d.kept[r.ID] = exported
			keep = append(keep, r.Name)
		}
	}
	return keep, nil
}

// release lets the stack of file systems be deleted, which `up` has protected.
func release(ctx context.Context, driver *cloudformation.Driver, state cloudformation.State) error {
	if !state.Protected {
		return nil
	}
	return driver.Release(ctx, state.Name)
}

// endOpenZFS ends the file systems of OpenZFS that are not kept, before their stack does
// it, which would leave a backup of each.
func (d *down) endOpenZFS(ctx context.Context, all []cloudformation.Resource) error {
	for _, r := range all {
		if r.Type != "AWS::FSx::FileSystem" || r.ID == "" || d.kept[r.ID] != "" {
			continue
		}
		for began, every := time.Now(), lookFirst; ; every = min(every*5/4, lookLast) {
			goes, err := d.Account.DeleteOpenZFS(ctx, r.ID)
			if err != nil {
				return err
			}
			if !goes {
				break
			}
			if time.Since(began) > endLimit {
				return fmt.Errorf("%s did not go within %s", r.ID, endLimit)
			}
			d.Report.Waiting("delete "+r.ID, "FSx", time.Since(began))
			if err := pause.For(ctx, every); err != nil {
				return err
			}
		}
	}
	return nil
}

// refused tells whether AWS does not take our credentials.
func refused(err error) bool {
	_, ok := errors.AsType[*api.CredentialsError](err)
	return ok
}

// retainedWhy is why something outlives its stack.
const retainedWhy = "its DeletionPolicy is Retain"

// remaining are the cluster's file systems that are still there. Their network
// interfaces hold the network.
func (d *down) remaining(ctx context.Context) ([]string, error) {
	all, err := d.Account.FileSystemsOf(ctx, d.Name)
	var ids []string
	for _, l := range all {
		ids = append(ids, l.ID)
		if d.kept[l.ID] == "" {
			d.kept[l.ID] = "no stack has it any more; delete it by hand if its data is not wanted"
		}
	}
	return ids, err
}

// export has a file system write to S3 what S3 lacks. It returns why the
// file system has to stay, empty if all of its data is in S3.
func (d *down) export(ctx context.Context, r cloudformation.Resource) (why string, err error) {
	const alone = "its data is nowhere else; --delete-data deletes it"
	if r.Type != "AWS::FSx::FileSystem" {
		return alone, nil
	}
	links, err := d.Account.Links(ctx, r.ID)
	if err != nil || len(links) == 0 {
		return alone, err
	}
	began := time.Now()
	done, err := d.Account.Export(ctx, r.ID, pathsOf(links), func(files, total int64) {
		d.Report.Waiting("export "+r.ID, fmt.Sprintf("%d of %s", files, count.Of(total, "file")), time.Since(began))
	})
	if err != nil {
		return "", err
	}
	d.Report.Note(fmt.Sprintf("%s: %s exported to %s", r.ID, count.Of(int(done.Total), "file"), links[0].Repository))
	for _, l := range links {
		if strings.Trim(l.Path, "/") == "" {
			return "", nil
		}
	}
	return fmt.Sprintf("only %s is linked with S3, other directories may hold data; --delete-data deletes it", strings.Join(pathsOf(links), ", ")), nil
}

func pathsOf(links []api.Link) []string {
	var all []string
	for _, l := range links {
		all = append(all, l.Path)
	}
	return all
}

// shrink takes what need not stay out of the stack.
func (d *down) shrink(ctx context.Context, name string, template []byte, all []cloudformation.Resource, keep []string) (string, error) {
	var gone []string
	for _, r := range all {
		if slices.Contains(holdsData, r.Type) && !slices.Contains(keep, r.Name) && d.kept[r.ID] == "" {
			gone = append(gone, r.Name)
		}
	}
	detail := count.Of(len(keep), "file system") + " kept"
	if len(gone) == 0 {
		return detail, nil
	}
	smaller, err := cloudformation.Without(template, gone)
	if err != nil {
		return "", err
	}
	state := d.stacks[name]
	in := cloudformation.Stack{Name: name, Template: smaller, Parameters: state.Parameters, Tags: state.Tags}
	d.driver.Upload = d.uploader(ctx)
	if _, _, err := d.driver.Ensure(ctx, in); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d deleted", detail, len(gone)), nil
}

// uploader puts a large template into the cluster's bucket.
func (d *down) uploader(ctx context.Context) func(context.Context, string, []byte) (string, error) {
	b, err := openBucket(ctx, d.Account, d.bucket)
	return func(ctx context.Context, stack string, template []byte) (string, error) {
		if err != nil {
			return "", err
		}
		return uploadTemplate(ctx, d.Account, b, d.Name, d.bucket, stack, template)
	}
}

// left lists the resources with the cluster's tag.
func (d *down) left(ctx context.Context) ([]place.Left, error) {
	stays := func(l api.Left) bool {
		return d.kept[l.ID] != "" || d.keepBase && l.Free || !d.deleted
	}
	all, err := d.Account.LeftAfter(ctx, d.Name, stays)
	if err != nil {
		return nil, err
	}
	var left []place.Left
	for _, l := range all {
		left = append(left, place.Left{
			Kind: l.Kind, ID: l.ID, What: l.What, USDPerMonth: l.USDPerMonth, Known: l.Known, Free: l.Free,
			Kept: d.kept[l.ID] != "" || d.keepBase && l.Free, Why: d.kept[l.ID],
		})
	}
	return left, nil
}

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
