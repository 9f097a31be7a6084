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
	var o downOptions
	c := &cobra.Command{
		Use:   "down",
		Short: "Take a cluster down and prove that nothing is left",
		Long: `Down ends the cluster's processes and removes what it made. The data on its shared
file systems and in its buckets stays, unless --delete-data is given.

On AWS file systems that are linked with S3 as a whole are exported for a last time,
and deleted when every file is there; others stay with the network that they are in,
and the next ` + "`muster up`" + ` mounts them again. It ends with a list of what is left and
what that costs a month, and with exit code 3 if it costs anything.`,
		Example: "  muster down\n  muster down --cluster demo --delete-data --yes\n  muster down --on aws --cluster demo",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w, err := a.find(o.place)
			if err != nil {
				return err
			}
			if w.place == onAWS {
				return a.downAWS(c.Context(), w, o)
			}
			return a.downLocal(c.Context(), w.ref(), o)
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

func (a *app) downLocal(ctx context.Context, ref cluster.Ref, o downOptions) error {
	if question := downQuestion(ctx, ref, o.deleteData); question != "" && !o.yes {
		if err := a.confirm(question); err != nil {
			return err
		}
	}
	steps, err := cluster.Down(ctx, cluster.DownOptions{Ref: ref, DeleteData: o.deleteData, Report: a.reporter()})
	return a.showSteps(changeAnswer{Cluster: ref.Name, Steps: steps}, err)
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
