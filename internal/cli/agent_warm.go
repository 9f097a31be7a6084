//go:build linux

package cli

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/data/lustre"
)

// lustreMagic is what statfs(2) says of Lustre: LL_SUPER_MAGIC.
const lustreMagic = 0x0BD00BD0

// onLustre tells whether a path is on Lustre.
func onLustre(path string) (bool, error) {
	var fs unix.Statfs_t
	err := unix.Statfs(path, &fs)
	return int64(fs.Type) == lustreMagic, err
}

// agentWarm asks for one task's share of the files that `muster data warm` brings.
func (a *app) agentWarm() *cobra.Command {
	return &cobra.Command{
		Use:   "warm PATH...",
		Short: "Asks Lustre for a share of files, as a task of a job",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			share, err := shareOfTask()
			if err != nil {
				return err
			}
			w := &lustre.Warm{Client: lustre.Client{Run: lustre.Lfs}, Share: share, AskOnly: true}
			return w.Run(c.Context(), args) // who began it looks at all files, and says what is wrong with them
		},
	}
}

// shareOfTask is the share of this task of a job.
func shareOfTask() (lustre.Share, error) {
	var numbers [2]int
	for i, name := range []string{"SLURM_PROCID", "SLURM_NTASKS"} {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			return lustre.Share{}, fmt.Errorf("read %s: this is no task of a job: %w", name, err)
		}
		numbers[i] = n
	}
	return lustre.Share{This: numbers[0], Of: numbers[1]}, nil
}
