package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/fault"
)

// onlyOn is the place where a flag of a command means something, empty where it
// does so everywhere.
func onlyOn(command, flag string) string {
	switch command {
	case "up":
		if flag == "verify" {
			return onAWS
		}
	case "shell", "exec":
		switch flag {
		case "user", "identity", "private", "ssm":
			return onAWS
		}
	}
	return ""
}

// fits refuses flags that mean nothing where the cluster is: who gives one believes
// that it does something.
func (w where) fits(c *cobra.Command) error {
	var wrong []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if place := onlyOn(c.Name(), f.Name); place != "" && w.place != "" && place != w.place {
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
	here := "on this machine"
	if w.place == onAWS {
		here = "on AWS"
	}
	return fault.Usage(fmt.Errorf("%s %s not for clusters %s, as %s is: leave %s out", strings.Join(wrong, ", "), verb, here, w.name, them))
}

// ofNoCluster tells whether a command has nothing to do with a cluster that there is.
func ofNoCluster(c *cobra.Command) bool {
	words := strings.Fields(c.CommandPath())
	if len(words) < 2 {
		return false
	}
	if words[1] == "image" && len(words) > 2 {
		return words[2] == "push" // pack may push to the cluster's registry
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
