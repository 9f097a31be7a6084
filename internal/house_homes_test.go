package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// homes are what one package does for all others, how others would do it, and which of
// them may.
var homes = []struct {
	home, what string
	places     func(s source) []string
	also       []string
}{
	{
		"slurm", "asks and changes Slurm",
		func(s source) []string {
			return s.says("sacct", "sacctmgr", "scancel", "scontrol", "sdiag", "sinfo", "squeue")
		},
		[]string{"batch", "local/doctor"}, // scripts' commands, what Debian's packages have
	},
	{
		"sys/whole", "gives files their names",
		func(s source) []string { return s.calls("os", "Rename") },
		[]string{
			"aws/boot", "container", // directories; a file that is on the disk already
			"controller", "image/layer", "services/supervise", // what is made anew where it is lost
		},
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
				for _, place := range h.places(s) {
					t.Errorf("%s: %s %s for everybody", place, h.home, h.what)
				}
			}
		}
	}
}

// TestTheClusterFileHasOneModel holds that its keys are read in spec, which makes the model of
// them, and by the rules of lint, which speak of the text. A path of keys that there is not
// panics when it is read; a field that there is not does not compile.
func TestTheClusterFileHasOneModel(t *testing.T) {
	readers := []string{inside + "spec", inside + "lint", inside + "job/jobfile"} // which has a file of its own
	for _, p := range load(t).packages {
		if !p.imports(all)[module+inside+"spec"] || slices.Contains(readers, p.path) {
			continue
		}
		for _, s := range p.sources {
			for _, place := range s.reads() {
				t.Errorf("%s: read a field of spec.Cluster, and give it one if it lacks it", place)
			}
		}
	}
}

// reads are the places of a file that read keys of a cluster file: those that name
// spec.View, or look up a key or a path of keys.
func (s source) reads() []string {
	places := s.calls("spec", "View")
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		look, ok := call.Fun.(*ast.SelectorExpr)
		text, literal := call.Args[0].(*ast.BasicLit)
		if ok && literal && text.Kind == token.STRING && (look.Sel.Name == "Key" || look.Sel.Name == "At") {
			places = append(places, s.set.Position(look.Sel.Pos()).String())
		}
		return true
	})
	return places
}

// says are the places of a file that have one of these texts.
func (s source) says(words ...string) []string {
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
