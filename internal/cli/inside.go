//go:build linux

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/head"
	"github.com/muster-hpc/muster/internal/provider/local"
	"github.com/muster-hpc/muster/internal/slurm"
)

// enteredBy is set for a muster that another one started on the head node.
const enteredBy = "MUSTER_ENTERED"

// inside tells whether this muster runs on a machine of a cluster.
func inside() bool {
	_, err := os.Stat(head.Muster)
	return err == nil || guest()
}

// onHead makes a command one that runs on the head node, where Slurm's programs
// are and lead to the right cluster. From elsewhere, the same command line is
// run again there.
func (a *app) onHead(run func(c *cobra.Command, args []string, s slurm.Client) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if !inside() {
			w, err := a.find("")
			if err != nil {
				return err
			}
			if w.place == onAWS {
				return a.forward(c.Context(), w, os.Args[1:])
			}
			// nsenter waits for the one on the head node, which hears the same Ctrl-C
			// and has the last word.
			signal.Ignore(os.Interrupt)
			return a.enterLocal(append([]string{head.Muster}, os.Args[1:]...))
		}
		if os.Getenv(enteredBy) != "" {
			// The one who started us may be ended without our hearing of it.
			if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
				return fmt.Errorf("tie to the caller: %w", err)
			}
		}
		return run(c, args, slurm.Client{Runner: slurm.Exec{}})
	}
}

// visibleDir is the directory to work in on the cluster: the caller's, which is
// shown there first if it is not yet.
func (a *app) visibleDir(l *local.Layout, r local.Record) string {
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	if r.Visible(dir) {
		return dir
	}
	if err := share(l, dir); err != nil {
		fmt.Fprintf(a.err, "muster: working in / because %v\n", err)
		return "/"
	}
	return dir
}

// shareFolder shows a file's folder on the cluster. Of a file that is not there,
// the head node will tell.
func (a *app) shareFolder(file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	l, r, _, err := a.running()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if r.Visible(dir) || !local.Shareable(dir) {
		return nil
	}
	return share(l, dir)
}

func share(l *local.Layout, dir string) error {
	if !local.Shareable(dir) {
		return fmt.Errorf("%s is the system's own and is not shared with the cluster", dir)
	}
	return cluster.Share(l, dir)
}
