package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

// chapters are the commands as `muster help` groups them. Commands that are in
// none come last.
var chapters = []struct{ title, names string }{
	{"Begin", "demo doctor check plan catalog"},
	{"Clusters", "up down status nodes node fleet events shell exec ssh import"},
	{"Jobs and data", "run job image container data verify top dashboard"},
}

// groups makes a wrong verb of a command that only has others below it an error:
// `muster node kil`. Without a verb, such a command shows its help.
func groups(root *cobra.Command) {
	walk(root, func(c *cobra.Command) {
		if !c.HasSubCommands() || c.Runnable() {
			return
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if format := c.Flag("output").Value.String(); len(args) == 0 && format != "text" {
				return fault.Usage(fmt.Errorf("`%s` has no answer of its own: alone it shows its help; leave -o %s out", c.CommandPath(), format))
			}
			if len(args) == 0 {
				return c.Help()
			}
			return unknown(c, args[0])
		}
	})
}

func unknown(c *cobra.Command, verb string) error {
	if ours := ofOthers(c.CommandPath(), verb); ours != "" {
		return fault.Usage(fmt.Errorf("%s has no `%s`: %s", c.CommandPath(), verb, ours))
	}
	message := fmt.Sprintf("%q is no command of %s", verb, c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(verb); len(near) > 0 {
		return fault.Usage(fmt.Errorf("%s; did you mean %s?", message, strings.Join(near, " or ")))
	}
	return fault.Usage(fmt.Errorf("%s; see `%s --help`", message, c.CommandPath()))
}

// help replaces cobra's command of that name, which is content with anything.
func (a *app) help() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Say what a command does",
		Example: "  muster help up\n  muster help node kill",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return fault.Usage(errors.New("no such command: " + fmt.Sprintf("%q", strings.Join(args, " "))))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// showUsage writes how a command is used. Cobra's own is a template, and those
// make every program bigger.
func showUsage(c *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", useLine(c))
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	for _, ch := range chaptersOf(c) {
		fmt.Fprintf(&b, "\n%s:\n", ch.title)
		for _, sub := range ch.commands {
			fmt.Fprintf(&b, "  %-11s %s\n", sub.Name(), sub.Short)
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(page.Columns(c.OutOrStdout())))
	}
	if !c.HasParent() {
		fmt.Fprint(&b, "\nA command is about the cluster that --cluster names, or else MUSTER_CLUSTER, or else the\none whose file is in this directory or nearest above it, or else the only one.\n\nExit codes: 0 done, 1 a problem, 2 wrong command line, 3 something to look at, 130 stopped.\n\"muster help COMMAND\" says what a command does.\n")
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nFlags of all commands:\n%s", c.InheritedFlags().FlagUsagesWrapped(page.Columns(c.OutOrStdout())))
	}
	_, err := fmt.Fprint(c.OutOrStdout(), b.String())
	return err
}

func useLine(c *cobra.Command) string {
	itself := strings.TrimSuffix(c.UseLine(), " [flags]")
	switch below := c.CommandPath() + " COMMAND"; {
	case !c.HasAvailableSubCommands():
		return itself
	case c.Runnable() && strings.Contains(c.Use, " "):
		return itself + "\n  " + below
	default:
		return below
	}
}

// argumentError says how a command is used where cobra only counts arguments.
func argumentError(c *cobra.Command, err error) error {
	text := err.Error()
	if strings.HasPrefix(text, "accepts ") || strings.HasPrefix(text, "requires ") || strings.HasPrefix(text, "unknown command ") {
		return fmt.Errorf("it is used as `%s`", useLine(c))
	}
	return err
}

// chapter is some of a command's subcommands.
type chapter struct {
	title    string
	commands []*cobra.Command
}

func chaptersOf(c *cobra.Command) []chapter {
	left := map[string]*cobra.Command{}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			left[sub.Name()] = sub
		}
	}
	var all []chapter
	add := func(title string, names []string) {
		ch := chapter{title: title}
		for _, n := range names {
			if sub := left[n]; sub != nil {
				ch.commands = append(ch.commands, sub)
				delete(left, n)
			}
		}
		if len(ch.commands) > 0 {
			all = append(all, ch)
		}
	}
	rest := "Commands"
	if !c.HasParent() {
		for _, ch := range chapters {
			add(ch.title, strings.Fields(ch.names))
		}
		rest = "Further"
	}
	add(rest, sortedKeys(left))
	return all
}
