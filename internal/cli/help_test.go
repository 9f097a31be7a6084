package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsExplainThemselves holds what every command owes its user.
func TestCommandsExplainThemselves(t *testing.T) {
	walk((&app{}).root(), func(c *cobra.Command) {
		if c.Hidden || c.HasParent() && c.Parent().Hidden || strings.HasPrefix(c.CommandPath(), "muster completion") {
			return
		}
		switch {
		case c.Short == "" || strings.HasSuffix(c.Short, "."):
			t.Errorf("%s: Short is %q: it should be a line without a full stop", c.CommandPath(), c.Short)
		case c.HasSubCommands():
		case !c.HasExample():
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  ") || !strings.Contains(line, "muster ") {
				t.Errorf("%s: the example %q is not an indented command line", c.CommandPath(), line)
			}
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimRight(line, "\n")) > 84 {
				t.Errorf("%s: the line %q is longer than a terminal is wide", c.CommandPath(), line)
			}
		}
	})
}

func TestCommandsOfTheRootAreInAChapter(t *testing.T) {
	for _, ch := range chaptersOf((&app{}).root()) {
		if ch.title != "Further" {
			continue
		}
		for _, c := range ch.commands {
			if c.Name() != "completion" && c.Name() != "version" {
				t.Errorf("%s is in no chapter of help.go", c.Name())
			}
		}
	}
}
