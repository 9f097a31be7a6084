package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// proofOptions are what `muster verify` is asked for.
type proofOptions struct {
	suites    []string
	nodes     string
	nodeList  string
	partition string
	image     string
	budget    time.Duration
	want      []string
	report    string
	baseline  string
	here      bool
	alone     bool
	diagnosis int
	disk      string
	expect    bool
	drain     bool
	strict    bool
	yes       bool
}

// usualSuites run where none is named. container needs an image.
func (o proofOptions) usualSuites() []string {
	if o.alone {
		return verify.AloneSuites()
	}
	return slices.DeleteFunc(verify.Suites(), func(s string) bool { return s == verify.Container && o.image == "" && !o.expect })
}

// complete is what there is to name.
func (o *proofOptions) complete(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if o.alone {
		return verify.AloneSuites(), cobra.ShellCompDirectiveNoFileComp
	}
	return verify.Suites(), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) verify() *cobra.Command {
	var o proofOptions
	c := &cobra.Command{
		Use:   "verify [SUITE...]",
		Short: "Have a cluster prove itself: nodes, network, storage, Slurm",
		Long: `Verify runs suites of checks as Slurm jobs on a cluster's nodes and judges what
they find: pass, warn, fail, skip where a check does not apply, and blind where
nobody could look. Without names it runs all suites:

  basic        Slurm, partitions, mounts, buckets, names, clocks, a job and back
  host         what each machine is: driver, EFA, programs, limits, disks
  container    the same in a container image (--image)
  gpu, efa     GPUs and their links; EFA's devices and what libfabric sees
  nccl         the six collectives of nccl-tests on GPUs
  collectives  the same six on any machine, over gloo
  network      bandwidth and latency between nodes, in rounds that find a slow one
  storage      each mount: bandwidth, and files made and removed a second
  slurm        a job that is queued again, the accounting, nodes that power down

The nodes are one job's, named muster-verify, which ends with this command,
however that ends. With --here it is about the Slurm of this machine, whoever
made the cluster: nothing has to be installed on its nodes. With --alone it is
about this machine, without Slurm: host, gpu, efa, nccl, collectives, and
storage on its own disks.`,
		Example: "  muster verify\n  muster verify basic network --nodes 10\n  muster verify --nodes all --budget 2h --report acceptance\n" +
			"  muster verify --here -o json > report.json\n  muster verify --alone gpu nccl --diagnosis 2\n  muster verify diff before.json report.json\n  muster verify --expect cluster.yaml",
		ValidArgsFunction: o.complete,
		PreRunE: func(c *cobra.Command, args []string) error {
			o.suites = args
			if o.expect {
				o.suites = a.expectOf(args)
			}
			if (o.here || o.alone) && c.Flags().Changed("cluster") {
				return fault.Usage(errors.New("--here and --alone are about this machine: leave --cluster out"))
			}
			return o.check()
		},
	}
	onHead := a.onHead(func(c *cobra.Command, _ []string, s slurm.Client) error { return a.verifyOn(c.Context(), s, o) })
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case o.expect:
			return a.verifyExpect(o.suites, o.want)
		case o.here:
			return a.verifyHere(c.Context(), o)
		case o.alone:
			return a.verifyAlone(c.Context(), o)
		}
		if near, err := a.near(); err == nil && near != nil && !inside() {
			if err := errors.Join(seenByHead("--report", o.report), seenByHead("--baseline", o.baseline)); err != nil {
				return err
			}
		}
		return onHead(c, args)
	}
	o.flags(c)
	c.AddCommand(a.verifyDiff(), a.verifyProof(), a.verifyPage())
	return c
}

// verifyHere verifies the cluster that this machine's Slurm programs lead to, if there is one.
func (a *app) verifyHere(ctx context.Context, o proofOptions) error {
	s := slurm.Client{Runner: slurm.Exec{}}
	if _, err := s.Conf(ctx); err != nil {
		return fmt.Errorf("no Slurm answers on this machine: %w; --here is for where sinfo works, such as a node of the cluster or `muster shell`", err)
	}
	return a.verifyOn(ctx, s, o)
}

