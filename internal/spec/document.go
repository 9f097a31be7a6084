package spec

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// kind is what a node is.
type kind int

const (
	scalar kind = iota
	mapping
	sequence
)

// node is a value of the file with its place. Aliases and merge keys are
// resolved; an anchored value may be below several parents.
type node struct {
	kind kind
	// tag is YAML's type of a scalar: str, int, float, bool, null, timestamp; bad
	// for what could not be read.
	tag, value   string
	line, column int
	entries      []entry
	items        []*node
	// word reports that it is a word such as CHANGE_ME, which is reported already.
	word bool
}

// entry is a key of a mapping with its value.
type entry struct {
	key          string
	line, column int
	value        *node
}

// null reports whether nothing stands where a value should.
func (n *node) null() bool { return n.kind == scalar && n.tag == "null" }

// entry finds a key of a mapping; nil is that it has none.
func (n *node) entry(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// document is a file with its text, so that problems have a place.
type document struct {
	lines
	list *diag.List
	root *node
	// size is the number of nodes in root, anchored ones counted once.
	size int
	// errors and warnings count those that were reported, or dropped.
	errors, warnings int
	// most is how many errors, and how many warnings, are reported.
	most int
	// bad are the paths of errors, and of all that is around them.
	bad map[string]bool
	// aws says that ParallelCluster, too, has to be able to read the file, and
	// partial that only AWS can complete it.
	aws, partial bool
	// original is the file as it is, and places where everything stands in it, for
	// fixes; laid says that they were looked for.
	original []byte
	places   *yamledit.Layout
	laid     bool
	// holes are what makes the file a template, words those of them that are texts.
	holes []hole
	words map[wordPlace]bool
}

// wordPlace is a text with its line.
type wordPlace struct {
	line int
	text string
}

// maxReported is the number of errors, and of warnings, that are shown. For fixes
// more are looked for, so that few rounds make them all.
const (
	maxReported = 200
	maxFixed    = 20_000
)

// errorAt adds an error at a place. Behind the most that are shown they are only counted.
func (d *document) errorAt(at diag.Place, code, path, format string, args ...any) *diag.Diagnostic {
	if d.errors++; d.errors > d.most {
		return &diag.Diagnostic{}
	}
	d.spoil(path)
	return d.list.Errorf(code, path, format, args...).At(at)
}

// awsErrorAt is errorAt for YAML that ParallelCluster cannot read.
func (d *document) awsErrorAt(at diag.Place, code, path, format string, args ...any) *diag.Diagnostic {
	if !d.aws {
		return &diag.Diagnostic{}
	}
	return d.errorAt(at, code, path, format, args...)
}

// warnAt is errorAt for warnings.
func (d *document) warnAt(at diag.Place, code, path, format string, args ...any) *diag.Diagnostic {
	if d.warnings++; d.warnings > d.most {
		return &diag.Diagnostic{}
	}
	return d.list.Warnf(code, path, format, args...).At(at)
}

// spoil notes that there is an error at a path.
func (d *document) spoil(path string) {
	for i := range len(path) {
		if path[i] == '.' || path[i] == '[' {
			d.bad[path[:i]] = true
		}
	}
	d.bad[path] = true
}

// sound reports whether no error was reported at a path or below it.
func (d *document) sound(path string) bool { return !d.bad[path] }

// full reports whether further errors would not be shown.
func (d *document) full() bool { return d.errors > d.most }

// finish proves the fixes, and says that not all problems were shown.
func (d *document) finish() {
	if d.places != nil {
		d.places.Settle()
	}
	d.list.DropFixes(func(f *diag.Fix) bool { return len(f.Edits) > 0 })
	d.list.Rehint(d.unfilled)
	if d.full() || d.warnings > d.most {
		d.list.Infof("file/more", "", "further problems are not shown").At(diag.Place{File: d.name}).
			WithHint("mend the first ones and check again")
	}
}

// parse reads the one YAML document of a text. It gives nil after a problem
// that leaves nothing to check.
func parse(name string, data []byte, o Options, list *diag.List) *document {
	text, ok := checkText(name, data, list)
	if !ok {
		return nil
	}
	d := &document{lines: lines{name: name, data: text}, list: list, original: data, aws: o.AWS, most: maxReported, bad: map[string]bool{}}
	if o.Fixes {
		d.most = maxFixed
	}
	d.findHoles()
	tree, ok := d.load()
	if !ok {
		return nil
	}
	c := converter{document: d, done: map[*yaml.Node]*node{}, open: map[*yaml.Node]bool{}, anchors: map[string]*yaml.Node{}}
	d.root = c.convert(tree.Content[0], "", 0)
	d.checkTabs(tree)
	d.size = c.size
	if d.root == nil {
		return nil
	}
	list.Locate = d.locate
	return d
}

// load runs the YAML parser.
func (d *document) load() (*yaml.Node, bool) {
	loader, err := yaml.NewLoader(bytes.NewReader(oldVersion(masked(d.data, d.holes))))
	if err != nil {
		d.syntax(err)
		return nil, false
	}
	var tree, more yaml.Node
	switch err := loader.Load(&tree); {
	case errors.Is(err, io.EOF), err == nil && len(tree.Content) == 0:
		d.empty()
		return nil, false
	case err != nil:
		d.syntax(err)
		return nil, false
	}
	switch err := loader.Load(&more); {
	case err == nil:
		d.errorAt(d.at(more.Line, more.Column), "yaml/documents", "", "a second YAML document begins here").
			WithHint("keep one document; remove this line or put the rest into a file of its own")
		return nil, false
	case !errors.Is(err, io.EOF):
		d.syntax(err)
		return nil, false
	}
	if top := tree.Content[0]; top.Kind == yaml.ScalarNode && scalarTag(top) == "null" {
		d.empty()
		return nil, false
	}
	return &tree, true
}

// empty reports that the file has no values. What has nothing has it in its first line.
func (d *document) empty() {
	at := diag.Place{File: d.name, Line: 1, Column: 1}
	if bytes.ContainsRune(d.original, '#') {
		d.errorAt(at, "file/empty", "", "the file has nothing but comments")
		return
	}
	d.errorAt(at, "file/empty", "", "the file is empty")
}

// findHoles reports a template, as one error. What follows from its holes is not reported.
func (d *document) findHoles() {
	if !d.aws {
		return
	}
	if d.holes = unfilledHoles(d.data, true); len(d.holes) > 0 {
		d.errors++
		d.words = map[wordPlace]bool{}
		for _, h := range d.holes {
			if h.word {
				d.words[wordPlace{h.line, h.text}] = true
			}
		}
		reportTemplate(d.list, &d.lines, d.holes, true)
	}
}

// syntax reports what the YAML parser did not understand. In a template that may be a hole.
func (d *document) syntax(err error) {
	if len(d.holes) > 0 {
		return
	}
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		d.errorAt(diag.Place{File: d.name}, "yaml/syntax", "", "this is not YAML: %v", err)
		return
	}
	mark := e.Mark
	if unclosed(e) {
		mark = e.ContextMark
	}
	at := d.at(mark.Line, mark.Column)
	if mark.Line == 0 {
		at = diag.Place{File: d.name}
	}
	if i := tabIndent(d.source(mark.Line, 1)); i >= 0 {
		d.errorAt(d.at(mark.Line, i+1), "yaml/tab", "", "a tab cannot indent YAML").WithHint("use spaces")
		return
	}
	if strings.Contains(e.Message, "max depth") {
		d.errorAt(at, "yaml/depth", "", "the values are nested too deeply").
			WithHint("a cluster file needs no more than a dozen levels")
		return
	}
	if strings.Contains(e.Message, "mapping values are not allowed") && !d.second(mark.Line, mark.Column) {
		d.errorAt(at, "yaml/syntax", "", "a key is not allowed here, in the middle of the text that began above").
			WithHint("end the line above with ':', or check the indentation")
		return
	}
	if strings.HasPrefix(strings.TrimSpace(d.source(mark.Line, 1)), "{%") {
		d.errorAt(at, "yaml/syntax", "", "this is a template, and no YAML yet").WithHint("%s", fillIn)
		return
	}
	if i, text := braced(d.source(e.Mark.Line, 1)); text != "" && strings.Contains(e.ContextMsg, "flow") {
		d.errorAt(d.at(e.Mark.Line, i), "yaml/syntax", "", "a text with { or } stands in quotes within brackets").WithHint("write \"%s\"", text)
		return
	}
	message, hint := explain(e)
	d.errorAt(at, "yaml/syntax", "", "%s", message).WithHint("%s", hint)
}

