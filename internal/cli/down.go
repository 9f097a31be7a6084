package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
)

func (a *app) down() *cobra.Command {
	var deleteData, yes bool
	c := &cobra.Command{
		Use:     "down",
		Short:   "Take a cluster down and prove that nothing is left",
		Long:    "Down ends the cluster's processes and removes what it made. The data on its shared\nfile systems and in its buckets stays, unless --delete-data is given.",
		Example: "  muster down\n  muster down --cluster demo --delete-data --yes",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ref, err := a.ref()
			if err != nil {
				return err
			}
			if deleteData && !yes {
				if err := a.confirm("Delete all data of cluster " + ref.Name + "?"); err != nil {
					return err
				}
			}
			_, err = cluster.Down(c.Context(), cluster.DownOptions{Ref: ref, DeleteData: deleteData, Report: a.reporter()})
			return err
		},
	}
	c.Flags().BoolVar(&deleteData, "delete-data", false, "also delete the data on shared file systems and in buckets")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}