func (o *proofOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.nodes, "nodes", "", "how many nodes take part, or all: a `NUMBER` or all (default 2, or 1 where there is no other)")
	c.Flags().StringVar(&o.nodeList, "nodelist", "", "these nodes, a `LIST` such as gpu-dy-p5-[1-4]")
	c.Flags().StringVar(&o.partition, "partition", "", "the nodes of a `PARTITION` (default: Slurm's)")
	c.Flags().StringVar(&o.image, "image", "", "an `IMAGE` for suites that look into a container or run in one")
	c.Flags().DurationVar(&o.budget, "budget", 30*time.Minute, "the `TIME` for all of it, the wait for nodes included")
	repeat(c.Flags(), &o.want, "want", "another expectation, as `NAME=VALUE`, such as driver=550; can be repeated")
	c.Flags().StringVar(&o.report, "report", "", "write report.json, .html, .xml and .sig into a `DIR`")
	c.Flags().StringVar(&o.baseline, "baseline", "", "an earlier report of the cluster, a `FILE`: figures that nobody has published are held against it")
	c.Flags().BoolVar(&o.here, "here", false, "the Slurm of this machine, also of a cluster that muster did not make")
	c.Flags().BoolVar(&o.alone, "alone", false, "this machine alone, without Slurm: what puts load on it is not for one that runs jobs")
	c.Flags().IntVar(&o.diagnosis, "diagnosis", 1, "the `LEVEL` of DCGM's diagnosis in suite gpu: 1 takes seconds, 2 up to 2 minutes, 3 up to 30, 4 one to two hours")
	c.Flags().StringVar(&o.disk, "disk", "", "with --alone, a `DIR` on the disk that suite storage measures (default: where the cluster file has the instance's own disks, else /scratch)")
	c.Flags().BoolVar(&o.expect, "expect", false, "only say what the suites expect of each machine of the cluster's file, and of its nodes together")
	c.Flags().BoolVar(&o.drain, "drain", false, "take nodes out of service that fail a check of their own, with it as the reason")
	c.Flags().BoolVar(&o.strict, "strict", false, "warnings, and that nothing applied, end with exit code 3, too")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before nodes start that cost")
	_ = c.RegisterFlagCompletionFunc("diagnosis", cobra.FixedCompletions([]string{"1", "2", "3", "4"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("nodes", cobra.FixedCompletions([]string{"2", "10", "all"}, cobra.ShellCompDirectiveNoFileComp))
}

// leastBudget is the time in which no suite can end.
const leastBudget = 10 * time.Second

func (o *proofOptions) check() error {
	for _, s := range o.suites {
		if !slices.Contains(verify.Suites(), s) {
			return fault.Usage(noneOf("suite", s, verify.Suites()))
		}
	}
	if o.alone {
		if err := o.checkAlone(); err != nil {
			return fault.Usage(err)
		}
	}
	if o.disk != "" && !o.alone {
		return fault.Usage(errors.New("--disk names a disk of this machine's: it goes with --alone"))
	}
	if slices.Contains(o.suites, verify.Container) && o.image == "" && !o.expect {
		return fault.Usage(errors.New("suite container looks into an image: name it with --image"))
	}
	if o.diagnosis < 1 || o.diagnosis > mostDiagnosis {
		return fault.Usage(fmt.Errorf("--diagnosis %d: DCGM's diagnosis has the levels 1 to %d", o.diagnosis, mostDiagnosis))
	}
	if n, err := strconv.Atoi(o.nodes); o.nodes != "" && o.nodes != "all" && (err != nil || n < 1) {
		return fault.Usage(fmt.Errorf("--nodes %s: write a number, or all", o.nodes))
	}
	if _, err := overrides(o.want); err != nil {
		return err
	}
	if o.budget < leastBudget {
		return fault.Usage(fmt.Errorf("--budget %s: give it a time of at least %s, such as 30m", o.budget, leastBudget))
	}
	if len(o.suites) == 0 {
		o.suites = o.usualSuites()
	}
	// In the order in which they run, each once.
	all := o.suites
	o.suites = slices.DeleteFunc(verify.Suites(), func(s string) bool { return !slices.Contains(all, s) })
	return nil
}

// mostDiagnosis is DCGM's highest level: https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html
const mostDiagnosis = 4

// checkAlone says what of the command line needs a cluster, where there is only this machine.
func (o *proofOptions) checkAlone() error {
	for _, s := range o.suites {
		if !slices.Contains(verify.AloneSuites(), s) {
			return fmt.Errorf("suite %s needs Slurm's nodes: with --alone there are %s", s, strings.Join(verify.AloneSuites(), ", "))
		}
	}
	switch {
	case o.here, o.expect:
		return errors.New("--alone is about this machine without Slurm: leave --here and --expect out")
	case o.nodes != "", o.nodeList != "", o.partition != "", o.drain:
		return errors.New("--alone is about this machine: leave --nodes, --nodelist, --partition and --drain out")
	case o.disk != "" && !filepath.IsAbs(o.disk):
		return fmt.Errorf("--disk %s: write an absolute path", o.disk)
	case o.image != "":
		return errors.New("--alone starts no containers, as it is Slurm that does: leave --image out")
	}
	return nil
}

// noneOf says that a name is none of those that there are, and which is meant.
func noneOf(what, name string, all []string) error {
	meant := ""
	if near := diag.Nearest(name, all); near != "" {
		meant = "did you mean " + near + "? "
	}
	return fmt.Errorf("there is no %s %q: %sthere are %s", what, name, meant, strings.Join(all, ", "))
}
