package spec

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// ParallelCluster reads YAML 1.1 with PyYAML. What an unquoted word is follows
// from its first character and these patterns, in this order; other parsers
// see numbers in more words, such as 1e3 or 0o17, which are texts there.
var (
	intWord   = pattern.New(`^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	floatWord = pattern.New(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?` +
		`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	timeWord = pattern.New(`^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$`)
)

var (
	boolWords = []string{"yes", "no", "true", "false", "on", "off"}
	nullWords = []string{"", "~", "null", "Null", "NULL"}
)

// wordTag is the type of an unquoted word. "merge" and "value" are words that
// PyYAML gives up on.
func wordTag(s string) string {
	switch {
	case slices.Contains(nullWords, s):
		return "null"
	case s == "<<":
		return "merge"
	case s == "=":
		return "value"
	case strings.IndexByte("-+.0123456789", s[0]) >= 0:
		return numberTag(s)
	case len(s) <= 5 && cased(s) && slices.Contains(boolWords, strings.ToLower(s)):
		return "bool"
	}
	return "str"
}

// inNumbers are all characters that numbers and times have.
const inNumbers = "0123456789-+._:abcdefxABCDEFinIN TtZ\t"

func numberTag(s string) string {
	switch {
	case strings.Trim(s, inNumbers) != "":
		return "str"
	case s[0] >= '1' && s[0] <= '9' && strings.Trim(s, "0123456789") == "":
		return "int"
	case intWord().MatchString(s):
		return "int"
	case floatWord().MatchString(s):
		return "float"
	case timeWord().MatchString(s):
		return "timestamp"
	}
	return "str"
}

// cased reports whether a word is in small letters, in capitals, or begins with
// a capital.
func cased(s string) bool {
	lower := strings.ToLower(s)
	return s == lower || s == strings.ToUpper(s) || s == strings.ToUpper(lower[:1])+lower[1:]
}

// scalarTag is the type of a scalar, by its own tag if it has one, else by its
// form. A tag that PyYAML does not know is given back as it stands.
func scalarTag(y *yaml.Node) string {
	if y.Style&yaml.TaggedStyle != 0 {
		return strings.TrimPrefix(y.ShortTag(), "!!")
	}
	// A lone "!" leaves the type to the word, quoted or not.
	if y.Tag != "!" && y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return "str"
	}
	return wordTag(y.Value)
}
