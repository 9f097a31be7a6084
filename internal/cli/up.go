package cli

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
)

type upOptions struct {
	place    string
	workload string
	noTest   bool
	verify   gate
	yes      bool
	set      []string
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

--set NAME=VALUE, or else the environment, fills ${NAME} in the cluster file. The
cluster keeps the filled text.

On AWS it first shows what it would make and what that costs, and asks. What
ParallelCluster's update policies do not allow is refused before anything is
touched. It ends when the head node runs what the file says and the nodes that are
always on have answered, with a test job on them. Where none is always on a test job
would cost: --verify runs one, and its price is shown before.

With --verify the nodes of the test job then run the suites of "muster verify",
basic and host where none is named. A cluster that fails them stays up, and up
ends with exit code 1.

--yes answers these questions alone. What is refused without it is refused with it.
Exit codes: 0 the cluster is as the file says, 1 it is not and the last line says
why, 2 wrong command line or no terminal to ask on, 130 stopped.`,
		Example: "  muster up cluster.yaml\n  muster up cluster.yaml --on local --cluster rehearsal\n  muster up cluster.yaml --on aws\n  muster up cluster.yaml --on aws --verify=basic,host,network",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if o.noTest && o.verify != nil {
				return fault.Usage(errors.New("--no-test and --verify want opposite things"))
			}
			return a.makeOrChange(c, args[0], o)
		},
	}
	c.Flags().StringVar(&o.place, "on", places[0].Name(), "the `PLACE`: "+anyPlace())
	c.Flags().StringVar(&o.workload, "workload", "", "the workload `FILE` (default: muster.yaml beside FILE)")
	setFlag(c.Flags(), &o.set)
	c.Flags().BoolVar(&o.noTest, "no-test", false, "do not run the test job")
	c.Flags().Var(&o.verify, "verify", "then have its nodes pass these `SUITES` of muster verify, such as basic,network; the test job runs even if nodes have to start for it")
	c.Flags().Lookup("verify").NoOptDefVal = gateSuites
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before what costs, or takes something from a cluster that runs")
	return c
}

// makeOrChange makes the cluster of a file, or changes it to match the file.
func (a *app) makeOrChange(c *cobra.Command, file string, o upOptions) error {
	ctx := c.Context()
	at, err := placeOf(o.place)
	if err != nil {
		return err
	}
	if at == nil { // an empty --on, as of a variable that is not set
		return fault.Usage(fmt.Errorf("--on wants a place: %s", anyPlace()))
	}
	if err := fits(c, at, "this one"); err != nil {
		return err
	}
	variables, err := variables(o.set)
	if err != nil {
		return err
	}
	wanted, err := at.Read(ctx, place.Files{Cluster: file, Workload: o.workload, Variables: variables}, talk{a})
	if err != nil {
		return err
	}
	home, name, told, err := a.nameForUp(file, at)
	if err != nil {
		return err
	}
	a.tell(told)
	if err := a.taken(home, name, at, place.Other{File: file, Chosen: c.Flags().Changed("on")}); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	answer, err := wanted.Up(ctx, place.UpOptions{
		Home: home, Name: name, Version: versionOf(info).Version, NoTest: o.noTest, Verify: o.verify != nil, Yes: o.yes,
	})
	if err != nil && ctx.Err() != nil && begun(answer) {
		fmt.Fprintf(a.err, "\nmuster: `muster up` goes on from here, `muster down --cluster %s` takes away what there is\n", name)
	}
	if err == nil && o.verify != nil {
		var made place.Cluster
		if made, err = at.Open(home, name, talk{a}); err == nil {
			err = a.pass(ctx, made, o.verify, &answer)
		}
	}
	return a.showSteps(answer, err)
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
