package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// How long a head node may take to stop the fleet, and instances to end.
const (
	stopLimit = time.Minute
	endLimit  = 15 * time.Minute
)

// fleet ends the compute nodes. The head node is told first, or it would start
// others; where it does not obey it is ended, too.
func (d *down) fleet(ctx context.Context) (string, error) {
	all, err := d.Account.Instances(ctx, d.Name)
	if err != nil {
		return "", err
	}
	head, seen := "", map[string]bool{}
	for _, i := range all {
		if i.Role == manifest.RoleCompute && !i.Gone() {
			seen[i.ID] = true
		}
		if i.Role == manifest.RoleHead && i.State == "running" {
			head = i.ID
		}
	}
	told := "no head node runs"
	if head != "" {
		if told, err = d.tell(ctx, head); err != nil {
			return "", err
		}
	}
	n, err := d.end(ctx, seen, func(i api.Instance) bool { return i.Role == manifest.RoleCompute })
	return told + "; " + count.Of(n, "instance") + " ended", err
}

// tell asks the head node to stop the fleet and waits for its word. A head node
// that does not answer is ended.
func (d *down) tell(ctx context.Context, head string) (string, error) {
	if d.bucket != "" {
		b, err := openBucket(ctx, d.Account, d.bucket)
		if err != nil {
			return "", err
		}
		asked := time.Now().UTC()
		err = writeJSON(ctx, b, manifest.FleetKey(d.Name), manifest.Fleet{Want: "stopped", Why: "the cluster is taken down", At: asked})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		if err == nil {
			if stopped, err := d.obeyed(ctx, b, asked); stopped || err != nil {
				return "the head node has stopped the fleet", err
			}
		}
	}
	d.silenced = true
	return "the head node did not answer and was ended", d.Account.Terminate(ctx, []string{head})
}

// obeyed waits until the head node says that the fleet is stopped. One that has
// was silent for long is not waited for.
func (d *down) obeyed(ctx context.Context, b store.Store, asked time.Time) (bool, error) {
	began := time.Now()
	for time.Since(began) < stopLimit {
		var head manifest.HeadStatus
		err := readJSON(ctx, b, manifest.HeadKey(d.Name), &head)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		case asked.Sub(head.At) > freshness:
			return false, nil
		case head.Cluster != nil && head.Cluster.Fleet == "stopped":
			return true, nil
		case head.Phase != manifest.Ready:
			return false, nil
		}
		d.Report.Waiting("stop the fleet", "the head node", time.Since(began))
		if err := pause.For(ctx, time.Second); err != nil {
			return false, err
		}
	}
	return false, nil
}

// orphans ends what has no head node any more.
func (d *down) orphans(ctx context.Context) (string, error) {
	n, err := d.end(ctx, map[string]bool{}, func(api.Instance) bool { return true })
	return count.Of(n, "instance"), err
}

// end ends instances and waits until they are gone: their network interfaces hold
// what comes next. It looks until two looks in a row find none, for what was being
// started may show late. It counts them with those that were seen before, which
// the head node may have ended meanwhile.
func (d *down) end(ctx context.Context, ended map[string]bool, which func(api.Instance) bool) (int, error) {
	began, every := time.Now(), lookFirst
	for empty := 0; empty < 2; {
		all, err := d.Account.Instances(ctx, d.Name)
		if err != nil {
			return len(ended), err
		}
		var ids []string
		there := 0
		for _, i := range all {
			if !which(i) {
				continue
			}
			there++
			if !i.Gone() {
				ids = append(ids, i.ID)
				ended[i.ID] = true
			}
		}
		if err := d.Account.Terminate(ctx, ids); err != nil {
			return len(ended), err
		}
		if empty++; there > 0 {
			empty = 0
		}
		if time.Since(began) > endLimit {
			return len(ended), fmt.Errorf("%s did not end within %s", count.Of(there, "instance"), endLimit)
		}
		d.Report.Waiting("end instances", fmt.Sprintf("%d to go", there), time.Since(began))
		if err := pause.For(ctx, every); err != nil {
			return len(ended), err
		}
		every = min(every*5/4, lookLast)
	}
	return len(ended), nil
}

// records deletes the nodes' names from the zone: a zone with records stays.
func (d *down) records(ctx context.Context) (string, error) {
	if _, ok := d.stacks[d.Name]; !ok {
		return "no zone", nil
	}
	n := 0
	all, err := d.driver.Resources(ctx, d.Name)
	if err != nil && !errors.Is(err, cloudformation.ErrNoStack) {
		return "", err
	}
	for _, r := range all {
		if r.Type != "AWS::Route53::HostedZone" || r.ID == "" {
			continue
		}
		deleted, err := d.Account.DeleteRecords(ctx, r.ID, "")
		n += deleted
		if err != nil {
			return "", err
		}
	}
	deleted, err := d.ownZone(ctx)
	return count.Of(n+deleted, "record"), err
}

// ownZone deletes the cluster's names from a zone that the file names. Its other
// names stay.
func (d *down) ownZone(ctx context.Context) (int, error) {
	file, err := d.file(ctx)
	if err != nil || file == nil {
		return 0, err
	}
	id := file.Scheduling.Slurm.DNS.HostedZoneID
	if id == "" {
		return 0, nil
	}
	zone, err := d.Account.ZoneName(ctx, id)
	if err != nil {
		return 0, err
	}
	return d.Account.DeleteRecords(ctx, id, d.Name+"."+zone)
}

// file is the cluster's file, nil where it is not there any more.
func (d *down) file(ctx context.Context) (*spec.Cluster, error) {
	if d.bucket == "" {
		return nil, nil
	}
	b, err := openBucket(ctx, d.Account, d.bucket)
	if err != nil {
		return nil, err
	}
	text, err := readObject(ctx, b, manifest.FileKey(d.Name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return spec.OpenText("the cluster's file", text, spec.Options{}).Model(), nil
}

// leftInWords is the end of the list.
func leftInWords(left []place.Left) string {
	costs, shown, month, least := 0, 0, 0.0, ""
	for _, l := range left {
		if !l.Free || !l.Known {
			shown++
		}
		if l.Costs() {
			costs++
			month += l.USDPerMonth
		}
		if l.Costs() && !l.Known {
			least = " at least"
		}
	}
	switch {
	case shown == 0:
		return "nothing that costs"
	case costs == 0 && shown == 1:
		return "1 thing, which costs nothing as it is"
	case costs == 0:
		return count.Of(shown, "thing") + ", which cost nothing as they are"
	case costs == 1:
		return fmt.Sprintf("1 thing that costs%s $%.2f a month", least, month)
	}
	return fmt.Sprintf("%s that cost%s $%.2f a month", count.Of(costs, "thing"), least, month)
}
