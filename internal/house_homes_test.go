package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// homes are what one package does for all others, and who else may name it.
var homes = []struct {
	what  string
	words []string // texts that nobody but the home runs
	home  string
	also  []string
}{
	{
		"asks and changes Slurm", []string{"sacct", "sacctmgr", "scancel", "scontrol", "sdiag", "sinfo", "squeue"}, "slurm",
		[]string{"batch", "local/doctor", "aws/agent"}, // scripts' commands, what Debian's packages have
	},
}

func TestOneHome(t *testing.T) {
	for _, p := range load(t).packages {
		name, ok := strings.CutPrefix(p.path, inside)
		for _, h := range homes {
			if !ok || name == h.home || slices.Contains(h.also, name) {
				continue
			}
			for _, s := range p.pick(productive) {
				for _, place := range s.says(h.words) {
					t.Errorf("%s: %s %s for everybody", place, h.home, h.what)
				}
			}
		}
	}
}

// says are the places of a file that have one of these texts.
func (s source) says(words []string) []string {
	var places []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(words, text) {
				places = append(places, s.set.Position(lit.Pos()).String())
			}
		}
		return true
	})
	return places
}
