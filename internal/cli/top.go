package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status/top"
)

func (a *app) top() *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "top [NAME]",
		Short: "Watch a cluster in the terminal: nodes, queue, jobs, curves of losses",
		Long: `Top shows a cluster and its jobs, and looks again every two seconds: nodes and
services, the jobs that run with step, loss, speed and last checkpoint, and why
the others wait. Enter opens the page of a job, ? says the keys, q ends it.

What a training prints is read as by "muster job show"; of jobs that muster keeps
running there are the whole curve, checkpoints and restarts. --once prints what
there is and ends.`,
		Example: "  muster top\n  muster top demo\n  muster top --once\n  muster top --once -o json | jq '.jobs[] | {label, why}'",
		Args:    a.clusterName,
		PreRunE: func(*cobra.Command, []string) error { return a.canWatch(once) },
		RunE: a.onHead(func(c *cobra.Command, _ []string, s slurm.Client) error {
			l := newLookout(s)
			if once {
				return a.topOnce(c.Context(), l)
			}
			return a.watch(c.Context(), l)
		}),
	}
	c.Flags().BoolVar(&once, "once", false, "print one look and end")
	return c
}

// looker looks at a cluster; of the job with the ID of a page also at the end of its output.
type looker interface {
	look(ctx context.Context, page int) (top.Look, error)
}

// canWatch refuses what needs a terminal where there is none.
func (a *app) canWatch(once bool) error {
	switch {
	case once:
		return nil
	case a.output != "text":
		return fault.Usage(fmt.Errorf("top goes on until it is ended: `muster top --once -o %s` prints one look", a.output))
	case !(talk{a}).Terminal():
		return fault.Usage(errors.New("top needs a terminal: `muster top --once` prints one look"))
	case os.Getenv("TERM") == "dumb":
		return fault.Usage(errors.New("this terminal (TERM is dumb) has no screen to draw on: `muster top --once` prints one look"))
	}
	return nil
}

// onceWidth is how wide a look is that nobody says the width for.
const onceWidth = 120

// topOnce prints one look.
func (a *app) topOnce(ctx context.Context, l looker) error {
	seen, err := l.look(ctx, 0)
	if err != nil {
		return err
	}
	return a.answer(seen, func() error {
		width := page.Columns(a.out)
		if width == 0 {
			width = onceWidth
		}
		s := top.Screen{Width: width, Unicode: unicodeTerminal(os.Getenv), Now: time.Now()}.Seen(seen)
		_, err := fmt.Fprintln(a.out, s.Frame())
		return err
	})
}
