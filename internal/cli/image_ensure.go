//go:build linux

package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/image/source"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// imageEnsure is what the nodes of a step run, as the step's user, to get the
// image of a URI.
func (a *app) imageEnsure(place *imagePlace) *cobra.Command {
	var o image.EnsureOptions
	var arch, dir string
	var tell bool
	c := &cobra.Command{
		Use:    "ensure URI",
		Short:  "Bring the image of a URI once for all nodes that ask for it",
		Long:   "Ensure keeps images in a directory of the user's own and prints the file. Nodes\nthat give the same key get the same image: one imports it, the others wait.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			defer func() {
				if tell && err != nil {
					_, err = fmt.Fprint(os.NewFile(whyFD, "why"), err)
					err = errors.Join(err, fault.Exit(fault.ExitProblem))
				}
			}()
			defer func() { err = asFile(err, dir, place.Dir, args[0]) }()
			if err := place.find(a); err != nil {
				return err
			}
			info, _ := debug.ReadBuildInfo()
			o.URI, o.Version = args[0], versionOf(info).Version
			if o.Dir, err = image.UserDir(place.Dir); err != nil {
				return err
			}
			o.Source = source.Options{Arch: arch, AuthFiles: registryFiles(nil), PlainHTTP: enrootAllowsHTTP(os.Getenv("ENROOT_ALLOW_HTTP"))}
			o.Progress = &image.Progress{}
			debug.SetMemoryLimit(importMemory)
			stop := a.watchImport(o.Progress)
			path, err := image.Ensure(c.Context(), o)
			stop()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, path)
			return err
		},
	}
	c.Flags().StringVar(&o.Key, "key", "", "the same `TEXT` for all who must get the same image, such as a step's ID")
	c.Flags().BoolVar(&tell, "tell-why", false, "say what went wrong on a pipe that is open, not on stderr")
	c.Flags().StringVar(&dir, "dir", "", "the step's working `DIR`, where a file of that name may be meant")
	c.Flags().StringVar(&arch, "arch", "", "the image's `ARCHITECTURE` (default: this machine's)")
	return c
}
