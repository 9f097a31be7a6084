package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/page"
)

// takesName are the commands that take the cluster's name as their argument, too.
func takesName(c *cobra.Command) bool {
	switch c.CommandPath() {
	case "muster down", "muster status", "muster nodes", "muster events", "muster shell":
		return true
	}
	return false
}

// clusterName reads the argument of commands that are about a cluster and nothing
// else: it means the same as --cluster.
func (a *app) clusterName(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return fmt.Errorf("it is used as `%s`", useLine(c))
	case a.cluster != "" && a.cluster != args[0]:
		return fmt.Errorf("--cluster says %s, the argument %s: leave one of them out", a.cluster, args[0])
	}
	if name := a.madeOfFile(args[0]); name != "" {
		return fmt.Errorf("%s is the file of cluster %s: `%s %s`", page.Printable(args[0]), name, c.CommandPath(), name)
	}
	a.cluster = args[0]
	return nil
}

// madeOfFile is the cluster that was made of a file, if the argument is the path of one.
func (a *app) madeOfFile(arg string) string {
	if ext := filepath.Ext(arg); ext != ".yaml" && ext != ".yml" {
		return ""
	}
	path, err := filepath.Abs(arg)
	if err != nil {
		return ""
	}
	home, err := homeDir()
	if err != nil {
		return ""
	}
	all, _ := known(home, nil)
	for _, k := range all {
		if k.file == path {
			return k.name
		}
	}
	return ""
}

// nameHint says how a cluster is named where it stands among the arguments of a
// command that takes other ones.
func nameHint(c *cobra.Command, args []string, err error) error {
	if takesName(c) || ofNoCluster(c) || c.Name() == "up" {
		return err
	}
	home, homeErr := homeDir()
	if homeErr != nil {
		return err
	}
	names, _ := knownNames(home, nil)
	for _, arg := range args {
		if slices.Contains(names, arg) {
			return fmt.Errorf("%w; cluster %s is named with --cluster %s", err, arg, arg)
		}
	}
	return err
}

// nameBySSH refuses a cluster's name as the argument of `muster ssh`, which would be a
// command on the head node of another one.
func nameBySSH(c *cobra.Command, args []string) error {
	if c.ArgsLenAtDash() >= 0 || len(args) == 0 {
		return nil
	}
	err := errors.New("arguments for SSH stand behind --")
	if nameHint(c, args, err) == err { // what refuses arguments adds the hint
		return nil
	}
	return err
}
