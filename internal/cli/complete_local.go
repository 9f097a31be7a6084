//go:build linux

package cli

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

func (a *app) completeNode(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	ref, err := a.ref()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	known, _ := ref.Layout().Addresses()
	maps.DeleteFunc(known, func(_ string, at netip.Addr) bool { return at == nodes.HeadAddress })
	return slices.Sorted(maps.Keys(known)), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeRunningNode(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	_, _, anchor, err := a.running()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	running, _ := nodes.Running(anchor)
	for _, r := range running {
		names = append(names, r.Node)
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
