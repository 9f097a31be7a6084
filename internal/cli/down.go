package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
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
			if w.place == onAWS {
				return a.downAWS(c.Context(), w, o)
			}
			return a.downLocal(c.Context(), w, o)
		},
	}
	c.Flags().StringVar(&o.place, "on", "", "the `PLACE`: local or aws (default: where the cluster is)")
	c.Flags().BoolVar(&o.deleteData, "delete-data", false, "also delete the data on shared file systems and in buckets")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

type downOptions struct {
	place           string
	deleteData, yes bool
}
