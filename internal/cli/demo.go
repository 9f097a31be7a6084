//go:build linux

package cli

import (
	"fmt"

	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local/demo"
	"github.com/muster-hpc/muster/internal/local/doctor"
	"github.com/muster-hpc/muster/internal/say/page"
)

func (a *app) demo() *cobra.Command {
	var keep, yes bool
	c := &cobra.Command{
		Use:   "demo",
		Short: demoShort,
		Long: `Demo brings up an 80-node cluster of the shipped cluster file on this machine, on
real Slurm; makes a container image of Debian's packages and imports it; trains a
small language model in it on two nodes with PyTorch; pulls the plug of one of them;
shows that the job goes on from its last checkpoint and ends with the same bits as
an undisturbed run; reads the results back from S3; and takes everything down again.
It takes about four minutes, 2 GB of memory and 5 GB of disk. Nothing of it is left,
unless --keep is given.`,
		Example: "  muster demo\n  muster demo --keep && muster shell",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			result, err := demo.Run(c.Context(), demo.Options{
				Home: home, Dir: filepath.Join(home, demo.Name+"-files"), Keep: keep, Report: a.reporter(), Out: a.err,
				Doctor: doctor.Options{
					Groups: []string{doctor.Local, doctor.Demo}, StateDir: home, Install: yes || a.canAsk(), Yes: yes,
					Confirm: a.confirm, Self: mendWith(doctorOptions{demo: true}), Now: time.Now(), Out: a.err,
				},
			})
			if showErr := a.showDemo(result); err == nil {
				err = showErr
			}
			return err
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "leave the cluster up, for muster shell")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "install what is missing without asking")
	return c
}

// showDemo closes the story: each step, its time, what was proved.
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
	if r.Kept {
		fmt.Fprintf(a.out, "\nThe cluster is still up: `muster shell`, `muster status`; `muster down --delete-data` ends it.\n")
	}
	return nil
}
