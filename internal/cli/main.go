// Package cli is muster's command line. Each command parses into plain options
// and calls one function of a lower floor. The answer goes to stdout, the
// conversation to stderr.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

// app is what the commands share: the streams and the global flags.
type app struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	cluster string
	output  string
	quiet   bool
	noColor bool
	// midLine is set while the terminal shows a line of progress that another one replaces.
	midLine bool
}

// stopping are the signals by which people and programs stop a command.
var stopping = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// Main runs the command line and returns the exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), heed.Signals(stopping)...)
	defer stop()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	catalog.Beside(func() *catalog.Newer { return newerTypes(a.err) })
	err := a.root().ExecuteContext(ctx)
	return a.exit(ctx, err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "muster",
		Short: "From a cluster file to a training cluster, and back",
		Long: `muster takes an AWS ParallelCluster v3 cluster file to a Slurm cluster that
runs training jobs: here on this machine (a rehearsal on real Slurm, with the same
partitions, node names, GPU counts, mounts and batch scripts), or on AWS.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: a.begin,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
			return unknown(c, words[0]) // whose flag it is
		}
		if near := flagNear(c, err); near != "" {
			return fault.Usage(fmt.Errorf("%w; did you mean --%s?", err, near))
		}
		return fault.Usage(fmt.Errorf("%w; see `%s --help`", err, c.CommandPath()))
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.cluster, "cluster", "", "the cluster's `NAME` (default: see \"muster help\")")
	flags.StringVarP(&a.output, "output", "o", "text", "the answer's `FORMAT`: text or json")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress on stderr")
	flags.BoolVar(&a.noColor, "no-color", false, "no colours")
	root.AddCommand(a.up(), a.down(), a.shell(), a.exec(), a.ssh(), a.status(), a.nodes(), a.events(), a.check(), a.plan())
	root.AddCommand(a.top(), a.verify(), a.run(), a.job(), a.image(), a.data(), a.adopt(), a.catalog(), a.version())
	root.AddCommand(a.ofLinux()...)
	root.SetHelpCommand(a.help())
	root.SetUsageFunc(showUsage)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	groups(root)
	a.versionFlag(root)
	usage(root)
	return root
}

// begin comes before every command.
func (a *app) begin(c *cobra.Command, _ []string) error {
	if c.Name() == cobra.ShellCompRequestCmd { // only then: it looks at every flag of every command
		signal.Reset(stopping...) // there is nothing to clean up, and files can be pipes
		a.complete(c.Root())
		unquoteFlags(c.Root())
	}
	if err := findSlurm(); err != nil {
		return err
	}
	if err := checkCluster(c); err != nil {
		return err
	}
	return checkFormat(c, a.output)
}

// usage makes wrong arguments of every command a usage error.
func usage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return fault.Usage(fmt.Errorf("%w; see `%s --help`", nameHint(c, args, argumentError(c, err)), c.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usage(sub)
	}
}
