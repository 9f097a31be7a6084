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
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// DownOptions say what Down is to take down.
type DownOptions struct {
	Name, Home string
	Account    *api.Account
	// DeleteData also deletes file systems and buckets whose data is nowhere else.
	DeleteData bool
	Report     step.Reporter
}

// Down takes a cluster down, each thing before those that it uses: the fleet, its
// names, the head node, file systems after their last export, the network. It
// says what is left. It may be repeated, and goes on where an earlier
// one was cut off.
func Down(ctx context.Context, o DownOptions) ([]step.Step, []place.Left, error) {
	if err := theirs(o.Home, o.Name, "`pcluster delete-cluster -n %s -r %s` deletes it, `muster import --forget` forgets it"); err != nil {
		return nil, nil, err
	}
	unlock, err := lock(o.Home, o.Name)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	d := &down{DownOptions: o, driver: cloudformation.New(o.Account.Config()), steps: step.Series{Report: o.Report}, kept: map[string]string{}}
	d.driver.Tell = func(e cloudformation.Event) {
		if line := telling(e); line != "" {
			o.Report.Note(line)
		}
	}
	d.driver.Waiting = func(name, status string, since time.Duration) { o.Report.Waiting("stack "+name, status, since) }
	left, err := d.run(ctx)
	return d.steps.Done, left, err
}

type down struct {
	DownOptions
	steps  step.Series
	driver *cloudformation.Driver
	stacks found
	bucket string
	// buckets are those that the base stack made.
	buckets []string
	// kept are IDs of what stays on purpose, and why. keepStorage and keepBase say that
	// a stack stays.
	kept                  map[string]string
	keepStorage, keepBase bool
	// silenced says that the head node did not answer and was ended.
	silenced bool
	// deleted says that a stack went: the list by tag lags behind that.
	deleted bool
}

// downStep is a step of the way down.
type downStep struct {
	name string
	do   func(context.Context) (string, error)
}

func (d *down) run(ctx context.Context) ([]place.Left, error) {
	begin := []downStep{{"look at the account", d.look}, {"stop the fleet", d.fleet}}
	if err := d.take(ctx, begin); err != nil {
		return nil, err
	}
	var steps []downStep
	if m, err := d.mirrors(ctx); err != nil || len(m.all) > 0 {
		steps = append(steps, downStep{"export what is left", d.exports})
	}
	steps = append(steps, []downStep{
		{"delete DNS records", d.records},
		{"delete stack " + d.Name, d.cluster},
		{"end what is left of the fleet", d.orphans},
		{"export and delete file systems", d.storage},
		{"delete stack " + baseStack(d.Name), d.base},
		{"delete buckets and keys", d.rest},
	}...)
	if err := d.take(ctx, steps); err != nil {
		return nil, err
	}
	var left []place.Left
	err := d.steps.Do("list what is left", func() (detail string, err error) {
		left, err = d.left(ctx)
		return leftInWords(left), err
	})
	if err == nil && !d.keepBase && !d.keepStorage {
		err = forget(d.Home, d.Name)
	}
	return left, err
}

