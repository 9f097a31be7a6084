package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/status"
)

func (a *app) status() *cobra.Command {
	var place string
	c := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show what there is: clusters, services, nodes, jobs, storage",
		Long: `Status shows all clusters, or the one that is named. It changes nothing.

Clusters on AWS are those that this machine knows of and, where there are
credentials, those of the region that AWS_REGION or the profile names.

It ends with exit code 0 if all is well and with 3 if something needs a look: a
service that is not ready, a node that is down or drained, a cluster that does not
run. What does not answer is shown as blind, which needs a look, too.`,
		Example: "  muster status\n  muster status demo\n  muster status --on aws\n  muster status -o json | jq '.clusters[].nodes.states'",
		Args:    a.clusterName,
		RunE: func(c *cobra.Command, _ []string) error {
			answer, err := a.statusAnswer(c.Context(), place)
			if err != nil {
				return err
			}
			if a.output == "json" {
				err = a.writeJSON(answer)
			} else {
				err = answer.write(a.out, time.Now())
			}
			if err != nil {
				return err
			}
			return answer.exit()
		},
	}
	c.Flags().StringVar(&place, "on", "", "only clusters on `PLACE`: local or aws")
	return c
}

// statusAnswer is what `muster status -o json` prints.
type statusAnswer struct {
	Clusters []status.Cluster `json:"clusters"`
}

// statusAnswer looks at clusters from outside, or at that of this head node.
func (a *app) statusAnswer(ctx context.Context, place string) (statusAnswer, error) {
	if onCloudHead() {
		s, err := statusHere(ctx)
		return statusAnswer{Clusters: []status.Cluster{s}}, err
	}
	if err := onHost(); err != nil {
		return statusAnswer{}, err
	}
	return a.statuses(ctx, place)
}

// statuses looks at the cluster that was asked for, or at all.
func (a *app) statuses(ctx context.Context, place string) (statusAnswer, error) {
	if err := checkPlace(place); err != nil {
		return statusAnswer{}, err
	}
	home, names, err := a.localOnes(place)
	if err != nil {
		return statusAnswer{}, err
	}
	answer := statusAnswer{Clusters: lookAtAll(names, func(name string) status.Cluster { return lookAt(ctx, home, name) })}
	if a.asked() == "" || len(names) == 0 {
		records, err := a.awsClusters(ctx, place)
		if err != nil {
			return answer, err
		}
		answer.Clusters = append(answer.Clusters, lookAtAll(records, func(r aws.Record) status.Cluster { return aws.Look(ctx, r) })...)
	}
	if a.asked() != "" && len(answer.Clusters) == 0 {
		return answer, a.noSuchCluster(place)
	}
	return answer, nil
}

// lookAtAll looks at clusters, all at once.
func lookAtAll[T any](clusters []T, look func(T) status.Cluster) []status.Cluster {
	all := make([]status.Cluster, len(clusters))
	var group sync.WaitGroup
	for i, c := range clusters {
		group.Go(func() { all[i] = look(c) })
	}
	group.Wait()
	return all
}

// localOnes are the local cluster that was asked for, or all.
func (a *app) localOnes(place string) (home string, names []string, err error) {
	home, err = homeDir()
	if err != nil || place == onAWS {
		return home, nil, err
	}
	if a.asked() != "" {
		if err := spec.CheckName(a.asked()); err != nil {
			return home, nil, err
		}
	}
	names, err = localNames(home)
	return home, slices.DeleteFunc(names, func(n string) bool { return a.asked() != "" && n != a.asked() }), err
}

func (s statusAnswer) exit() error {
	for _, c := range s.Clusters {
		if !c.Healthy {
			return fault.Exit(fault.ExitLook)
		}
	}
	return nil
}
