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
// because it never answered, as the only trace of the cause. One of several machines is
// enough. If a console could not be read, the event says so.
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
		e := Event{Kind: "console", Nodes: []string{i.Node}, Instance: i.ID, Reason: "the last lines of a machine that did not answer"}
		text, err := c.Console(ctx, i.ID)
		switch lines := strings.Split(strings.TrimSpace(text), "\n"); {
		case err != nil:
			e.Reason = "why a machine did not answer is not known: " + err.Error()
		case lines[0] == "":
			e.Reason = "why a machine did not answer is not known: its console is empty"
		default:
			e.Log = lines[max(0, len(lines)-consoleLines):]
		}
		c.Events.Add(e)
		return
	}
}
