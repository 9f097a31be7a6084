package spec

import (
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

var variablePattern = pattern.New(`^["']?\$[A-Za-z_]\w*["']?(\s|$)`)

// unfilled is the hint for an error at a value that is a shell's variable without
// braces, which envsubst fills and muster does not.
func (d *document) unfilled(p diag.Diagnostic) string {
	line := []rune(d.source(p.Line, p.Column))
	if p.Severity != diag.Error || p.Code == "file/template" || p.File != d.name || p.Column < 1 || p.Column > len(line) || line[p.Column-1] != '$' && line[p.Column-1] != '"' && line[p.Column-1] != '\'' {
		return ""
	}
	if !variablePattern().MatchString(string(line[p.Column-1:])) {
		return ""
	}
	return "only variables in braces are filled, such as ${NAME}: add the braces, or envsubst < FILE | muster check -"
}
