//go:build linux

package cli

import "github.com/spf13/cobra"

func (a *app) container() *cobra.Command {
	c := &cobra.Command{
		Use:   "container",
		Short: containerShort,
		Long: `Containers are made of squashfs images, which are mounted and never unpacked, and
run without rights: their commands are the user's own processes with another root.
What they write goes to memory and away with them, unless they have a name.`,
	}
	c.AddCommand(a.containerRun(), a.containerList(), a.containerRemove(), a.containerHold(), a.containerSweep())
	return c
}
