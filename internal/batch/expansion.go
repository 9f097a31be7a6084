package batch

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// expansion is a variable that the shell expands in a word.
type expansion struct {
	name string
	// at is the byte of the word at which it stands.
	at int
	// guarded says that the script reckons with an empty variable, as in ${NAME:-1};
	// counted that it is a number in arithmetic, where nothing counts as 0.
	guarded, counted bool
}

// expansionsIn are the variables that the shell expands in a word as it is written:
// outside of single quotes and without a backslash.
func expansionsIn(raw string) []expansion {
	var found []expansion
	single, double := false, false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			if !single {
				i++
			}
		case '\'':
			single = single != !double
		case '"':
			double = double != !single
		case '$':
			if single {
				continue
			}
			if strings.HasPrefix(raw[i:], "$((") {
				found = append(found, countedIn(raw, i+3)...)
				continue
			}
			if m := parameterName().FindStringSubmatchIndex(raw[i:]); m != nil {
				name := raw[i+m[2] : i+m[3]]
				braced := raw[i+1] == '{'
				rest := strings.TrimPrefix(raw[i+m[3]:], ":")
				found = append(found, expansion{name: name, at: i, guarded: braced && rest != "" && strings.ContainsRune("-=+?", rune(rest[0]))})
			}
		}
	}
	return found
}

var (
	parameterName  = pattern.New(`^\$(?:\{[!#]?)?([A-Za-z_]\w*)`)
	arithmeticWord = pattern.New(`(^|[^\w$\{.])([A-Za-z_]\w*)`)
)

// countedIn are the names of $((A + B)), which stand without a $. The others are found in
// any case.
func countedIn(raw string, from int) []expansion {
	end := strings.Index(raw[from:], "))")
	if end < 0 {
		return nil
	}
	var found []expansion
	for _, m := range arithmeticWord().FindAllStringSubmatchIndex(raw[from:from+end], -1) {
		found = append(found, expansion{name: raw[from+m[4] : from+m[5]], at: from + m[4], counted: true})
	}
	return found
}

// expands tells whether the shell expands a variable in a word.
func expands(raw, name string) bool {
	if !strings.Contains(raw, name) { // which is most often so, and quick
		return false
	}
	for _, e := range expansionsIn(raw) {
		if e.name == name {
			return true
		}
	}
	return false
}
