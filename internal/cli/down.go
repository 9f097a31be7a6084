package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

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
			if question := downQuestion(c.Context(), ref, deleteData); question != "" && !yes {
				if err := a.confirm(question); err != nil {
					return err
				}
			}
			steps, err := cluster.Down(c.Context(), cluster.DownOptions{Ref: ref, DeleteData: deleteData, Report: a.reporter()})
			return a.showSteps(ref, steps, err)
		},
	}
	c.Flags().BoolVar(&deleteData, "delete-data", false, "also delete the data on shared file systems and in buckets")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// downQuestion is what to ask before a cluster is taken down, "" if nothing is
// lost by it.
func downQuestion(ctx context.Context, ref cluster.Ref, deleteData bool) string {
	switch jobs := runningJobs(ctx, ref); {
	case jobs > 0 && deleteData:
		return fmt.Sprintf("%d jobs are running or wait. End them and delete all data of cluster %s?", jobs, ref.Name)
	case jobs > 0:
		return fmt.Sprintf("%d jobs are running or wait. End them and take cluster %s down?", jobs, ref.Name)
	case deleteData:
		return "Delete all data of cluster " + ref.Name + "?"
	}
	return ""
}

// runningJobs counts the jobs that would be lost. A Slurm that does not answer
// has none to lose.
func runningJobs(ctx context.Context, ref cluster.Ref) int {
	l := ref.Layout()
	anchor, alive := l.Alive()
	if !alive {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out, err := cluster.OnHead(ctx, l, anchor, "squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED,STOPPED", "--format=%A")
	if err != nil {
		return 0
	}
	return len(strings.Fields(out))
}
