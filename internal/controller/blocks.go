package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// blocks are the capacity blocks as last asked for.
type blocks struct {
	list  []fleet.Block
	asked time.Time
}

// blocksEvery is how often capacity blocks are asked for: their times are known in
// advance, but not when they become active.
const blocksEvery = time.Minute

// reservationMark begins the names of the reservations that are ours: the ID of a
// capacity reservation of AWS comes behind it. Users may call theirs muster-something.
const reservationMark = "muster-cr-"

// reservationOf is the name of the reservation for a capacity block.
func reservationOf(block string) string { return reservationMark + strings.TrimPrefix(block, "cr-") }

// keepBlocks asks for capacity blocks and keeps jobs off those that are not
// active.
func (c *Controller) keepBlocks(ctx context.Context, nodes []fleet.Node) error {
	now := time.Now()
	if c.Blocks == nil || now.Sub(c.blocks.asked) < blocksEvery {
		return nil
	}
	list, err := c.askBlocks(ctx)
	if err != nil {
		// The round goes on with the last known blocks.
		c.Log.Warn("capacity blocks not known", "error", err)
		c.blocks.asked = now
		return nil
	}
	c.blocks.list = list
	c.sayEnded(list, nodes, now)
	have, err := c.Reservations.Reservations(ctx)
	if err != nil {
		return fmt.Errorf("ask Slurm for its reservations: %w", err)
	}
	held := map[string]bool{}
	for _, b := range list {
		of := names(nodes, b.Resource)
		if b.Active || len(of) == 0 {
			continue
		}
		name := reservationOf(b.ID)
		held[name] = true
		if err := c.hold(ctx, have, name, of); err != nil {
			return err
		}
	}
	for _, r := range have {
		if strings.HasPrefix(r.Name, reservationMark) && !held[r.Name] {
			if err := c.Reservations.Unreserve(ctx, r.Name); err != nil {
				return fmt.Errorf("end reservation %s: %w", r.Name, err)
			}
			c.Events.Add(Event{Kind: "block is active", Reason: "cr-" + strings.TrimPrefix(r.Name, reservationMark)})
		}
	}
	c.blocks.asked = now
	return nil
}

// sayEnded notes the blocks that have ended, for Status.
func (c *Controller) sayEnded(list []fleet.Block, nodes []fleet.Node, now time.Time) {
	var ended []string
	for _, b := range list {
		if of := names(nodes, b.Resource); len(of) > 0 && !b.Active && !b.End.IsZero() && now.After(b.End) {
			ended = append(ended, fmt.Sprintf("%s do not start: capacity block %s ended at %s; put another one into the cluster file",
				slurm.Compress(of), b.ID, b.End.UTC().Format("2006-01-02 15:04 MST")))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = ended
}

// blocksWait is how long a round waits for an answer about capacity blocks.
const blocksWait = 10 * time.Second

func (c *Controller) askBlocks(ctx context.Context) ([]fleet.Block, error) {
	ctx, cancel := context.WithTimeout(ctx, blocksWait)
	defer cancel()
	return c.Blocks(ctx)
}

// hold keeps jobs off the nodes of a block.
func (c *Controller) hold(ctx context.Context, have []slurm.Reservation, name string, nodes []string) error {
	i := slices.IndexFunc(have, func(r slurm.Reservation) bool { return r.Name == name })
	if i >= 0 && have[i].NodeList == slurm.Compress(nodes) {
		return nil
	}
	if err := c.Reservations.Reserve(ctx, name, nodes); err != nil {
		return fmt.Errorf("reserve %s until their capacity block is active: %w", count.Of(len(nodes), "node"), err)
	}
	c.Events.Add(Event{Kind: "block awaited", Nodes: nodes, Reason: strings.TrimPrefix(name, reservationMark)})
	return nil
}

// names are the nodes of a compute resource.
func names(nodes []fleet.Node, of slurm.Resource) []string {
	var all []string
	for _, n := range nodes {
		if n.Resource == of {
			all = append(all, n.Name)
		}
	}
	return all
}
