package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/say/count"
)

// tellSlurm queues addresses of nodes for tellAddresses.
func (c *Controller) tellSlurm(addresses map[string]string) {
	if c.Addresses == nil || len(addresses) == 0 {
		return
	}
	c.mu.Lock()
	maps.Copy(c.toTell, addresses)
	c.mu.Unlock()
	ring(c.addresses)
}

// tellAddresses tells Slurm the addresses of nodes as their instances appear: those that
// come during one call go into the next. correctAddresses finds lost ones.
func (c *Controller) tellAddresses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.addresses:
		}
		c.mu.Lock()
		now := c.toTell
		c.toTell = map[string]string{}
		c.mu.Unlock()
		if err := c.setAddresses(ctx, now); err != nil {
			c.Log.Warn("nodes' addresses not told to Slurm; the next round tries again", "error", err)
		}
	}
}

func (c *Controller) setAddresses(ctx context.Context, addresses map[string]string) error {
	if len(addresses) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(addresses))
	values := make([]string, len(names))
	for i, n := range names {
		values[i] = addresses[n]
	}
	if err := c.Addresses.SetAddresses(ctx, names, values); err != nil {
		return fmt.Errorf("tell Slurm the addresses of %s: %w", count.Of(len(names), "node"), err)
	}
	return nil
}

// correctAddresses corrects addresses that Slurm has wrong, and resets those of nodes
// that are off.
func (c *Controller) correctAddresses(ctx context.Context, w fleet.World) error {
	if c.Addresses == nil {
		return nil
	}
	return c.setAddresses(ctx, fleet.Addresses(w))
}
