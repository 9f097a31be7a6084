package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

type upOptions struct {
	place    string
	workload string
	noTest   bool
	verify   bool
	yes      bool
}

func (a *app) up() *cobra.Command {
	var o upOptions
	c := &cobra.Command{
		Use:   "up FILE",
		Short: "Create a cluster or change it to what its file says",
		Long: `Up makes the cluster what its file says. It is safe to run again: after a crash
it goes on, after a change of the file it applies the change, and jobs go on
running. It ends when the cluster answers and a test job has run.

The cluster is the one that --cluster names, or else the one that was made of
FILE, or else a new one that is named for it. Where it was made of another file,
or an edited one takes away a queue with jobs or a mount with files, up says what
goes, and asks.

On AWS it first shows what it would make and what that costs, and asks. What
ParallelCluster's update policies do not allow is refused before anything is
touched. It ends when the head node runs what the file says and the nodes that are
always on have answered, with a test job on them. Where none is always on a test job
would cost: --verify runs one, and its price is shown before.

--yes answers these questions alone. What is refused without it is refused with it.
Exit codes: 0 the cluster is as the file says, 1 it is not and the last line says
why, 2 wrong command line or no terminal to ask on, 130 stopped.`,
		Example: "  muster up cluster.yaml\n  muster up cluster.yaml --on local --cluster rehearsal\n  muster up cluster.yaml --on aws",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkPlace(o.place); err != nil {
				return err
			}
			if o.noTest && o.verify {
				return fault.Usage(errors.New("--no-test and --verify want opposite things"))
			}
			if err := (where{name: "this one", place: o.place}).fits(c); err != nil {
				return err
			}
			if o.place == onAWS {
				return a.upAWS(c.Context(), args[0], o)
			}
			if err := a.notOnAWS(args[0], c.Flags().Changed("on")); err != nil {
				return err
			}
			files, err := a.load(c.Context(), args[0], o.workload)
			if err != nil {
				return err
			}
			home, name, told, err := a.nameForUp(args[0], onLocal)
			if err != nil {
				return err
			}
			a.tell(told)
			return a.runUp(c.Context(), home, name, files, o)
		},
	}
	c.Flags().StringVar(&o.place, "on", onLocal, "the `PLACE`: local or aws")
	c.Flags().StringVar(&o.workload, "workload", "", "the workload `FILE` (default: muster.yaml beside FILE)")
	c.Flags().BoolVar(&o.noTest, "no-test", false, "do not run the test job")
	c.Flags().BoolVar(&o.verify, "verify", false, "on aws: run the test job even if nodes have to start for it")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before what costs, or takes something from a cluster that runs")
	return c
}

// files are a cluster file and its workload file, read and checked.
type files struct {
	cluster        *spec.Cluster
	workload       *spec.Workload
	source         []byte
	workloadSource []byte
}

// load reads the user's files, until the context ends.
func (a *app) load(ctx context.Context, path, workload string) (f files, err error) {
	err = heed.Call(ctx, func() (err error) {
		f, err = a.read(path, workload)
		return err
	})
	return f, err
}

// read reads and checks the user's files and shows all their problems.
func (a *app) read(path, workload string) (files, error) {
	var f files
	problems := &diag.List{}
	var ok bool
	if f.source, ok = spec.Read(path, problems); !ok {
		return f, a.showProblems(problems)
	}
	if err := notScript(path, f.source); err != nil {
		return f, err
	}
	if f.cluster, problems = spec.Parse(path, f.source); f.cluster == nil {
		return f, a.showProblems(problems)
	}
	var more *diag.List
	f.workload, f.workloadSource, more = readWorkload(workload, f.cluster)
	problems.Append(more.All()...)
	if err := a.showProblems(problems); err != nil {
		return f, err
	}
	f.cluster = f.cluster.With(f.workload)
	a.tellOfAWS(path, f.source)
	return f, nil
}

// readWorkload reads and checks a workload file, once, as it can be a pipe. If none is
// asked for, it is the one beside the cluster file, which need not be there.
func readWorkload(asked string, c *spec.Cluster) (*spec.Workload, []byte, *diag.List) {
	path := asked
	list := &diag.List{}
	if path == "" {
		path = spec.WorkloadPath(c.File)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return &spec.Workload{}, nil, list
		}
	}
	source, ok := spec.Read(path, list)
	if !ok {
		return nil, nil, list
	}
	w, list := spec.ParseWorkload(path, source, c)
	return w, source, list
}

// tellOfAWS says that a file which is good for this machine is not yet good for
// AWS.
func (a *app) tellOfAWS(path string, source []byte) {
	if a.quiet {
		return
	}
	f := spec.OpenText(path, source, spec.Options{AWS: true})
	rules(f)
	errs, warnings := f.Problems.Count(diag.Error), f.Problems.Count(diag.Warning)
	if errs+warnings == 0 {
		return
	}
	fmt.Fprintf(a.err, "for AWS the file has %s and %s: `muster check %s` shows them\n",
		count.Of(errs, "error"), count.Of(warnings, "warning"), page.Printable(path))
}

// showProblems shows problems on stderr. It fails if one of them is an error. With -o
// json, such problems are the failure, which is shown when the command ends.
func (a *app) showProblems(list *diag.List) error {
	if a.output == "json" && list.HasErrors() {
		return list
	}
	if err := diag.WriteText(a.err, list, a.color()); err != nil {
		return err
	}
	if list.HasErrors() {
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}
