package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/clean"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

type cleanOptions struct {
	older    time.Duration
	patterns []string
	delete   bool
}

func (a *app) dataClean() *cobra.Command {
	var o cleanOptions
	c := &cobra.Command{
		Use:   "clean ROOT...",
		Short: "List old temporary files below directories, and delete them",
		Long: `Clean lists the files below the directories ROOT... that have a name like *.tmp
and were not written for a day; with --delete it deletes them. No link is
followed and no other mount entered, whatever others do meanwhile; links and
directories stay. One file that cannot be deleted holds up no other.

What a job has open and does not write to looks as old as it is: let --older be
longer than jobs keep files that way. With --cluster or MUSTER_CLUSTER it runs on
that cluster's head node, otherwise here.`,
		Example: "  muster data clean /fsx\n  muster data clean /fsx --delete\n  muster data clean /fsx/checkpoints --pattern '*.tmp' --pattern '.nfs*' --older 72h",
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE: func(c *cobra.Command, args []string) error {
			if a.asked() != "" && !inside() {
				return a.again(c.Context())
			}
			if err := endWithCaller(); err != nil {
				return err
			}
			return a.clean(c.Context(), args, o)
		},
	}
	o.older = 24 * time.Hour
	c.Flags().Var((*age)(&o.older), "older", "only files that were not written for this `TIME`, such as 72h or 3d")
	repeat(c.Flags(), &o.patterns, "pattern", "only files with a name like `PATTERN`, which has * and ? and no slash (default *.tmp)")
	c.Flags().BoolVar(&o.delete, "delete", false, "delete them, and do not ask")
	return c
}

// age is a flag's time, which may be in days.
type age time.Duration

func (a *age) String() string { return time.Duration(*a).String() }
func (a *age) Type() string   { return "duration" }

func (a *age) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err == nil && n <= mostDays {
			*a = age(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time, such as 90m, 72h or 3d", text)
	}
	*a = age(d)
	return nil
}

// mostDays are a hundred years.
const mostDays = 36500

func (o *cleanOptions) check() error {
	if o.older < 0 {
		return fault.Usage(fmt.Errorf("--older %s lies in the future", o.older))
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"*.tmp"}
	}
	if err := (clean.Rule{Patterns: o.patterns}).Check(); err != nil {
		return fault.Usage(fmt.Errorf("--pattern: %w", err))
	}
	return nil
}

func (a *app) clean(ctx context.Context, paths []string, o cleanOptions) error {
	home, _ := os.UserHomeDir() // who has none has none to lose
	roots, err := clean.Roots(paths, home)
	if errors.Is(err, fs.ErrNotExist) && !inside() {
		return fmt.Errorf("%w; of a cluster's machines, --cluster NAME cleans it", err)
	}
	if err != nil {
		return err
	}
	list, err := newCleanList(a, o)
	if err != nil {
		return err
	}
	progress := &data.Progress{}
	progress.Begin("look")
	stop := func() {}
	if a.output == "json" || !terminal(a.out) { // the list and the line would share it
		stop = a.watchData(progress)
	}
	rule := clean.Rule{Patterns: o.patterns, Before: time.Now().Add(-o.older)}
	err = list.take(ctx, clean.Find(ctx, roots, rule, func() { progress.Done(1) }))
	stop()
	return errors.Join(err, list.end(err))
}

// take lists what was found, after it was deleted if that is asked for. It fails only
// where the list can go to nobody, or the user stops it.
func (l *cleanList) take(ctx context.Context, found func(func(*clean.File, error) bool)) error {
	for f, err := range found {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil && l.options.delete {
			err = f.Delete()
		}
		switch {
		case errors.Is(err, clean.ErrMount):
			l.Mounts++
			l.tell(l.Mounts, err)
		case errors.Is(err, clean.ErrChanged) && f != nil:
		case err != nil:
			l.Failed++
			l.tell(l.Failed, err)
		default:
			if err := l.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *cleanList) tell(n int64, err error) {
	if n <= toldOf {
		l.app.note("%s", page.Printable(err.Error()))
	}
}

// summary is what the list comes to.
func (l *cleanList) summary() string {
	what := fmt.Sprintf("%s, %s", count.Of(l.Count, "file"), count.Bytes(l.Bytes))
	switch {
	case l.options.delete:
		return "deleted " + what
	case l.Count == 0:
		return "there is nothing to clean"
	}
	return what + "; `--delete` deletes them"
}
