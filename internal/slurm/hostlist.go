package slurm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxHosts is the most names that one host list may stand for.
	maxHosts = 100_000
	// maxHostName is the longest host name in bytes.
	maxHostName = 255
	// maxGroups is the most brackets in one name.
	maxGroups = 8
	// maxDigits bounds the numbers that are counted up; longer ones are text.
	maxDigits = 9
)

// Expand returns the names that a Slurm host list stands for, in the list's
// order, duplicates kept: "q-[1-2,07],login" is q-1, q-2, q-07, login. A list
// of no name is nil. It is an error if the list is malformed, stands for more
// than 100,000 names, or for one longer than 255 bytes.
func Expand(list string) ([]string, error) {
	items, err := splitList(list)
	if err != nil {
		return nil, fmt.Errorf("host list %q: %w", shorten(list), err)
	}
	var names []string
	for _, item := range items {
		names, err = appendHosts(names, item)
		if err != nil {
			return nil, fmt.Errorf("host list %q: %w", shorten(list), err)
		}
	}
	return names, nil
}

// splitList cuts a host list at the commas outside its brackets.
func splitList(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var items []string
	start, open := 0, false
	for i := range len(list) {
		switch c := list[i]; {
		case c == '[' && open, c == ']' && !open:
			return nil, fmt.Errorf("bracket %q at byte %d does not fit", c, i)
		case c == '[', c == ']':
			open = c == '['
		case c == ',' && !open:
			items = append(items, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	if open {
		return nil, fmt.Errorf("a bracket is not closed")
	}
	items = append(items, strings.TrimSpace(list[start:]))
	if slices.Contains(items, "") {
		return nil, fmt.Errorf("a name is empty")
	}
	return items, nil
}

// appendHosts adds the names of one item, whose brackets fit.
func appendHosts(names []string, item string) ([]string, error) {
	if err := checkName(item); err != nil {
		return nil, err
	}
	expanded := []string{""}
	var err error
	for item != "" {
		text, rest, group := strings.Cut(item, "[")
		values := []string{""}
		item = ""
		if group {
			body, after, _ := strings.Cut(rest, "]")
			if values, err = expandGroup(body); err != nil {
				return nil, err
			}
			item = after
		}
		if len(names)+len(expanded)*len(values) > maxHosts {
			return nil, fmt.Errorf("more than %d names", maxHosts)
		}
		if expanded, err = product(expanded, text, values); err != nil {
			return nil, err
		}
	}
	return append(names, expanded...), nil
}

// checkName looks at an item's text outside its brackets.
func checkName(item string) error {
	open := false
	if groups := strings.Count(item, "["); groups > maxGroups {
		return fmt.Errorf("a name with %d brackets", groups)
	}
	for _, c := range item {
		switch {
		case c == '[':
			open = true
		case c == ']':
			open = false
		case !open && (c <= ' ' || c == 0x7f):
			return fmt.Errorf("a name has the character %q", c)
		}
	}
	return nil
}

// product is every prefix followed by text and every value.
func product(prefixes []string, text string, values []string) ([]string, error) {
	out := make([]string, 0, len(prefixes)*len(values))
	for _, p := range prefixes {
		for _, v := range values {
			if len(p)+len(text)+len(v) > maxHostName {
				return nil, fmt.Errorf("a name of more than %d bytes", maxHostName)
			}
			out = append(out, p+text+v)
		}
	}
	return out, nil
}

// expandGroup returns the numbers in a bracket: "1-3,07" is 1, 2, 3, 07.
func expandGroup(body string) ([]string, error) {
	var values []string
	for part := range strings.SplitSeq(body, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := number(low)
		if err != nil {
			return nil, err
		}
		to, err := number(high)
		if err != nil {
			return nil, err
		}
		if to < from {
			return nil, fmt.Errorf("range %q runs backwards", part)
		}
		if len(values)+to-from >= maxHosts {
			return nil, fmt.Errorf("more than %d names", maxHosts)
		}
		for n := from; n <= to; n++ {
			values = append(values, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return values, nil
}

// number reads the digits of a range's end.
func number(digits string) (int, error) {
	if digits == "" || len(digits) > maxDigits || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%q is no number of a range", shorten(digits))
	}
	return strconv.Atoi(digits)
}

// shorten cuts a text from outside to what fits in a message.
func shorten(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Compress writes names as a Slurm host list: each name once, in order of
// prefix and number, runs of numbers as ranges. What Expand makes of the
// result are the sorted names.
func Compress(names []string) string {
	families := map[family][]int{}
	widths := paddedWidths(names)
	for _, name := range names {
		f, n := familyOf(name, widths)
		families[f] = append(families[f], n)
	}
	order := slices.SortedFunc(maps.Keys(families), compareFamilies)
	parts := make([]string, 0, len(order))
	for _, f := range order {
		parts = append(parts, f.list(families[f]))
	}
	return strings.Join(parts, ",")
}

// family is a set of names that differ in their last number alone.
type family struct {
	prefix string
	// width is the number's width where zeros pad it, 0 where none do, and -1
	// where the name has no number.
	width int
}

func compareFamilies(a, b family) int {
	return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.width, b.width))
}

// list writes the names of a family with the given numbers.
func (f family) list(numbers []int) string {
	if f.width < 0 {
		return f.prefix
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if len(numbers) == 1 {
		return f.prefix + f.digits(numbers[0])
	}
	var ranges []string
	for len(numbers) > 0 {
		last := 0
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		text := f.digits(numbers[0])
		if last > 0 {
			text += "-" + f.digits(numbers[last])
		}
		ranges = append(ranges, text)
		numbers = numbers[last+1:]
	}
	return f.prefix + "[" + strings.Join(ranges, ",") + "]"
}

func (f family) digits(n int) string { return fmt.Sprintf("%0*d", f.width, n) }

// splitNumber cuts the number off a name's end.
func splitNumber(name string) (prefix, digits string) {
	prefix = strings.TrimRight(name, "0123456789")
	digits = name[len(prefix):]
	if prefix == "" || len(digits) > maxDigits {
		return name, ""
	}
	return prefix, digits
}

// paddedWidths finds, for each prefix, the widths of its zero-padded numbers.
func paddedWidths(names []string) map[family]bool {
	widths := map[family]bool{}
	for _, name := range names {
		prefix, digits := splitNumber(name)
		if len(digits) > 1 && digits[0] == '0' {
			widths[family{prefix, len(digits)}] = true
		}
	}
	return widths
}

// familyOf sorts a name into its family. A number without leading zero joins
// the padded numbers of its own width, so that 08, 09, 10 are one range.
func familyOf(name string, padded map[family]bool) (family, int) {
	prefix, digits := splitNumber(name)
	if digits == "" {
		return family{prefix, -1}, 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return family{name, -1}, 0
	}
	if f := (family{prefix, len(digits)}); padded[f] {
		return f, n
	}
	return family{prefix, 0}, n
}
