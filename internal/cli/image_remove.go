package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func (a *app) imageRemove(place *imagePlace) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:               "remove NAME...",
		Short:             "Remove images",
		Long:              "Remove removes images. Jobs that run with one go on. Layers stay in the cache\nuntil others need the room, or until `muster image prune`.",
		Example:           "  muster image remove pytorch --yes\n  muster image list --of-steps",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.existingImages(place),
		RunE: a.whereItIs(place, func(c *cobra.Command, args []string) error {
			for _, name := range args {
				if err := image.CheckName(name); err != nil {
					return fault.Usage(err)
				}
			}
			if err := place.find(a); err != nil {
				return err
			}
			for _, name := range args {
				// What is no image any more can be removed, too.
				if _, err := image.Inspect(place.Dir, name); errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			if !yes {
				if err := a.confirm("Remove " + strings.Join(args, ", ") + "?"); err != nil {
					return err
				}
			}
			var errs []error
			done := removed{Removed: []string{}}
			for _, name := range args {
				if err := image.Remove(c.Context(), place.Dir, name); err != nil {
					errs = append(errs, err)
					continue
				}
				done.Removed = append(done.Removed, name)
			}
			return a.showRemoved(done, errs...)
		}),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	place.addOfSteps(c)
	return c
}

// removed is what `muster image remove` and `muster container remove` print with -o json.
type removed struct {
	Removed []string `json:"removed"`
	// Job is there where all containers of a job were to go, however many there were.
	Job string `json:"job,omitempty"`
}

// showRemoved answers in JSON, if that was asked for: people have nothing to read. Where
// nothing was removed the errors are the answer.
func (a *app) showRemoved(done removed, errs ...error) error {
	if a.output != "json" || len(errs) > 0 && len(done.Removed) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, a.writeJSON(done))...)
}

func (a *app) imagePrune(place *imagePlace) *cobra.Command {
	var all bool
	var limit string
	c := &cobra.Command{
		Use:     "prune",
		Short:   "Make room in the layer cache, and remove what killed imports left",
		Long:    "Prune removes the layers that were not used for the longest time, until the\ncache is within its limit. Images stay as they are; what needs such a layer later\nfetches it again.",
		Example: "  muster image prune --cache-limit 10G\n  muster image prune --all",
		Args:    cobra.NoArgs,
		RunE: a.whereItIs(place, func(c *cobra.Command, _ []string) error {
			if err := place.find(a); err != nil {
				return err
			}
			o := image.PruneOptions{Dir: place.Dir, Cache: place.Cache}
			if limit != "" {
				keep, err := bytesOf(limit)
				if err != nil {
					return err
				}
				o.Limit = keep
				all = all || keep == 0
			}
			if all {
				o.Limit = -1
			}
			done, err := image.Prune(c.Context(), o)
			if err != nil {
				return err
			}
			return a.answer(done, func() error {
				_, err := fmt.Fprintf(a.out, "%s removed, %s freed, %s kept\n", count.Of(done.Layers, "layer"), count.Bytes(done.FreedBytes), count.Bytes(done.KeptBytes))
				return err
			})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "remove all layers")
	c.Flags().StringVar(&limit, "cache-limit", "", "how many `BYTES` of layers to keep (default: 64G, or a quarter of the disk)")
	return c
}
