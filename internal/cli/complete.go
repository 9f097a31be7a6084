package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/spec"
)

// complete teaches the shell the names that commands take: those of clusters,
// nodes and files. It never fails: a shell has no use for our errors.
func (a *app) complete(root *cobra.Command) {
	flags := map[string]cobra.CompletionFunc{
		"cluster": a.completeCluster,
		"node":    a.completeNode,
		"output":  completeFormat,
		"schema":  completeLevel,
		"on":      cobra.FixedCompletions(placeNames(), cobra.ShellCompDirectiveNoFileComp),
	}
	walk(root, func(c *cobra.Command) {
		for name, complete := range flags {
			if c.LocalFlags().Lookup(name) == nil || c != root && c.InheritedFlags().Lookup(name) != nil {
				continue
			}
			// It fails only for a flag that is not there or has one already.
			_ = c.RegisterFlagCompletionFunc(name, complete)
		}
		if c.ValidArgsFunction == nil {
			c.ValidArgsFunction = a.completeArgs(c)
		}
	})
}

// unquoteFlags takes the back quotes from the words on flags, which cobra would
// hand to the shell: they are for our help alone.
func unquoteFlags(root *cobra.Command) {
	walk(root, func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
	})
}

// completeArgs completes the arguments of a command that does not do it itself.
func (a *app) completeArgs(c *cobra.Command) cobra.CompletionFunc {
	switch c.CommandPath() {
	case "muster up":
		return cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	case "muster node kill":
		return a.completeRunningNode
	}
	if takesName(c) {
		return a.completeName
	}
	return nil
}

func (a *app) completeCluster(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	home, err := homeDir()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := knownNames(home, nil)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeName completes the name of a cluster that is a command's only argument.
func (a *app) completeName(c *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeCluster(c, args, part)
}

// walk calls f for a command and all below it.
func walk(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		walk(sub, f)
	}
}

func completeFormat(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return formats(c), cobra.ShellCompDirectiveNoFileComp
}

func completeLevel(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, l := range spec.Levels() {
		names = append(names, l.String())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
