package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// How long the head node may be silent, and its exports stand still, before down goes on without them.
const (
	silentLimit = 90 * time.Second
	standLimit  = 15 * time.Minute // looks at very many files are as far apart
	lookAgain   = 2 * time.Second
)

// mirror is what a head node says of its exports.
type mirror struct {
	at  time.Time
	all []manifest.Exported
}

// mirrors is what the head node said last of its exports; none if there is no such cluster any more.
func (d *down) mirrors(ctx context.Context) (mirror, error) {
	if d.bucket == "" {
		return mirror{}, nil
	}
	b, err := openBucket(ctx, d.Account, d.bucket)
	if err != nil {
		return mirror{}, err
	}
	var head manifest.HeadStatus
	err = readJSON(ctx, b, manifest.HeadKey(d.Name), &head)
	if errors.Is(err, store.ErrNotFound) || err == nil && head.Cluster == nil {
		return mirror{}, nil
	}
	if err != nil {
		return mirror{}, err
	}
	return mirror{head.At, head.Cluster.Exports}, nil
}

// exports waits until the head node has exported what muster.yaml says. The fleet has stopped writing by then.
func (d *down) exports(ctx context.Context) (string, error) {
	first, err := d.mirrors(ctx)
	if err != nil {
		return "", err
	}
	if len(first.all) == 0 {
		return "none", nil
	}
	if running, err := d.headRuns(ctx); err != nil || !running {
		return d.headless(err)
	}
	last, moved, heard := first, time.Now(), false
	looks := 0 // since the fleet has stopped: the first may have begun before
	for {
		switch still := time.Since(moved); {
		case looks > 1 && waiting(last.all) == 0:
			return d.exported(last)
		case !heard && still > silentLimit:
			return d.unexported("the head node says nothing any more: it is unknown what is not in the buckets")
		case still > standLimit:
			return d.unexported(fmt.Sprintf("%s, and nothing moves for %s", left(last.all), count.Span(still)))
		}
		d.Report.Waiting("export what is left", left(last.all), time.Since(moved))
		if err := pause.For(ctx, lookAgain); err != nil {
			return "", err
		}
		now, err := d.mirrors(ctx)
		if err != nil {
			return "", err
		}
		if now.at.After(first.at) {
			heard = true
		}
		if !slices.Equal(now.all, last.all) {
			moved = time.Now()
		}
		if looked(now.all).After(looked(last.all)) {
			looks++
		}
		last = now
	}
}

// headRuns tells whether there is a head node that could export.
func (d *down) headRuns(ctx context.Context) (bool, error) {
	all, err := d.Account.Instances(ctx, d.Name)
	return slices.ContainsFunc(all, func(i api.Instance) bool { return i.Role == manifest.RoleHead && i.State == "running" }), err
}

// headless goes on without a head node: what it did not export nobody does. One that was ended just now is a reason to
// stop once.
func (d *down) headless(err error) (string, error) {
	const why = "no head node runs: it is unknown what is not in the buckets"
	if err != nil {
		return "", err
	}
	if d.silenced && d.DeleteData {
		return "", errors.New("nothing was deleted: the head node did not answer and was ended, and it is unknown what it had not exported; run this again to delete all the same")
	}
	d.Report.Note(why)
	return why, nil
}

// exported says what came of exports of which nothing waits any more. Some files may be such as cannot be exported.
func (d *down) exported(m mirror) (string, error) {
	var cannot []string
	for _, e := range m.all {
		if e.Blocked > 0 {
			cannot = append(cannot, fmt.Sprintf("%s of %s cannot be exported, such as %s", count.Of(e.Blocked, "file"), e.Path, e.First))
		}
	}
	if len(cannot) > 0 {
		return d.unexported(strings.Join(cannot, "; "))
	}
	return "nothing waits", nil
}

// unexported goes on where the data stays, and stops where it is to be deleted.
func (d *down) unexported(why string) (string, error) {
	if d.DeleteData {
		return "", fmt.Errorf("nothing was deleted: %s; mend that, or take the cluster down without --delete-data: its file systems stay", why)
	}
	d.Report.Note(why)
	return why, nil
}

// looked is since when all exports have looked.
func looked(all []manifest.Exported) time.Time {
	var oldest time.Time
	for i, e := range all {
		if i == 0 || e.Looked.Before(oldest) {
			oldest = e.Looked
		}
	}
	return oldest
}

// waiting are the files that will be exported.
func waiting(all []manifest.Exported) int {
	n := 0
	for _, e := range all {
		if n += e.Pending - e.Blocked; e.Unknown {
			n++
		}
	}
	return n
}

// left says what waits.
func left(all []manifest.Exported) string {
	var bytes int64
	for _, e := range all {
		bytes += e.PendingBytes
	}
	return fmt.Sprintf("%s to export, %s", count.Of(waiting(all), "file"), count.Bytes(bytes))
}
