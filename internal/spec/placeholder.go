package spec

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// hole is a part of a cluster file that is to be replaced before the file is used.
type hole struct {
	line, start, end int // bytes of the whole text
	text             string
	// name is a variable's; empty is a placeholder that muster cannot fill.
	name string
	// argument reports that it stands in Args, where it may as well be meant for the script.
	argument bool
	// whole reports that it is a placeholder as it is all of a value, such as $NAME, and word that it is a text such as CHANGE_ME.
	whole, word bool
}

// placeholderWords are texts that nobody means as they are.
const placeholderWords = `(?i:change[-_]?me|replace[-_]?me)|YOUR[-_][\w-]+|(?i:your[-_][\w-]+[-_]here)|REPLACE_WITH_\w+|(?:\w+_)?PLACEHOLDER(?:_\w+)?|TODO|FIXME|__[A-Z]\w*__`

var (
	// holeForms are ${NAME}, terraform's ${var.name} and ${list[0]}, the shell's ${NAME:-value}, {{ name }}, {% if %}, <%= name %> and <name>.
	// CloudFormation resolves {{resolve:...}} itself.
	holeForms = pattern.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{[A-Za-z_]\w*(?:(?:\.[\w*-]+|\[[^\[\]{}]*\])+|:?[-+=?][^{}]*)\}` +
		`|\{\{[^{}]*\}\}|\{%.*?%\}|<%.*?%>|<[A-Za-z][A-Za-z0-9 _.-]*>`)
	angleBefore = pattern.New(`(^\s*|[:-]\s+|[\[,]\s*)["']?$|[-/:_.=]$`)
	angleAfter  = pattern.New(`^(["']?\s*($|[,\]}]|\s#)|[-/:_.=])`)
	// wholeForms are placeholders where they are all of a value, wordForms those that are texts: words, and ids that cannot be any.
	wholeForms  = pattern.New(`\$[A-Za-z_]\w*|\$\([^()]*\)|%[A-Za-z_]\w*%|@[A-Za-z_]\w*@|\(\([^()]+\)\)|\{(?:[a-z_][\w. -]*|[A-Z_][A-Z0-9_]*)\}`)
	wordForms   = pattern.New(`(?:subnet|sg|fs|ami|vol|snap)-(?:` + placeholderWords + `|[0-9a-f]*[xyzXYZ]{3,}\w*|[g-zG-Z]+|\.{2,})|` + placeholderWords)
	wholeBefore = pattern.New(`(^\s*(-\s+)*["']?\w+["']?\s*:\s+|^\s*(-\s+)+|[\[{](.*,)?\s*(\w+:\s+)?)["']?$`)
	wholeAfter  = pattern.New(`^["']?\s*($|[,\]}])`)
	// freeKey is a key whose values are for others, not for AWS.
	freeKey = pattern.New(`(^[ -]*|[{,]\s*)["']?(Args|Tags|CustomSlurmSettings|ExtraChefAttributes|AdditionalSssdConfigs)["']?\s*:`)
)

// holes finds what is to be replaced, comments left out.
func holes(data []byte) []hole {
	if len(data) > maxBytes {
		return nil
	}
	var found []hole
	start, number, free := 0, 0, freeText{column: -1}
	for line := range bytes.Lines(data) {
		number++
		text := withoutComment(strings.TrimRight(string(line), "\r\n"))
		free = free.next(text)
		for _, h := range lineHoles(text, free) {
			h.line, h.start, h.end = number, h.start+start, h.end+start
			found = append(found, h)
		}
		start += len(line)
	}
	return found
}

// lineHoles finds what is to be replaced in a line; free is the text that the line belongs to.
func lineHoles(line string, free freeText) []hole {
	var found []hole
	for _, at := range holeForms().FindAllStringSubmatchIndex(line, -1) {
		h := hole{start: at[0], end: at[1], text: line[at[0]:at[1]], argument: free.key == "Args"}
		if at[2] >= 0 {
			h.name = line[at[2]:at[3]]
		}
		if h.name != "" || stands(line, at[0], at[1]) {
			found = append(found, h)
		}
	}
	if free.key != "" {
		return found
	}
	for i, form := range []*regexp.Regexp{wholeForms(), wordForms()} {
		for _, at := range form.FindAllStringIndex(line, -1) {
			h := hole{start: at[0], end: at[1], text: line[at[0]:at[1]], whole: true, word: i == 1}
			if wholeValue(line, h) && !slices.ContainsFunc(found, func(o hole) bool { return o.start < h.end && h.start < o.end }) {
				found = append(found, h)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b hole) int { return cmp.Compare(a.start, b.start) })
	return found
}

// stands reports whether a text in braces or angle brackets is a placeholder at its place.
func stands(line string, start, end int) bool {
	if line[start] == '<' && line[start+1] != '%' {
		return angleBefore().MatchString(line[:start]) && angleAfter().MatchString(line[end:])
	}
	return !strings.HasPrefix(line[start:], "{{resolve:")
}

// wholeValue reports whether a text is all of a value that AWS reads. Launch templates have the versions $Latest and $Default.
func wholeValue(line string, h hole) bool {
	return h.text != "$Latest" && h.text != "$Default" && wholeBefore().MatchString(line[:h.start]) && wholeAfter().MatchString(line[h.end:]) &&
		!freeKey().MatchString(line[:h.start])
}

// freeText is the key of free text that a line belongs to, and its column; -1 is none.
type freeText struct {
	key    string
	column int
}

// next is the free text of a line, given that of the line before.
func (f freeText) next(line string) freeText {
	content := strings.TrimLeft(line, " ")
	if content == "" {
		return f
	}
	if at := freeKey().FindStringSubmatchIndex(line); at != nil && strings.Trim(line[:at[3]], " -") == "" {
		return freeText{key: line[at[4]:at[5]], column: at[4]}
	}
	indent := len(line) - len(content)
	if f.column >= 0 && (indent > f.column || indent == f.column && strings.HasPrefix(content, "-")) {
		return f
	}
	return freeText{column: -1}
}

// withoutComment cuts a YAML line before its comment.
func withoutComment(line string) string {
	var quote byte
	for i := range len(line) {
		b, first := line[i], i == 0 || strings.IndexByte(" \t[{,", line[i-1]) >= 0
		switch {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case (b == '"' || b == '\'') && first:
			quote = b
		case b == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		}
	}
	return line
}
