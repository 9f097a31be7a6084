package spec

import (
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Values are read as ParallelCluster reads them: PyYAML says what a word is
// (see wordTag), and marshmallow what may stand for an integer or a boolean.

// text reports whether a scalar is a text to ParallelCluster.
func (n *node) text() bool { return n.tag == "str" }

// integer is a scalar's whole number. Exact is false where marshmallow cuts a
// number: 2 for 2.5.
func (n *node) integer() (value int64, exact, ok bool) {
	switch n.tag {
	case "int":
		value, ok = yamlInt(n.value)
		return value, true, ok
	case "float":
		f, ok := n.float()
		if !ok || math.Abs(f) >= 1<<63 {
			return 0, false, false
		}
		return int64(f), f == math.Trunc(f), true
	case "str":
		digits, ok := plainDigits(n.value)
		if !ok || !allDigits(digits) {
			return 0, false, false
		}
		value, err := strconv.ParseInt(digits, 10, 64)
		return value, true, err == nil
	}
	return 0, false, false
}

// yamlInt reads an integer of YAML 1.1: 12, 1_000, 0x1f, 0b11, octal 017, and
// 1:30 to the base of 60.
func yamlInt(s string) (int64, bool) {
	s = strings.ReplaceAll(s, "_", "")
	if strings.Contains(s, ":") {
		f, ok := sexagesimal(s)
		return int64(f), ok && math.Abs(f) < 1<<53
	}
	base := 10
	digits := strings.TrimLeft(s, "+-")
	switch {
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0b"):
		base = 0
	case strings.HasPrefix(digits, "0"):
		base = 8
	}
	v, err := strconv.ParseInt(s, base, 64)
	return v, err == nil
}

// sexagesimal reads 1:30 as 90, and 1:30.5 as 90.5.
func sexagesimal(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	total := 0.0
	for part := range strings.SplitSeq(digits, ":") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, false
		}
		total = total*60 + f
	}
	if strings.HasPrefix(s, "-") {
		total = -total
	}
	return total, true
}

// plainDigits is a quoted number as Python reads it: blanks around it, and
// single underscores between digits.
func plainDigits(s string) (string, bool) {
	s = strings.TrimSpace(s)
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i := range len(s) {
		if s[i] == '_' && !(digit(i-1) && digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), s != ""
}

func allDigits(s string) bool {
	return !strings.ContainsFunc(strings.TrimLeft(s, "+-"), func(r rune) bool { return r < '0' || r > '9' })
}

var decimal = pattern.New(`^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$`)

// float is a scalar's number.
func (n *node) float() (float64, bool) {
	var f float64
	switch n.tag {
	case "int":
		i, ok := yamlInt(n.value)
		return float64(i), ok
	case "float":
		s := strings.ReplaceAll(n.value, "_", "")
		if strings.Contains(s, ":") {
			return sexagesimal(s)
		}
		var err error
		if f, err = strconv.ParseFloat(s, 64); err != nil || strings.ContainsAny(s, "nN") {
			return 0, false
		}
	case "str":
		s, ok := plainDigits(n.value)
		if !ok || !decimal().MatchString(s) {
			return 0, false
		}
		f, _ = strconv.ParseFloat(s, 64)
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

var (
	truthy = []string{"t", "true", "on", "y", "yes", "1"}
	falsy  = []string{"f", "false", "off", "n", "no", "0"}
)

// boolean is a scalar's truth. Letters may be small, capital, or capital first.
func (n *node) boolean() (value, ok bool) {
	switch n.tag {
	case "int", "float":
		f, ok := n.float()
		return f == 1, ok && (f == 0 || f == 1)
	case "str", "bool":
	default:
		return false, false
	}
	lower := strings.ToLower(n.value)
	if lower == "" || !cased(n.value) {
		return false, false
	}
	if slices.Contains(truthy, lower) {
		return true, true
	}
	return false, slices.Contains(falsy, lower)
}

// asPython is a scalar as ParallelCluster writes it into another file, such as
// slurm.conf: True for yes, 90 for 1:30. It is false for other values.
func (n *node) asPython() (string, bool) {
	switch n.tag {
	case "bool":
		b, _ := n.boolean()
		return map[bool]string{true: "True", false: "False"}[b], true
	case "int":
		if i, ok := yamlInt(n.value); ok {
			return strconv.FormatInt(i, 10), true
		}
		i, ok := new(big.Int).SetString(strings.ReplaceAll(n.value, "_", ""), 10)
		return i.String(), ok
	case "float":
		return n.pythonFloat()
	case "timestamp":
		return n.value, len(n.value) == len("2006-01-02")
	default:
		return n.value, n.tag == "str"
	}
}

func (n *node) pythonFloat() (string, bool) {
	f, ok := n.float()
	if !ok {
		return "", false
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64), true
	}
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, true
}

// network reports whether a text is a network such as 10.0.0.0/8, or a prefix
// list's id.
func network(s string) bool {
	if rest, ok := strings.CutPrefix(s, "pl-"); ok {
		return rest != "" && strings.Trim(rest[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
	}
	p, err := netip.ParsePrefix(s)
	return err == nil && p.Addr().Is4()
}
