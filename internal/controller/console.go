package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
)

// consoleWait is how long a console is waited for, consoleLines how much of it is kept.
const (
	consoleWait  = 5 * time.Second
	consoleLines = 20
)

// keepConsole writes down the last lines of the console of a machine that is ended
// because it never answered: nothing else says why. One of several is enough.
func (c *Controller) keepConsole(ctx context.Context, w fleet.World, a fleet.Action) {
	if c.Console == nil || !a.Boot {
		return
	}
	for _, i := range w.Instances {
		if !slices.Contains(a.Nodes, i.Node) || w.BootFailed[i.ID] != "" {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, consoleWait)
		defer cancel()
		text, err := c.Console(ctx, i.ID)
		if err != nil {
			c.Log.Warn("console not read", "instance", i.ID, "error", err)
			return
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		c.Events.Add(Event{
			Kind: "console", Nodes: []string{i.Node}, Instance: i.ID, Reason: "the last lines of a machine that did not answer",
			Log: lines[max(0, len(lines)-consoleLines):],
		})
		return
	}
}
