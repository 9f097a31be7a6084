package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/diag"
)

// shortestFlag is as short as a flag may be that is taken for another one misspelt.
const shortestFlag = 4

// flagNear is the flag of a command that an unknown one probably stands for, empty if there is none.
func flagNear(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < shortestFlag {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return diag.Nearest(unknown.GetSpecifiedName(), names)
}
