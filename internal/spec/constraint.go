package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// levelRange are the levels that have something; a zero end is open.
type levelRange struct{ first, last Level }

func (s levelRange) has(l Level) bool {
	return (s.first == 0 || l >= s.first) && (s.last == 0 || l <= s.last)
}

// history says why a level outside of the levelRange lacks what others have.
func (s levelRange) history(l Level) string {
	if s.last != 0 && l > s.last {
		return "was removed in " + (s.last + 1).String()
	}
	return "came with " + s.first.String()
}

// near is the level of the levelRange that is nearest to l; zero if none is known.
func (s levelRange) near(l Level) Level {
	if s.last != 0 && l > s.last {
		l = s.last
	} else {
		l = max(l, s.first)
	}
	if l < oldest {
		return 0
	}
	return l
}

// parseRange reads "3.15..", "..3.14" or "3.12..3.14".
func parseRange(text string) levelRange {
	if text == "" {
		return levelRange{}
	}
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		panic("schema table: levels " + text)
	}
	return levelRange{first: minor(first), last: minor(last)}
}

func minor(text string) Level {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimPrefix(text, "3."))
	if err != nil {
		panic("schema table: level " + text)
	}
	return Level(n)
}

var rangeSuffix = pattern.New(`^(.*)\(((?:3\.\d+)?\.\.(?:3\.\d+)?)\)$`)

// cutRange takes the levels off the end of a word such as "range:0..35(..3.15)".
// In a term "in:A,B" they belong to its last value.
func cutRange(word string) (string, levelRange) {
	if !strings.HasSuffix(word, ")") || strings.HasPrefix(word, "in:") {
		return word, levelRange{}
	}
	m := rangeSuffix().FindStringSubmatch(word)
	if m == nil {
		return word, levelRange{}
	}
	return m[1], parseRange(m[2])
}

// atLevel leaves of a cell's words those that a level has.
func atLevel(cell string, l Level) string {
	if !strings.Contains(cell, "(") {
		return cell
	}
	var words []string
	for word := range strings.FieldsSeq(cell) {
		if word, s := cutRange(word); s.has(l) {
			words = append(words, valuesAt(word, l))
		}
	}
	return strings.Join(words, " ")
}

// valuesAt leaves of the values of a term "in:A,B" those that a level has.
func valuesAt(term string, l Level) string {
	rest, ok := strings.CutPrefix(term, "in:")
	if !ok || !strings.Contains(rest, "(") {
		return term
	}
	var values []string
	for value := range strings.SplitSeq(rest, ",") {
		if value, s := cutRange(value); s.has(l) {
			values = append(values, value)
		}
	}
	return "in:" + strings.Join(values, ",")
}

// constraint is what a value must satisfy.
type constraint struct {
	oneOf []string
	// elsewhere are values that only other levels have.
	elsewhere map[string]levelRange
	pattern   *tablePattern
	id        bool
	cidr      bool
	value     *bounds
	length    *bounds
}

// bounds are inclusive; a missing end is none.
type bounds struct{ low, high *int64 }

func (b *bounds) hold(n int64) bool {
	return (b.low == nil || n >= *b.low) && (b.high == nil || n <= *b.high)
}

func (b *bounds) String() string {
	switch {
	case b.low == nil:
		return fmt.Sprintf("at most %d", *b.high)
	case b.high == nil:
		return fmt.Sprintf("at least %d", *b.low)
	case *b.low == *b.high:
		return fmt.Sprintf("%d", *b.low)
	default:
		return fmt.Sprintf("from %d to %d", *b.low, *b.high)
	}
}

// constraint reads the terms that the schema's level has.
func (s *schema) constraint(text string) constraint {
	c := constraint{elsewhere: elsewhere(text, s.level)}
	for term := range strings.FieldsSeq(atLevel(text, s.level)) {
		word, rest, _ := strings.Cut(term, ":")
		switch word {
		case "in":
			c.oneOf = strings.Split(rest, ",")
		case "re", "id":
			c.pattern, c.id = s.pattern(rest), word == "id"
		case "range":
			c.value = parseBounds(rest)
		case "len":
			c.length = parseBounds(rest)
		case "cidr":
			c.cidr = true
		default:
			panic("schema table: constraint " + term)
		}
	}
	return c
}

// tablePattern is one of the table's patterns. It is compiled when it is first
// needed: a file has few of the keys.
type tablePattern struct {
	text string
	form func() *regexp.Regexp
}

func newPattern(text string) *tablePattern {
	return &tablePattern{text, pattern.New(text)}
}

func (p *tablePattern) String() string { return p.text }

func (p *tablePattern) matches(s string) bool { return p.form().MatchString(s) }

func (s *schema) pattern(text string) *tablePattern {
	if s.patterns[text] == nil {
		s.patterns[text] = newPattern(text)
	}
	return s.patterns[text]
}

// elsewhere finds the values that a level lacks and others have.
func elsewhere(text string, l Level) map[string]levelRange {
	if !strings.Contains(text, "(") {
		return nil
	}
	out := map[string]levelRange{}
	for term := range strings.FieldsSeq(text) {
		rest, ok := strings.CutPrefix(term, "in:")
		if !ok {
			continue
		}
		for value := range strings.SplitSeq(rest, ",") {
			if value, s := cutRange(value); !s.has(l) {
				out[value] = s
			}
		}
	}
	return out
}

func parseBounds(text string) *bounds {
	low, high, _ := strings.Cut(text, "..")
	return &bounds{low: parseBound(low), high: parseBound(high)}
}

func parseBound(text string) *int64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("schema table: bound " + text)
	}
	return &n
}
