//go:build !linux

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status"
)

// ofLinux are the commands that need Linux, by their names alone, and what is left of
// others here.
func (a *app) ofLinux() []*cobra.Command {
	return []*cobra.Command{
		needsLinux("demo", demoShort), needsLinux("doctor", doctorShort), needsLinux("node", nodeShort),
		needsLinux("container", containerShort), a.fleetVerbs(), a.agent(),
	}
}

// notOfMachines is about clusters on this machine.
func (a *app) notOfMachines(string, string) error { return nil }

// imageMakers are the commands that need Linux among those about images.
func (a *app) imageMakers(*imagePlace) []*cobra.Command {
	return []*cobra.Command{needsLinux("build", buildShort), needsLinux("pack", packShort)}
}

// needsLinux is a command that is for Linux alone.
func needsLinux(name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: short + ".\n\nIt needs Linux.", DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--help" || arg == "-h" {
					return c.Help()
				}
			}
			return errors.New("`" + c.CommandPath() + "` needs Linux")
		},
	}
}

// agent has what SSH runs on the way to a head node.
func (a *app) agent() *cobra.Command {
	c := &cobra.Command{Use: "agent", Short: "Used by clusters", Hidden: true}
	c.AddCommand(a.agentSession())
	return c
}

// makesOne is what to do where there is no cluster.
const makesOne = "`muster up FILE --on aws` makes one"

// siteTypes are of head nodes.
func siteTypes() *catalog.Newer { return nil }

// places are all places. Clusters on this machine need Linux.
var places = []place.Place{place.Absent{Called: "local", At: "on this machine", Why: errNotHere}, aws.Place{}}

var errNotHere = errors.New("a cluster on this machine needs Linux; clusters on AWS are made and used from here, too: say --on aws")

// verifyAlone looks at a machine with Linux.
func (a *app) verifyAlone(context.Context, proofOptions) error {
	return errors.New("`muster verify --alone` needs Linux")
}

// inside and onCloudHead tell that this is no machine of a cluster: those have Linux.
func inside() bool      { return false }
func onCloudHead() bool { return false }
func findSlurm() error  { return nil }

// endWithCaller has nobody to end with.
func endWithCaller() error { return nil }

// onLustre is asked on machines of clusters alone.
func onLustre(string) (bool, error) { return false, errNotHere }

// onHead makes a command one that runs on the head node.
func (a *app) onHead(func(*cobra.Command, []string, slurm.Client) error) func(*cobra.Command, []string) error {
	return a.forwarded(func(*cobra.Command, []string) error { return errNotHere })
}

// insideOf has no use on other systems: no command runs inside a cluster there.
type insideOf struct{ place.Near }

func servicesHere() ([]manifest.Service, error) { return nil, errNotHere }

func statusHere(context.Context) (status.Cluster, error) { return status.Cluster{}, errNotHere }

// What follows is about clusters on this machine. It is never reached: a.find finds none.

func (a *app) fileHere() (string, error) {
	return "", errors.New("a cluster on this machine needs Linux: give --cluster the cluster file")
}

func (a *app) showEvents(context.Context, string, eventsOptions) error { return errNotHere }

func (p *imagePlace) ofLocal(*app) error {
	return errors.New("a cluster on this machine needs Linux: say with --dir where the images are")
}

func (a *app) ofRegistry(context.Context, string, *imagePlace) error { return nil }

func (a *app) completeNode(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeRunningNode(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) verifyOn(context.Context, slurm.Client, proofOptions) error { return errNotHere }

func runAgain() bool { return false }

// savedFinder looks at files of jobs, which are on head nodes.
type savedFinder struct{}

func filesOf() savedFinder { return savedFinder{} }
func (savedFinder) close() {}

func (savedFinder) checkpoints(context.Context, int, []string) ([]report.Saved, error) {
	return nil, errNotHere
}