func (d *down) take(ctx context.Context, steps []downStep) error {
	for _, s := range steps {
		if err := d.steps.Do(s.name, func() (string, error) { return s.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

func (d *down) look(ctx context.Context) (string, error) {
	who, err := d.Account.Identity(ctx)
	if err != nil {
		return "", err
	}
	r, unknown := RecordOf(d.Home, d.Name)
	if unknown == nil && r.Account != who.Account {
		return "", fmt.Errorf("cluster %s is in account %s, and these are credentials of account %s", d.Name, r.Account, who.Account)
	}
	if d.stacks, err = look(ctx, d.driver, d.Name); err != nil {
		return "", err
	}
	if unknown != nil && len(d.stacks) == 0 {
		d.Report.Note(fmt.Sprintf("there is no stack of a cluster %s in %s, only what has its tag is taken away; AWS_REGION chooses another region", d.Name, d.Account.Region))
	}
	for _, state := range d.stacks {
		if state.Protected && state.Name != storageStack(d.Name) { // that one is muster's own doing
			return "", fmt.Errorf("nothing was touched: stack %s is protected; lift that with `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name %s`", state.Name, state.Name)
		}
	}
	// What is being made is not listed yet; what is being deleted needs the steps that follow.
	if d.stacks, err = rested(ctx, d.driver, d.Name, d.stacks, cloudformation.State.Changing); err != nil {
		return "", err
	}
	d.bucket = d.stacks.bucket(d.Name)
	for _, name := range []string{baseStack(d.Name), d.Name} {
		if err := d.retained(ctx, name); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("account %s, %s: %s", who.Account, d.Account.Region, count.Of(len(d.stacks), "stack")), nil
}

// retained finds what outlives a stack, and its buckets.
func (d *down) retained(ctx context.Context, stack string) error {
	if state, ok := d.stacks[stack]; !ok || state.Status == "REVIEW_IN_PROGRESS" {
		return nil
	}
	all, err := d.driver.Resources(ctx, stack)
	var template []byte
	if err == nil {
		template, err = d.driver.Template(ctx, stack)
	}
	if errors.Is(err, cloudformation.ErrNoStack) {
		delete(d.stacks, stack) // an earlier deletion has ended meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	kept, err := cloudformation.Kept(template)
	if err != nil {
		return err
	}
	for _, r := range all {
		switch {
		case r.ID == "":
		case r.Type == "AWS::S3::Bucket":
			d.buckets = append(d.buckets, r.ID)
		case kept[r.Name]:
			d.kept[r.ID] = retainedWhy
		}
	}
	return nil
}

// cluster deletes the stack of what costs by the hour. Its head node ends first: EC2
// takes no volume from a machine that has it mounted.
func (d *down) cluster(ctx context.Context) (string, error) {
	if _, ok := d.stacks[d.Name]; ok {
		_, err := d.end(ctx, map[string]bool{}, func(i api.Instance) bool { return i.Role == manifest.RoleHead })
		if err != nil {
			return "", err
		}
	}
	return d.delete(ctx, d.Name)
}

// delete deletes a stack, and tells how long it takes.
func (d *down) delete(ctx context.Context, stack string) (string, error) {
	if _, ok := d.stacks[stack]; !ok {
		return "not there", nil
	}
	if err := d.driver.Delete(ctx, stack); err != nil {
		return "", err
	}
	delete(d.stacks, stack)
	d.deleted = true
	return "gone", nil
}

// base deletes the network, unless something that stays needs it.
func (d *down) base(ctx context.Context) (string, error) {
	if d.keepStorage {
		d.keepBase = true
		return "kept: the file systems that stay are in its network", nil
	}
	state, ok := d.stacks[baseStack(d.Name)]
	if !ok {
		return "not there", nil
	}
	remain, err := d.remaining(ctx)
	if err != nil {
		return "", err
	}
	if len(remain) > 0 {
		d.keepBase = true
		return fmt.Sprintf("kept: %s in its network; `muster down` deletes it once they are gone", strings.Join(remain, ", ")), nil
	}
	if vpc := state.Outputs["VpcId"]; vpc != "" {
		if err := d.interfaces(ctx, vpc); err != nil {
			return "", err
		}
	}
	return d.deleteNetwork(ctx)
}

// heldTypes are the types of resources that network interfaces hold.
var heldTypes = []string{"AWS::EC2::SecurityGroup", "AWS::EC2::Subnet", "AWS::EC2::VPC", "AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment"}

// deleteNetwork deletes the base stack. In a network of the user's own, interfaces that hold
// a security group may be anything's: it is tried again until they are gone.
func (d *down) deleteNetwork(ctx context.Context) (string, error) {
	began := time.Now()
	for {
		detail, err := d.delete(ctx, baseStack(d.Name))
		failure, failed := errors.AsType[*cloudformation.Failure](err)
		if !failed || time.Since(began) > interfaceLimit || !held(failure) {
			return detail, err
		}
		d.Report.Note("tried again: " + failure.Error())
		if err := pause.For(ctx, interfaceLook); err != nil {
			return "", err
		}
	}
}

// held says that network interfaces explain all failures.
func held(f *cloudformation.Failure) bool {
	return len(f.First) > 0 && !slices.ContainsFunc(f.First, func(e cloudformation.Event) bool { return !slices.Contains(heldTypes, e.Type) })
}

// How long network interfaces may stay behind a file system or a gateway, and how
// often they are looked at.
const (
	interfaceLimit = 15 * time.Minute
	interfaceLook  = 3 * time.Second
)

// interfaces waits until a network has none: AWS deletes those of file systems and
// gateways some time later, and until then subnets cannot be deleted.
func (d *down) interfaces(ctx context.Context, vpc string) error {
	began := time.Now()
	for {
		all, err := d.Account.Interfaces(ctx, vpc)
		if err != nil || len(all) == 0 {
			return err
		}
		if err := d.madeAgain(ctx); err != nil {
			return err
		}
		if time.Since(began) > interfaceLimit {
			return fmt.Errorf("network interface %s (%s) holds %s: delete what it belongs to, then run this again", all[0].ID, all[0].What, vpc)
		}
		d.Report.Waiting("stack "+baseStack(d.Name), fmt.Sprintf("%s to go, such as %s (%s)", count.Of(len(all), "network interface"), all[0].ID, all[0].What), time.Since(began))
		if err := pause.For(ctx, interfaceLook); err != nil {
			return err
		}
	}
}

// madeAgain is an error where another muster has begun to make the cluster whose main
// stack was deleted: what it makes holds the network, and does not go.
func (d *down) madeAgain(ctx context.Context) error {
	switch _, err := d.driver.Describe(ctx, d.Name); {
	case errors.Is(err, cloudformation.ErrNoStack):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("another muster makes cluster %s again: stack %s is there once more; wait for it to end, then run this again", d.Name, d.Name)
}

// rest deletes what no stack holds any more: buckets with their data if that was
// asked for, and the key pair.
func (d *down) rest(ctx context.Context) (string, error) {
	if d.keepBase {
		for _, b := range d.buckets {
			d.kept[b] = "the cluster's file systems are kept"
		}
		d.kept[logGroup(d.Name)] = "the cluster's file systems are kept"
		return "kept", nil
	}
	if err := d.Account.DeleteKey(ctx, "muster-"+d.Name); err != nil {
		return "", err
	}
	if !d.DeleteData {
		for _, b := range d.buckets {
			d.kept[b] = "buckets go with --delete-data"
		}
		return count.Of(len(d.buckets), "bucket") + " kept", nil
	}
	// A former run may have deleted the stack that named them: their tags do, too.
	all, err := d.Account.Left(ctx, d.Name)
	if err != nil {
		return "", err
	}
	logs, err := d.deleteLogs(ctx, all)
	if err != nil {
		return "", err
	}
	buckets, err := d.deleteBuckets(ctx, all)
	return buckets + logs, err
}

func (d *down) deleteBuckets(ctx context.Context, all []api.Left) (string, error) {
	for _, l := range all {
		if l.Kind == "bucket" {
			d.buckets = append(d.buckets, l.ID)
		}
	}
	slices.Sort(d.buckets)
	d.buckets = slices.Compact(d.buckets)
	objects := 0
	for _, b := range d.buckets {
		n, err := d.deleteBucket(ctx, b)
		if err != nil {
			return "", err
		}
		objects += n
	}
	return fmt.Sprintf("%s with %s deleted", count.Of(len(d.buckets), "bucket"), count.Of(objects, "object")), nil
}

// deleteBucket empties a bucket and deletes it. A machine that just ended, and the services that write logs, may have
// put something into it in between: then it is emptied again.
func (d *down) deleteBucket(ctx context.Context, bucket string) (objects int, err error) {
	for began := time.Now(); ; {
		n, err := d.Account.EmptyBucket(ctx, bucket)
		objects += n
		if err != nil {
			return objects, err
		}
		err = d.Account.DeleteBucket(ctx, bucket)
		if !errors.Is(err, api.ErrNotEmpty) || time.Since(began) > bucketLimit {
			return objects, err
		}
		if err := pause.For(ctx, bucketLook); err != nil {
			return objects, err
		}
	}
}

// How long something may still come into a bucket that is to go, and how often it is emptied.
const (
	bucketLimit = 2 * time.Minute
	bucketLook  = time.Second
)
