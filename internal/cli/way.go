package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/services"
)

// forwarded makes a command one that looks at the cluster from here if its head node is a
// part of this machine, and else runs on the head node: the same command line is run again
// there.
func (a *app) forwarded(run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if inside() {
			return run(c, args)
		}
		w, err := a.find("")
		if err != nil {
			return err
		}
		if w.Near() == nil {
			return a.againOn(c.Context(), w)
		}
		return run(c, args)
	}
}

// again runs our command line again on the head node of the cluster that the command is
// about.
func (a *app) again(ctx context.Context) error {
	w, err := a.find("")
	if err != nil {
		return err
	}
	return a.againOn(ctx, w)
}

func (a *app) againOn(ctx context.Context, w where) error {
	return w.Enter(ctx, place.Program{Args: append([]string{services.Muster}, os.Args[1:]...), Quiet: true})
}

// errFar is that a cluster cannot be looked at from here.
var errFar = errors.New("its head node is elsewhere")

// near is the cluster that the command is about, if its head node is a part of this machine
// or this is one of its machines. For others it is errFar.
func (a *app) near() (place.Near, error) {
	if inside() {
		return insideOf{}, nil
	}
	w, err := a.find("")
	if err != nil {
		return nil, err
	}
	if n := w.Near(); n != nil {
		return n, nil
	}
	return nil, errFar
}

// localOnly refuses what only clusters on this machine have.
func (a *app) localOnly(why string) error {
	if w, err := a.find(""); err == nil && w.Near() == nil {
		return fmt.Errorf("cluster %s is %s: %s", w.name, w.place.On(), why)
	}
	return nil // other errors are reported where the cluster is opened
}
