package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Tags that muster's resources have.
const (
	ClusterTag = "muster:cluster"
	RoleTag    = "muster:role"
	queueTag   = "muster:queue"
)

// Instance is an instance of a cluster that is not gone.
type Instance struct {
	ID   string `json:"id"`
	Type string `json:"instance_type"`
	// Role is head, compute or login, Queue a compute node's.
	Role  string `json:"role"`
	Queue string `json:"queue,omitempty"`
	// State is EC2's: pending, running, shutting-down, stopping, stopped.
	State    string    `json:"state"`
	Launched time.Time `json:"launched"`
	Address  string    `json:"address,omitempty"`
	// Public is its address in the internet, KeyName its key pair; both may be empty.
	Public  string `json:"public,omitempty"`
	KeyName string `json:"key_name,omitempty"`
	// Market is spot, capacity-block or empty.
	Market string `json:"market,omitempty"`
}

// Gone says that the instance ends and is not paid for any more.
func (i Instance) Gone() bool { return i.State == "shutting-down" || i.State == "terminated" }

// Instances are those of a cluster that are not gone yet.
func (a *Account) Instances(ctx context.Context, cluster string) ([]Instance, error) {
	return a.tagged(ctx, ClusterTag, cluster)
}

// OfRole are the instances of a cluster that have a role and are not gone yet.
func (a *Account) OfRole(ctx context.Context, cluster, role string) ([]Instance, error) {
	return a.tagged(ctx, ClusterTag, cluster, filter("tag:"+RoleTag, role))
}

// tagged are the instances with a cluster's tag that are not gone yet.
func (a *Account) tagged(ctx context.Context, tag, cluster string, which ...types.Filter) ([]Instance, error) {
	var all []Instance
	for page, err := range pagesOf(ctx, ec2.NewDescribeInstancesPaginator(a.ec2(), instancesOf(tag, cluster, which...))) {
		if err != nil {
			return nil, failed(err, "list the instances of cluster %s", cluster)
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				all = append(all, instanceOf(i))
			}
		}
	}
	return all, nil
}

func instancesOf(tag, cluster string, which ...types.Filter) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{
		MaxResults: aws.Int32(1000),
		Filters: append(which,
			filter("tag:"+tag, cluster), filter("instance-state-name", "pending", "running", "shutting-down", "stopping", "stopped"),
		),
	}
}

func instanceOf(i types.Instance) Instance {
	found := Instance{
		ID: aws.ToString(i.InstanceId), Type: string(i.InstanceType), Launched: aws.ToTime(i.LaunchTime),
		Address: aws.ToString(i.PrivateIpAddress), Public: aws.ToString(i.PublicIpAddress), KeyName: aws.ToString(i.KeyName), Market: string(i.InstanceLifecycle),
	}
	if i.State != nil {
		found.State = string(i.State.Name)
	}
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case RoleTag:
			found.Role = aws.ToString(t.Value)
		case queueTag, theirQueueTag:
			found.Queue = aws.ToString(t.Value)
		case theirRoleTag:
			found.Role = theirRoles[aws.ToString(t.Value)]
		}
	}
	return found
}

// mostTerminated is how many instances one call ends.
const mostTerminated = 1000

// Terminate ends instances. One that is not there is gone.
func (a *Account) Terminate(ctx context.Context, ids []string) error {
	for batch := range slices.Chunk(ids, mostTerminated) {
		if err := a.terminateKnown(ctx, batch); err != nil {
			return failed(err, "end %s", count.Of(len(batch), "instance"))
		}
	}
	return nil
}

// terminateKnown ends those of the instances that EC2 knows: one that it does not
// know lets the whole call fail, and no instance ends.
func (a *Account) terminateKnown(ctx context.Context, left []string) error {
	for len(left) > 0 {
		_, err := a.ec2().TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: left})
		if err == nil || code(err) != "InvalidInstanceID.NotFound" {
			return err
		}
		missing := instanceID().FindAllString(err.Error(), -1)
		known := slices.DeleteFunc(slices.Clone(left), func(id string) bool { return slices.Contains(missing, id) })
		if len(known) == len(left) {
			return err // it does not say which
		}
		left = known
	}
	return nil
}

// instanceID finds instances in what EC2 says.
var instanceID = pattern.New(`i-[0-9a-f]{8,17}`)

// Console is the last output of an instance's console, which EC2 keeps for a while. Of
// older types it has only what was there some minutes after the start.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func (a *Account) Console(ctx context.Context, id string) (string, error) {
	out, err := a.ec2().GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: &id, Latest: aws.Bool(true)})
	if code(err) == "UnsupportedOperation" {
		out, err = a.ec2().GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: &id})
	}
	if err != nil {
		return "", failed(err, "read the console of %s", id)
	}
	return decoded(aws.ToString(out.Output)), nil
}

// ImportKey makes a key pair of a public key, unless there is one of that name.
func (a *Account) ImportKey(ctx context.Context, name, cluster string, public []byte) error {
	_, err := a.ec2().ImportKeyPair(ctx, &ec2.ImportKeyPairInput{
		KeyName: &name, PublicKeyMaterial: public,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeKeyPair, Tags: []types.Tag{{Key: aws.String(ClusterTag), Value: &cluster}}}},
	})
	if err != nil && code(err) != "InvalidKeyPair.Duplicate" {
		return failed(err, "import your public key as %s", name)
	}
	return nil
}

// DeleteKey deletes a key pair. One that is not there is gone.
func (a *Account) DeleteKey(ctx context.Context, name string) error {
	if _, err := a.ec2().DeleteKeyPair(ctx, &ec2.DeleteKeyPairInput{KeyName: &name}); err != nil && code(err) != "InvalidKeyPair.NotFound" {
		return failed(err, "delete the key pair %s", name)
	}
	return nil
}

// Reservations looks at capacity reservations by ID. It fails if one is not there.
func (a *Account) Reservations(ctx context.Context, ids []string) (map[string]inventory.Reservation, error) {
	all := map[string]inventory.Reservation{}
	if len(ids) == 0 {
		return all, nil
	}
	out, err := a.ec2().DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: ids})
	if err != nil {
		return nil, failed(err, "look at the capacity reservations %s in %s", strings.Join(ids, ", "), a.Region)
	}
	for _, r := range out.CapacityReservations {
		all[aws.ToString(r.CapacityReservationId)] = inventory.Reservation{
			InstanceType: aws.ToString(r.InstanceType), Zone: aws.ToString(r.AvailabilityZone), State: string(r.State),
			Block: r.ReservationType == types.CapacityReservationTypeCapacityBlock, PlacementGroup: aws.ToString(r.PlacementGroupArn),
			Total: int(aws.ToInt32(r.TotalInstanceCount)), Free: int(aws.ToInt32(r.AvailableInstanceCount)),
			Start: aws.ToTime(r.StartDate), End: aws.ToTime(r.EndDate),
		}
	}
	return all, nil
}
