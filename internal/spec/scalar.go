package spec

import (
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Values are read as ParallelCluster reads them: PyYAML says what a plain word
// is, and marshmallow what may stand for an integer or a boolean.

// number is PyYAML's idea of an unquoted integer or float. Other YAML parsers
// see numbers in more words, such as 1e3 or 0o17, which are texts there.
// Minutes and degrees such as 1:30 are left out: they may be texts here.
var number = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+` +
		`|[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|\.(inf|Inf|INF|nan|NaN|NAN))$`)
})

// text reports whether a scalar is a text to ParallelCluster.
func (n *node) text() bool {
	switch n.tag {
	case "str":
		return true
	case "int", "float":
		return !number().MatchString(n.value)
	default:
		return false
	}
}

// integer is a scalar's whole number. Exact is false where marshmallow takes
// something else for one: true for 1, 2.5 for 2.
func (n *node) integer() (value int64, exact, ok bool) {
	switch n.tag {
	case "bool":
		b, ok := n.boolean()
		if b {
			return 1, false, ok
		}
		return 0, false, ok
	case "float":
		f, ok := n.float()
		if !ok || math.Abs(f) >= 1<<53 {
			return 0, false, false
		}
		return int64(f), f == math.Trunc(f), true
	case "int":
		if v, err := strconv.ParseInt(strings.ReplaceAll(n.value, "_", ""), 0, 64); err == nil {
			return v, true, true
		}
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(n.value), "_", ""), 10, 64)
	return v, true, err == nil && (n.tag == "int" || n.tag == "str")
}

// float is a scalar's number.
func (n *node) float() (float64, bool) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(n.value), "_", ""), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && slices.Contains([]string{"int", "float", "str"}, n.tag)
}

var (
	truthy = []string{"t", "true", "on", "y", "yes", "1"}
	falsy  = []string{"f", "false", "off", "n", "no", "0"}
)

// boolean is a scalar's truth. Letters may be small, capital, or capital first.
func (n *node) boolean() (value, ok bool) {
	if n.tag == "int" || n.tag == "float" {
		f, ok := n.float()
		return f == 1, ok && (f == 0 || f == 1)
	}
	lower := strings.ToLower(n.value)
	if lower == "" || n.value != lower && n.value != strings.ToUpper(n.value) && n.value != strings.ToUpper(lower[:1])+lower[1:] {
		return false, false
	}
	if slices.Contains(truthy, lower) {
		return true, true
	}
	return false, slices.Contains(falsy, lower)
}

// network reports whether a text is a network such as 10.0.0.0/8, or a prefix
// list's id.
func network(s string) bool {
	if strings.HasPrefix(s, "pl-") && len(s) > 3 {
		return true
	}
	p, err := netip.ParsePrefix(s)
	return err == nil && p.Addr().Is4()
}
