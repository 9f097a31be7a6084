package yamledit

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// token is the span of a word or quoted text that stands on one line, without
// an anchor or a tag. It is false for all others.
func (l *Layout) token(y *yaml.Node) (span, bool) {
	at := l.offset(y)
	if y.Kind != yaml.ScalarNode || y.Anchor != "" || y.Style&yaml.TaggedStyle != 0 || at >= len(l.data) {
		return span{}, false
	}
	switch y.Style {
	case 0:
		end := at + len(y.Value)
		return span{at, end}, y.Value != "" && end <= len(l.data) && string(l.data[at:end]) == y.Value
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		end := l.ends[y]
		if end == 0 {
			end = quoteEnd(l.data, at)
		}
		return span{at, end}, end > at && l.lineOf(at) == l.lineOf(end-1)
	default:
		return span{}, false
	}
}

// text is what a span holds.
func (l *Layout) text(s span) string { return string(l.data[s.start:s.end]) }

// wordy is what needs no quotes as a text, wherever it stands.
var wordy = pattern.New(`^[A-Za-z/][A-Za-z0-9_./*@+-]*(:+[A-Za-z0-9_./*@+-]+)*$`)

// notTexts are words that YAML 1.1 reads as something else than a text.
var notTexts = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// numeric are texts that YAML takes for numbers.
var numeric = pattern.New(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?$`)

// written is how a value of a type is written in place of another one, which is
// quoted as its style says.
func written(value, typ string, style yaml.Style) (string, bool) {
	switch typ {
	case "int", "float":
		return value, numeric().MatchString(value)
	case "bool":
		return value, value == "true" || value == "false"
	}
	plain := wordy().MatchString(value) && !slices.Contains(notTexts, strings.ToLower(value))
	switch {
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 }):
		return "", false
	case style&yaml.SingleQuotedStyle != 0:
		return "'" + strings.ReplaceAll(value, "'", "''") + "'", true
	case plain && style&yaml.DoubleQuotedStyle == 0:
		return value, true
	default:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`, true
	}
}

// tag is YAML's type of what written gives.
func tag(value, typ string) string {
	switch {
	case typ == "bool":
		return "!!bool"
	case typ != "int" && typ != "float":
		return "!!str"
	case strings.Contains(value, "."):
		return "!!float"
	default:
		return "!!int"
	}
}

// Shown is a value for the title of a fix.
func Shown(value string) string {
	if wordy().MatchString(value) || numeric().MatchString(value) {
		return Clip(value)
	}
	return strconv.Quote(Clip(value))
}

// aligned keeps the comment behind a value in its column, if there is room: it
// gives the end of what is replaced, and the new text with its blanks.
func (l *Layout) aligned(old span, text string) (int, string) {
	gap := old.end
	for gap < len(l.data) && l.data[gap] == ' ' {
		gap++
	}
	blanks := gap - old.end
	if blanks < 2 || len(l.commentsIn(span{gap, gap + 1})) == 0 {
		return old.end, text
	}
	more := utf8.RuneCountInString(text) - utf8.RuneCountInString(l.text(old))
	if more < 0 {
		return old.end, text + strings.Repeat(" ", -more)
	}
	return old.end + min(more, blanks-1), text
}
