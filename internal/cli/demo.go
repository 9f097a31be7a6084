//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local/demo"
	"github.com/muster-hpc/muster/internal/local/doctor"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

type demoOptions struct{ whole, keep, yes bool }

func (a *app) demo() *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use:   "demo",
		Short: demoShort,
		Long: `Demo brings up the 80-node cluster of a shipped cluster file on this machine, on
real Slurm; runs a job on all 80 nodes; trains a small language model on all of
them; pulls the plug of a node; shows that the job goes on from its last
checkpoint and ends with the same bits as an undisturbed run; reads the results
back from S3; and takes everything down again. It takes about a minute, 2 GB of
memory and 1 GB of disk.

With --whole it also makes a container image of Debian's packages, beside the
first steps, and trains in it with PyTorch on two nodes, with the same loss of a
node and the same proof; and it waits until idle nodes are gone. That takes about
four minutes, 5 GB of disk, and Debian's mirror.

What "muster doctor" finds missing is installed first. Nothing of the cluster is
left, unless --keep is given.`,
		Example: "  muster demo\n  muster demo --whole\n  muster demo --keep && muster shell",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runDemo(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.whole, "whole", false, "also train with PyTorch in a container, and let idle nodes go")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the cluster up, for muster shell")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "install what is missing without asking")
	return c
}

func (a *app) runDemo(ctx context.Context, o demoOptions) error {
	home, err := homeDir()
	if err != nil {
		return err
	}
	groups := []string{doctor.Local}
	if o.whole {
		groups = append(groups, doctor.Demo)
	}
	dir := filepath.Join(home, demo.Name+"-files")
	ctx, end := a.stopAtBrokenPipe(ctx)
	defer end()
	result, err := demo.Run(ctx, demo.Options{
		Home: home, Dir: dir, Whole: o.whole, Keep: o.keep, Report: a.reporter(), Out: a.err,
		Doctor: doctor.Options{
			Groups: groups, StateDir: home, Install: o.yes || a.canAsk(), Yes: o.yes,
			Confirm: a.confirm, Self: mendWith(doctorOptions{demo: o.whole}), Now: time.Now(), Out: a.err,
		},
	})
	showErr := a.showDemo(result)
	if err == nil && showErr == nil && a.output == "text" {
		showErr = showNext(a.out, o, programName(os.Args[0]), dir)
	}
	return errors.Join(err, showErr)
}

// showDemo closes the demo: each step, its time, what was proved.
func (a *app) showDemo(r demo.Result) error {
	if a.output == "json" {
		return a.writeJSON(r)
	}
	if len(r.Steps) == 0 {
		return nil
	}
	fmt.Fprintf(a.out, "\n%d steps in %.0f s:\n", len(r.Steps), r.Seconds)
	for _, s := range r.Steps {
		fmt.Fprintf(a.out, "%7.1f s  %-38s %s\n", s.Seconds, s.Name, page.Printable(s.Detail))
	}
	return nil
}

// programName is what to type for this program, which was started as typed: "muster" if PATH
// has it under that name.
func programName(typed string) string {
	self, err := os.Executable()
	found, missing := exec.LookPath("muster")
	if err == nil && missing == nil && sameProgram(self, found) {
		return "muster"
	}
	return typed
}

func sameProgram(a, b string) bool {
	first, err := os.Stat(a)
	second, missing := os.Stat(b)
	return err == nil && missing == nil && os.SameFile(first, second)
}

// nextCommand is a command, and what it does.
type nextCommand struct{ line, does string }

// showNext says what to type after the demo.
func showNext(w io.Writer, o demoOptions, program, dir string) error {
	inDir := program
	if strings.Contains(program, "/") {
		if path, err := filepath.Abs(program); err == nil {
			inDir = path
		}
	}
	program, inDir, dir = shell.Line([]string{program}), shell.Line([]string{inDir}), shell.Line([]string{dir})
	next := []nextCommand{
		{program + " demo --keep", "the same, and leaves the cluster up to look around"},
		{program + " demo --whole", "also PyTorch in a container, and the end of idle nodes; about four minutes"},
		{program + " check FILE", "your own cluster file; then " + program + " plan FILE and " + program + " up FILE"},
	}
	if o.whole {
		next = slices.Delete(next, 1, 2)
	}
	if o.keep {
		next = []nextCommand{
			{program + " status", "services, nodes, jobs, storage, exports"},
			{program + " top", "all of it live; q ends it"},
			{program + " shell", "a shell on the head node, for sinfo, squeue, srun"},
			{"cd " + dir + " && MODEL=again " + inDir + " run bytelm.sbatch", "train again; in another window: " + program + " nodes, " + program + " node kill NAME"},
			{program + " down --delete-data && rm -r " + dir, "take the cluster down, and remove its files"},
		}
	}
	const column = 26
	fmt.Fprintln(w, "\nNext:")
	var err error
	for _, n := range next {
		if len(n.line) >= column {
			n.line += "\n" + strings.Repeat(" ", 4+column)
		}
		_, err = fmt.Fprintf(w, "    %-*s%s\n", column, n.line, n.does)
	}
	return err
}
