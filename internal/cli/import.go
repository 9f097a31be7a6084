package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
)

// importOptions are the words of `muster import`.
type importOptions struct {
	region   string
	hostKeys []string
	forget   bool
}

func (a *app) adopt() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import NAME",
		Short: "Work on a cluster that AWS ParallelCluster made",
		Long: `Import finds the CloudFormation stack of a cluster that ParallelCluster made and
writes down on this machine where the cluster is. Then status, ssh, exec, shell,
nodes, job and run work on it. It stays ParallelCluster's: up and down refuse it,
and import changes nothing in the account. Run it again after an update of it.

The head node's SSH keys are those that its console showed at its first boot. Where
EC2 has them no more, --host-key gives one, and Session Manager works without.`,
		Example: "  muster import ml-cluster --region us-east-1\n  muster nodes --cluster ml-cluster\n  muster import ml-cluster --forget",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.importCluster(c.Context(), args[0], o)
		},
	}
	c.Flags().StringVar(&o.region, "region", "", "the cluster's `REGION` (default: the environment's)")
	repeat(c.Flags(), &o.hostKeys, "host-key", "a public `KEY` of the head node: its kind and itself")
	c.Flags().BoolVar(&o.forget, "forget", false, "forget the cluster; nothing happens to it")
	return c
}

// adoptAnswer is what `muster import -o json` prints.
type adoptAnswer struct {
	aws.Record
	Notes []string `json:"notes,omitempty"`
}

// forgotten is what `muster import --forget -o json` prints.
type forgotten struct {
	Name      string `json:"name"`
	Forgotten bool   `json:"forgotten"`
}

func (a *app) importCluster(ctx context.Context, name string, o importOptions) error {
	if err := spec.CheckName(name); err != nil {
		return fault.Usage(err)
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	if o.forget && (o.region != "" || len(o.hostKeys) > 0) {
		return fault.Usage(errors.New("--forget only forgets: --region and --host-key mean nothing with it"))
	}
	if o.forget {
		if err := aws.Forget(home, name); err != nil || a.output != "json" {
			return err
		}
		return a.writeJSON(forgotten{Name: name, Forgotten: true})
	}
	switch p, err := having(home, name); {
	case err != nil:
		return err
	case p != nil && p != place.Place(aws.Place{}):
		return fmt.Errorf("there is a %s cluster %s, and one name means one cluster on a machine: `muster down --cluster %s` takes it down", p.Name(), name, name)
	}
	for _, key := range o.hostKeys {
		if len(strings.Fields(key)) < 2 {
			return fault.Usage(fmt.Errorf("--host-key %q: write the kind and the key, such as 'ssh-ed25519 AAAA...'", key))
		}
	}
	acc, err := api.Open(ctx, o.region)
	if err != nil {
		return err
	}
	found, err := aws.Adopt(ctx, aws.AdoptOptions{Name: name, Home: home, Account: acc, HostKeys: withoutComments(o.hostKeys)})
	if err != nil {
		return err
	}
	for _, n := range found.Notes {
		fmt.Fprintln(a.err, "muster:", n)
	}
	return a.answer(adoptAnswer{Record: found.Record, Notes: found.Notes}, func() error {
		_, err := fmt.Fprintf(a.out, "%s in %s: ParallelCluster %s, head node %s\n", name, found.Region, found.Adopted.Version, page.OrDash(found.Adopted.Head))
		return err
	})
}

// withoutComments are keys as a file of known hosts has them.
func withoutComments(keys []string) []string {
	var all []string
	for _, key := range keys {
		all = append(all, strings.Join(strings.Fields(key)[:2], " "))
	}
	return all
}