var bracedText = pattern.New(`[\[,]\s*([^\s"'\[\]{},#]+\{[^\s{}\[\]"']*\}[^\s"'\[\],{}]*)`)

// braced is the first text of a list in brackets that has { and } and no quotes, and its column.
func braced(line string) (column int, text string) {
	at := bracedText().FindStringSubmatchIndex(line)
	if at == nil {
		return 0, ""
	}
	return utf8.RuneCountInString(line[:at[2]]) + 1, line[at[2]:at[3]]
}

// fillIn is what to do about templates: "{{ x }}" is YAML, for a map in a map.
const fillIn = "fill the template in, and check what comes out"

// unclosed reports whether the error is that something was opened and not
// closed; the place to look at is then where it was opened.
func unclosed(e *yaml.LoadError) bool {
	return e.ContextMark.Line != 0 && (strings.Contains(e.ContextMsg, "flow") && strings.Contains(e.Message, "did not find expected ','") ||
		strings.Contains(e.ContextMsg, "quoted scalar") && strings.Contains(e.Message, "end of stream"))
}

// second reports whether the ':' at a place is not its line's first one.
func (d *document) second(line, column int) bool {
	i := strings.Index(d.source(line, 1), ":")
	return i >= 0 && i < column-1
}

// tabIndent finds a tab among a line's leading blanks; -1 is none.
func tabIndent(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
		case '\t':
			return i
		default:
			return -1
		}
	}
	return -1
}

// explain is the parser's message in the user's words, and what to do.
func explain(e *yaml.LoadError) (message, hint string) {
	switch m := e.Message; {
	case unclosed(e) && strings.Contains(e.ContextMsg, "quoted"):
		return "this quote is not closed", "add the closing quote"
	case unclosed(e):
		return "this bracket is not closed", "add the closing bracket, or a comma between the values"
	case strings.Contains(m, "mapping values are not allowed"):
		return "a second ':' on one line is not allowed here", "put the value in quotes, or check the indentation"
	case strings.Contains(m, "expected key"), strings.Contains(m, "'-' indicator"):
		return "this line does not fit the lines above", "check its indentation"
	case strings.Contains(m, "could not find expected ':'"):
		return "a ':' is missing after this key", "write \"Key: value\""
	case strings.Contains(m, "unknown anchor"):
		return m, "an alias such as *name needs a value that is marked &name before it"
	default:
		if e.ContextMsg != "" {
			m += " (" + e.ContextMsg + ")"
		}
		return "this is not YAML: " + m, "check quotes, brackets and indentation around here"
	}
}
