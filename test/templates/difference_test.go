package templates

import (
	"bufio"
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// difference is a thing, or a property of one, that is not the same in both worlds.
// The property is empty if one has not got the thing at all.
type difference struct{ thing, property, theirs, ours string }

const (
	present = "there"
	absent  = "-"
)

// differences are those between two worlds, in a fixed order.
func differences(theirs, ours facts) []difference {
	var all []difference
	for thing, properties := range theirs {
		if ours[thing] == nil {
			all = append(all, difference{thing, "", present, absent})
			continue
		}
		for property, value := range properties {
			if own := ours[thing][property]; own != value {
				all = append(all, difference{thing, property, cmp.Or(value, absent), cmp.Or(own, absent)})
			}
		}
	}
	for thing, properties := range ours {
		if theirs[thing] == nil {
			all = append(all, difference{thing, "", absent, present})
			continue
		}
		for property, value := range properties {
			if _, both := theirs[thing][property]; !both && value != "" {
				all = append(all, difference{thing, property, absent, value})
			}
		}
	}
	slices.SortFunc(all, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.thing, b.thing), cmp.Compare(a.property, b.property))
	})
	return all
}

// decision says why differences are as they are. Its fields are patterns, in which
// * is any text.
type decision struct {
	difference
	reason string
	line   int
	used   bool
}

func (d *decision) covers(one difference) bool {
	return matches(d.thing, one.thing) && matches(d.property, one.property) && matches(d.theirs, one.theirs) && matches(d.ours, one.ours)
}

var patterns = map[string]*regexp.Regexp{}

func matches(pattern, text string) bool {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	}
	return patterns[pattern].MatchString(text)
}

// decisions are the lines of decided.tsv: thing, property, theirs, ours, reason.
func decisions(t *testing.T) []*decision {
	t.Helper()
	file, err := os.Open("decided.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []*decision
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != 5 || cells[4] == "" {
			t.Fatalf("decided.tsv:%d: want five cells, the last a reason: %q", n, lines.Text())
		}
		all = append(all, &decision{difference: difference{cells[0], cells[1], cells[2], cells[3]}, reason: cells[4], line: n})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
