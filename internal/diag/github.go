package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes problems as commands that GitHub Actions shows beside the
// lines of a change, in the order of All:
//
//	::error file=cluster.yaml,line=7,col=3,title=schema/unknown::"Instancetype" is not a key of HeadNode
//
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
func WriteGitHub(w io.Writer, l *List) error {
	out := bufio.NewWriter(w)
	for _, d := range l.All() {
		command := map[Severity]string{Error: "error", Warning: "warning"}[d.Severity]
		if command == "" {
			command = "notice"
		}
		fmt.Fprintf(out, "::%s %s::%s\n", command, strings.Join(d.properties(), ","), gitHubData(d))
	}
	return out.Flush()
}

// properties are the place and the code, those that are known.
func (d Diagnostic) properties() []string {
	var out []string
	add := func(name, value string) {
		escaped := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(value)
		out = append(out, name+"="+escaped)
	}
	if d.File != "" {
		add("file", plain(d.File))
	}
	if d.Line > 0 {
		add("line", fmt.Sprint(d.Line))
	}
	if d.Line > 0 && d.Column > 0 {
		add("col", fmt.Sprint(d.Column))
	}
	add("title", d.Code)
	return out
}

// gitHubData is the message, with the hint on a line of its own.
func gitHubData(d Diagnostic) string {
	text := plain(d.Message)
	if d.Hint != "" {
		text += "\nhint: " + plain(d.Hint)
	}
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}
