package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/place"
)

func (a *app) down() *cobra.Command {
	var o downOptions
	c := &cobra.Command{
		Use:   "down [NAME]",
		Short: "Take a cluster down and prove that nothing is left",
		Long: `Down ends the cluster's processes and removes what it made. The data on its shared
file systems and in its buckets stays, unless --delete-data is given.

On this machine it waits for the last export of linked directories. If files are not
in the buckets then, or if nobody can say, it ends with a list and exit code 3. What
sacct knew of jobs goes; the next cluster's jobs go on with the numbers.

On AWS file systems that are linked with S3 as a whole are exported for a last time,
and deleted when every file is there; others stay with the network that they are in,
and the next ` + "`muster up`" + ` mounts them again. It ends with a list of what is left and
what that costs a month, and with exit code 3 if it costs anything. --delete-data
deletes the file systems and buckets, too, but nothing with DeletionPolicy: Retain.
Who makes the cluster again later pays for what stays until then.`,
		Example: "  muster down\n  muster down demo --delete-data --yes\n  muster down demo --on aws",
		Args:    a.clusterName,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.deleteData {
				if err := a.findKept(&o); err != nil {
					return err
				}
			}
			w, err := a.find(o.place)
			if errors.Is(err, errNone) {
				return fmt.Errorf("%w%s", err, keptData(w.home))
			}
			if err != nil {
				return err
			}
			a.tellWhich(w)
			return a.takeDown(c.Context(), w, o)
		},
	}
	c.Flags().StringVar(&o.place, "on", "", "the `PLACE`: "+anyPlace()+" (default: where the cluster is)")
	c.Flags().BoolVar(&o.deleteData, "delete-data", false, "also delete the data on shared file systems and in buckets")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

type downOptions struct {
	place           string
	deleteData, yes bool
}

// takeDown takes a cluster down and says what is left of it.
func (a *app) takeDown(ctx context.Context, w where, o downOptions) error {
	answer, err := w.Down(ctx, place.DownOptions{DeleteData: o.deleteData, Yes: o.yes})
	if err != nil && ctx.Err() != nil && begun(answer) {
		fmt.Fprintf(a.err, "\nmuster: `muster down --cluster %s` goes on from here\n", w.name)
	}
	if err := a.showSteps(answer, err); err != nil {
		return err
	}
	return errors.Join(a.showLeft(answer.Left), a.showUnexported(answer.NotExported))
}

// findKept makes a command that deletes data one about a cluster that was taken down, if
// that is named, or if none is named and its file is the nearest. Being the only cluster
// is not enough.
func (a *app) findKept(o *downOptions) error {
	home, err := homeDir()
	if err != nil {
		return err
	}
	only, err := placeOf(o.place)
	if err != nil {
		return err
	}
	var kept []madeOf
	of := map[string]place.Place{}
	for _, p := range those(only) {
		for _, k := range p.Kept(home) {
			kept, of[k.Name] = append(kept, ofFile(k.Known)), p
		}
	}
	c := choice{}
	if c.known, err = known(home, only); err != nil {
		return err
	}
	if name := a.asked(); name != "" {
		if p := of[name]; p != nil && !slices.ContainsFunc(c.known, func(m madeOf) bool { return m.name == name }) {
			o.place = p.Name() // whatever other clusters of that name there may be that this machine does not know
		}
		return nil
	}
	c.known = append(c.known, kept...)
	c.lookHere()
	near := c.nearest()
	if !slices.ContainsFunc(near, func(m madeOf) bool { return of[m.name] != nil }) {
		return nil
	}
	if len(near) > 1 {
		return several(fmt.Sprintf("%d clusters were made of files in %s: %s", len(near), near[0].dir, listed(near)))
	}
	a.note("this is about the data of cluster %s, which was taken down and whose file is %s", near[0].name, near[0].file)
	a.cluster, o.place = near[0].name, of[near[0].name].Name()
	return nil
}

// keptData names the data that clusters left when they were taken down, and what
// deletes it, at the end of an error.
func keptData(home string) string {
	var text strings.Builder
	for _, k := range keptIn(home, places) {
		text.WriteString("; " + sayKept(k))
	}
	return text.String()
}

// keptIn are the clusters of places that were taken down and whose data is kept.
func keptIn(home string, of []place.Place) []place.Kept {
	var all []place.Kept
	for _, p := range of {
		all = append(all, p.Kept(home)...)
	}
	return all
}

// sayKept says where the data of a cluster is, and how it goes.
func sayKept(k place.Kept) string {
	return fmt.Sprintf("the data of %s is kept in %s, and `muster down --cluster %s --delete-data` deletes it", k.Name, k.Dir, k.Name)
}
