package api

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

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
