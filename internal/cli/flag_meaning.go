package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// fits refuses flags that have no effect at the cluster's place, instead of ignoring
// them.
func fits(c *cobra.Command, at place.Place, name string) error {
	var wrong []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if at.Lacks(c.Name(), f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	if len(wrong) == 0 {
		return nil
	}
	verb, them := "is", "it"
	if len(wrong) > 1 {
		verb, them = "are", "them"
	}
	return fault.Usage(fmt.Errorf("%s %s not for clusters %s, as %s is: leave %s out", strings.Join(wrong, ", "), verb, at.On(), name, them))
}

// ofNoCluster reports whether a command is not about an existing cluster.
func ofNoCluster(c *cobra.Command) bool {
	words := strings.Fields(c.CommandPath())
	if len(words) < 2 {
		return false
	}
	if words[1] == "image" && len(words) > 2 {
		return words[2] == "push" // pack may push to the cluster's registry
	}
	if words[1] == "job" && len(words) > 2 {
		return words[2] == "init"
	}
	if words[1] == "verify" && len(words) > 2 {
		return words[2] != "proof" // what there is of a report; proof takes a cluster's key
	}
	return slices.Contains([]string{"version", "doctor", "demo", "import", "container", "plan", "catalog"}, words[1])
}

// checkCluster refuses --cluster where it means nothing.
func checkCluster(c *cobra.Command) error {
	if f := c.Flags().Lookup("cluster"); f == nil || !f.Changed || !ofNoCluster(c) {
		return nil
	}
	return fault.Usage(fmt.Errorf("`%s` is about no cluster that there is: leave --cluster out", c.CommandPath()))
}
