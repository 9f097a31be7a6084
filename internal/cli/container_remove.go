//go:build linux

package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/container"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func (a *app) containerRemove() *cobra.Command {
	var state, job string
	var allUsers bool
	c := &cobra.Command{
		Use:   "remove [NAME...]",
		Short: "Remove what containers with a name have written",
		Long: `Remove deletes what named containers have written on this machine. It does not ask.
A container that runs is not removed.

With --job it removes all containers that the job's steps have named; names then
narrow that down. It is no error if there is none.`,
		Example: "  muster container remove build\n  muster container remove --job 4711",
	}
	c.Flags().StringVar(&state, "state", "", "the `DIR` for containers with a name (default: on this machine's disk)")
	c.Flags().StringVar(&job, "job", "", "the job `ID` whose containers they are")
	c.Flags().BoolVar(&allUsers, "all-users", false, "those of all users; needs root and --job")
	c.RunE = func(_ *cobra.Command, names []string) error {
		switch {
		case len(names) == 0 && job == "":
			return fault.Usage(errors.New("which container? see `muster container list`"))
		case allUsers && (job == "" || len(names) > 0):
			return fault.Usage(errors.New("--all-users goes with --job alone"))
		case len(names) == 0:
			if err := container.RemoveJob(self(), state, job, allUsers); err != nil {
				return err
			}
			return a.showRemoved(removed{Removed: []string{}, Job: job})
		}
		var errs []error
		done := removed{Removed: []string{}}
		for _, name := range names {
			err := container.Remove(self(), state, container.Name{Name: name, Job: job})
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("there is no container %q; `muster container list` shows all", name)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			done.Removed = append(done.Removed, name)
		}
		return a.showRemoved(done, errs...)
	}
	return c
}
