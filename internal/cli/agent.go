//go:build linux

package cli

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/local/nodes"
)

// agent has what the machines of clusters run of muster.
func (a *app) agent() *cobra.Command {
	var ticket string
	c := &cobra.Command{
		Use: "agent", Short: "Used by clusters: the programs of their machines", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if ticket == "" {
				return c.Help()
			}
			return a.runAgent(c.Context(), ticket)
		},
	}
	c.Flags().StringVar(&ticket, "ticket", "", "boot this machine as the `FILE` says, and serve")
	c.AddCommand(&cobra.Command{
		Use:   "anchor DIR",
		Short: "The first process of a local cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, r, err := nodes.Open(args[0])
			if err != nil {
				return err
			}
			return l.RunAnchor(c.Context(), r)
		},
	})
	c.AddCommand(&cobra.Command{
		Use:   "supervise",
		Short: "Keeps the services of a machine on AWS running",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return agent.Supervise(c.Context()) },
	})
	c.AddCommand(a.agentPlugin(), a.agentSudo(), a.agentConnect(), a.agentSeff(), a.agentDiagnose(), a.agentKernel(), a.agentHealth(), a.agentEnter(), a.agentSession(), a.agentWarm(), a.agentErrands(), a.agentProbe(), a.agentSecrets(), a.agentVerify(), a.agentBurnIn())
	return c
}

func (a *app) runAgent(ctx context.Context, path string) error {
	ticket, err := agent.ReadTicket(path)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := agent.OpenLog()
	if err != nil {
		return err
	}
	defer file.Close()
	limits, err := agent.ParseLimits(os.Getenv("MUSTER_LIMITS"))
	if err != nil {
		return err
	}
	// Slurm's programs may be where no PATH of a daemon leads, and its headers where no
	// compiler looks.
	for name, value := range map[string]string{"PATH": boot.SystemPath, "CPATH": "/opt/slurm/include"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	cloud, err := api.Open(ctx, ticket.Region)
	if err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	return agent.Run(ctx, agent.Config{
		Ticket: ticket, Owner: agent.OwnerFile(path), AWS: cloud.Config(), Endpoint: s3Endpoint(), Version: versionOf(info).Version, Program: self,
		Log:      slog.New(slog.NewTextHandler(io.MultiWriter(a.err, file), nil)),
		Limits:   limits,
		Shutdown: strings.Fields(cmp.Or(os.Getenv("MUSTER_SHUTDOWN"), "shutdown -h now")),
	})
}

// s3Endpoint is where S3 is, where the environment says so as AWS's programs read it.
func s3Endpoint() string {
	return cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
}
