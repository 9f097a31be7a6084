package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/provider/local"
)

func (a *app) status() *cobra.Command {
	var place string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what there is: clusters, services, nodes, jobs, storage",
		Long: `Status shows all clusters, or with --cluster one of them. It changes nothing.

Clusters on AWS are those that this machine knows of and, where there are
credentials, those of the region that AWS_REGION or the profile names.

It ends with exit code 0 if all is well and with 3 if something needs a look: a
service that is not ready, a node that is down or drained, a cluster that does not
run. What does not answer is shown as blind, which needs a look, too.`,
		Example: "  muster status\n  muster status --cluster demo\n  muster status --on aws\n  muster status -o json | jq '.clusters[].nodes.states'",
		Args:    cobra.NoArgs,
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

// statusAnswer looks at clusters from outside, or at that of this head node.
func (a *app) statusAnswer(ctx context.Context, place string) (statusAnswer, error) {
	if onCloudHead() {
		s, err := statusHere(ctx)
		return statusAnswer{Clusters: []clusterStatus{s}}, err
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
	refs, err := a.refs(place)
	if err != nil {
		return statusAnswer{}, err
	}
	answer := statusAnswer{Clusters: lookAtAll(ctx, refs)}
	if a.cluster == "" || len(refs) == 0 {
		aws, err := a.awsClusters(ctx, place)
		if err != nil {
			return answer, err
		}
		answer.Clusters = append(answer.Clusters, aws...)
	}
	if a.cluster != "" && len(answer.Clusters) == 0 {
		return answer, a.noSuchCluster(place)
	}
	return answer, nil
}

// refs are the local cluster that was asked for, or all.
func (a *app) refs(place string) ([]cluster.Ref, error) {
	refs := []cluster.Ref{}
	home, err := local.Home()
	if err != nil || place == onAWS {
		return refs, err
	}
	if a.cluster != "" {
		if err := cluster.CheckName(a.cluster); err != nil {
			return nil, err
		}
	}
	names, err := local.Names(home)
	for _, n := range names {
		if a.cluster == "" || n == a.cluster {
			refs = append(refs, cluster.Ref{Home: home, Name: n})
		}
	}
	return refs, err
}

// existing is the cluster that the command is about, which must have a record.
func (a *app) existing() (cluster.Ref, error) {
	ref, err := a.ref()
	if err != nil {
		return ref, err
	}
	if _, err := ref.Layout().Record(); errors.Is(err, fs.ErrNotExist) {
		return ref, noCluster(ref)
	}
	return ref, nil
}

func (s statusAnswer) exit() error {
	for _, c := range s.Clusters {
		if !c.Healthy {
			return exitCode(exitLook)
		}
	}
	return nil
}

// needs adds what needs a look.
func (s *clusterStatus) needs(format string, args ...any) {
	s.Look = append(s.Look, fmt.Sprintf(format, args...))
}
