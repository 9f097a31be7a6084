package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// FleetOptions say what the fleet of a cluster is to be.
type FleetOptions struct {
	Name    string
	Account *api.Account
	// Want is running or stopped, Now that jobs are not waited for.
	Want   string
	Now    bool
	Why    string
	Report step.Reporter
}

// fleetLimit is how long a head node may take to obey: it looks every few seconds.
const fleetLimit = 2 * time.Minute

// Fleet has the head node stop or start the fleet by way of the cluster's bucket, and
// waits for its word. That needs no connection to the head node.
func Fleet(ctx context.Context, o FleetOptions) error {
	stacks, err := look(ctx, cloudformation.New(o.Account.Config()), o.Name)
	if err != nil {
		return err
	}
	bucket := stacks.bucket(o.Name)
	if bucket == "" || !stacks[o.Name].Good() {
		return fmt.Errorf("cluster %s has no head node in %s; `muster status --cluster %s` says what there is", o.Name, o.Account.Region, o.Name)
	}
	b, err := openBucket(ctx, o.Account, bucket)
	if err != nil {
		return err
	}
	asked := time.Now().UTC()
	wish := manifest.Fleet{Want: o.Want, Gently: o.Want == "stopped" && !o.Now, Why: o.Why, At: asked}
	if err := writeJSON(ctx, b, manifest.FleetKey(o.Name), wish); err != nil {
		return err
	}
	for every := lookFirst; ; every = min(every*5/4, lookLast) {
		var head manifest.HeadStatus
		err := readJSON(ctx, b, manifest.HeadKey(o.Name), &head)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if c := head.Cluster; c != nil && (c.Fleet == o.Want || o.Want == "running" && c.Fleet == "protected") {
			return nil
		}
		if time.Since(asked) > fleetLimit {
			said := "it has said nothing yet"
			if !head.At.IsZero() {
				said = "it last said something at " + head.At.Format(time.RFC3339)
			}
			return fmt.Errorf("the head node of cluster %s has not obeyed within %s (%s); the wish stays: it will obey when it comes back", o.Name, fleetLimit, said)
		}
		o.Report.Waiting("fleet "+o.Want, "the head node", time.Since(asked))
		if err := pause.For(ctx, every); err != nil {
			return err
		}
	}
}
