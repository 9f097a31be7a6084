package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// addressesAtOnce is how many nodes get their addresses in one call.
const addressesAtOnce = 1000

// SetAddresses tells slurmctld where nodes answer: addresses[i] is names[i]'s.
// A node's own name takes back what it was told. It is one call for a thousand
// nodes; if one fails, the nodes of earlier calls have changed.
func (c Client) SetAddresses(ctx context.Context, names, addresses []string) error {
	if len(names) != len(addresses) {
		return fmt.Errorf("set %d addresses of %d nodes", len(addresses), len(names))
	}
	for len(names) > 0 {
		n := min(len(names), addressesAtOnce)
		_, err := c.Runner.Run(ctx, "scontrol", "update", "NodeName="+strings.Join(names[:n], ","), "NodeAddr="+strings.Join(addresses[:n], ","))
		if err != nil {
			return err
		}
		names, addresses = names[n:], addresses[n:]
	}
	return nil
}

// SetPartition gives a partition a state: UP, DOWN, DRAIN or INACTIVE.
func (c Client) SetPartition(ctx context.Context, name, state string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "update", "PartitionName="+name, "State="+state)
	return err
}

// Reservation keeps nodes from jobs.
type Reservation struct {
	Name     string
	NodeList string
}

var reservationGrammar = grammar{first: "ReservationName"}

// Reservations are all reservations.
func (c Client) Reservations(ctx context.Context) ([]Reservation, error) {
	out, err := c.show(ctx, "reservation")
	if err != nil {
		return nil, err
	}
	var all []Reservation
	for _, r := range reservationGrammar.records(out, nil) {
		all = append(all, Reservation{Name: r.text("ReservationName"), NodeList: r.text("Nodes")})
	}
	return all, nil
}

// Reserve keeps nodes from all jobs from now on, until Unreserve. Jobs that run
// there already go on. The reservation may be there already, with other nodes.
func (c Client) Reserve(ctx context.Context, name string, nodes []string) error {
	all, err := c.Reservations(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r Reservation) bool { return r.Name == name }) {
		_, err = c.Runner.Run(ctx, "scontrol", "update", "ReservationName="+name, "Nodes="+Compress(nodes))
		return err
	}
	_, err = c.Runner.Run(ctx, "scontrol", "create", "reservation", "ReservationName="+name, "StartTime=now", "Duration=infinite",
		"Flags=maint,ignore_jobs", "Users=root", "Nodes="+Compress(nodes))
	return err
}

// Unreserve ends a reservation. One that is not there is no error.
func (c Client) Unreserve(ctx context.Context, name string) error {
	all, err := c.Reservations(ctx)
	if err != nil || !slices.ContainsFunc(all, func(r Reservation) bool { return r.Name == name }) {
		return err
	}
	_, err = c.Runner.Run(ctx, "scontrol", "delete", "ReservationName="+name)
	return err
}
