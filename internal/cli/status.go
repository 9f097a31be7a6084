package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/provider/local"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what there is: clusters, services, nodes, jobs, storage",
		Long: `Status shows all clusters, or with --cluster one of them. It changes nothing.

It ends with exit code 0 if all is well and with 3 if something needs a look: a
service that is not ready, a node that is down or drained, a cluster that does not
run. What does not answer is shown as blind, which needs a look, too.`,
		Example: "  muster status\n  muster status --cluster demo\n  muster status -o json | jq '.clusters[].nodes.states'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := onHost(); err != nil {
				return err
			}
			refs, err := a.refs()
			if err != nil {
				return err
			}
			answer := statusAnswer{Clusters: lookAtAll(c.Context(), refs)}
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
}

// refs are the cluster that was asked for, or all.
func (a *app) refs() ([]cluster.Ref, error) {
	if a.cluster != "" {
		ref, err := a.existing()
		return []cluster.Ref{ref}, err
	}
	home, err := local.Home()
	if err != nil {
		return nil, err
	}
	names, err := local.Names(home)
	if err != nil {
		return nil, err
	}
	refs := []cluster.Ref{}
	for _, n := range names {
		refs = append(refs, cluster.Ref{Home: home, Name: n})
	}
	return refs, nil
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
