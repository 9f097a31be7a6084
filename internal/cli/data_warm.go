package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/lustre"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) dataWarm() *cobra.Command {
	nodes := 0
	c := &cobra.Command{
		Use:   "warm PATH...",
		Short: "Bring a dataset from its bucket into Lustre before a job reads it",
		Long: `Warm brings the data of the files at PATH... from the bucket that FSx for Lustre is
linked with, where only the bucket has them, and waits until they are there: the
first epoch is then as fast as the others. What is there already costs one look.
Links are not followed.

It may be stopped and run again: what was asked for comes all the same, and is not
asked for twice. Where PATH is on no Lustre, as on a cluster on this machine, there
is nothing to do, and it says so. It runs on the head node of the cluster.`,
		Example: "  muster data warm /fsx/datasets/imagenet\n  muster data warm --nodes 4 /fsx/datasets",
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if nodes < 0 {
				return fault.Usage(fmt.Errorf("--nodes %d: say how many nodes are to ask", nodes))
			}
			for _, p := range args {
				if !filepath.IsAbs(p) && !inside() {
					return fault.Usage(fmt.Errorf("%q is not absolute: PATH is one of the cluster's machines", p))
				}
			}
			return nil
		},
		RunE: a.onHead(func(c *cobra.Command, args []string, _ slurm.Client) error {
			return a.warm(c.Context(), args, nodes)
		}),
	}
	c.Flags().IntVar(&nodes, "nodes", 0, "let `N` nodes ask for the files, as a job of Slurm's; without it the head node asks")
	return c
}

// warmAnswer is what `muster data warm -o json` prints.
type warmAnswer struct {
	lustre.Warmed
	// Elsewhere are the paths that are on no Lustre, where there is nothing to do.
	Elsewhere []string `json:"elsewhere"`
	Seconds   float64  `json:"seconds"`
}

func (a *app) warm(ctx context.Context, args []string, nodes int) error {
	began := time.Now()
	answer := warmAnswer{Elsewhere: []string{}}
	answer.Problems = []data.Problem{}
	paths, err := answer.sort(args)
	if err != nil {
		return err
	}
	if len(paths) > 0 {
		if nodes > 0 {
			if err := askOnNodes(ctx, paths, nodes); err != nil {
				return err
			}
		}
		progress := &data.Progress{}
		w := &lustre.Warm{Client: lustre.Client{Run: lustre.Lfs}, Progress: progress}
		stop := a.watchData(progress)
		err := w.Run(ctx, paths)
		stop()
		if err != nil {
			if ctx.Err() != nil {
				a.note("%s there; what was asked for comes all the same", count.Are(int(w.Result.Fetched), "file"))
			}
			return err
		}
		answer.Warmed = w.Result
	}
	answer.Seconds = time.Since(began).Seconds()
	return a.showWarmed(answer)
}

// sort keeps the paths that are on Lustre, as absolute ones.
func (w *warmAnswer) sort(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		p, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		is, err := onLustre(p)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", p, err)
		}
		if is {
			paths = append(paths, p)
		} else {
			w.Elsewhere = append(w.Elsewhere, p)
		}
	}
	return paths, nil
}

// askOnNodes has as many nodes ask for the files, each for its share, and returns when they have.
func askOnNodes(ctx context.Context, paths []string, nodes int) error {
	n := strconv.Itoa(nodes)
	args := append([]string{
		"--nodes=" + n, "--ntasks=" + n, "--ntasks-per-node=1", "--job-name=muster-warm", "--input=none", "--quiet", services.Muster, "agent", "warm", "--",
	}, paths...)
	_, err := slurm.Exec{}.Run(ctx, "srun", args...)
	return err
}

func (a *app) showWarmed(answer warmAnswer) error {
	for _, p := range answer.Elsewhere {
		a.note("%s is on no Lustre: there is nothing to do", p)
	}
	return a.answerFiles(answer, answer.Problems, answer.Failed)
}

func (w warmAnswer) text() string {
	if w.Files == 0 && w.Failed == 0 {
		return "nothing to bring"
	}
	text := fmt.Sprintf("%s brought, %s; %d there before", count.Of(int(w.Fetched), "file"), count.Bytes(w.FetchedSize), w.Here)
	if w.Failed > 0 {
		text += fmt.Sprintf("; %d failed", w.Failed)
	}
	return text
}
