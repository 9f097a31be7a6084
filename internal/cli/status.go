package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/status"
)

func (a *app) status() *cobra.Command {
	var on string
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
			answer, err := a.statusAnswer(c.Context(), on)
			if err != nil {
				return err
			}
			if err := a.answer(answer, func() error { return answer.write(a.out, time.Now()) }); err != nil {
				return err
			}
			return answer.exit()
		},
	}
	c.Flags().StringVar(&on, "on", "", "only clusters on `PLACE`: "+anyPlace())
	return c
}

// statusAnswer is what `muster status -o json` prints.
type statusAnswer struct {
	Clusters []status.Cluster `json:"clusters"`
	// Kept are clusters that were taken down and whose data is kept on this machine.
	Kept []keptCluster `json:"kept,omitempty"`
}

// keptCluster is the data of a cluster that was taken down.
type keptCluster struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`
	// File is the cluster file that it was made of, if that is known.
	File string `json:"file,omitempty"`
}

// statusAnswer looks at clusters from outside, or at that of this head node.
func (a *app) statusAnswer(ctx context.Context, on string) (statusAnswer, error) {
	if onCloudHead() {
		s, err := statusHere(ctx)
		return statusAnswer{Clusters: []status.Cluster{s}}, err
	}
	if err := onHost(); err != nil {
		return statusAnswer{}, err
	}
	return a.statuses(ctx, on)
}

// statuses looks at the cluster that was asked for, or at all.
func (a *app) statuses(ctx context.Context, on string) (statusAnswer, error) {
	answer := statusAnswer{Clusters: []status.Cluster{}}
	only, err := placeOf(on)
	if err != nil {
		return answer, err
	}
	home, err := homeDir()
	if err != nil {
		return answer, err
	}
	for _, p := range those(only) {
		if a.asked() != "" && len(answer.Clusters) > 0 {
			break // one name is one cluster
		}
		here, err := p.Look(ctx, place.Query{Home: home, Name: a.asked(), Only: only != nil})
		if err != nil {
			return answer, err
		}
		answer.Clusters = append(answer.Clusters, here...)
	}
	if a.asked() != "" && len(answer.Clusters) == 0 {
		return answer, noCluster(home, a.asked())
	}
	if a.asked() == "" {
		for _, k := range keptIn(home, those(only)) {
			answer.Kept = append(answer.Kept, keptCluster{k.Name, k.Dir, k.File})
		}
	}
	return answer, nil
}

func (s statusAnswer) exit() error {
	for _, c := range s.Clusters {
		if !c.Healthy {
			return fault.Exit(fault.ExitLook)
		}
	}
	return nil
}
