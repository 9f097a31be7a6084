package batch

import (
	"strings"
	"testing"
)

// TestConstraint holds the grammar to what sbatch --test-only of Slurm 22.05 says on
// nodes with these features: "no" is "Requested node configuration is not available",
// "broken" is "Invalid feature specification".
func TestConstraint(t *testing.T) {
	nodes := [][]string{{"dynamic", "c6"}, {"dynamic", "c5"}}
	for text, want := range map[string]string{
		"c6": "yes", "c6|c5": "yes", "c6&c5": "no", "c6,c5": "no", "c6,dynamic": "yes", "c6,": "yes", "c6|": "yes", "gpu": "no",
		"(c6|c5)&dynamic": "yes", "(c6|c5)&gpu": "no", "c6&(gpu|c6)": "yes", "c6|gpu": "yes", "c6&dynamic|gpu": "yes", "c6|c5&gpu": "unknown",
		"[c6|c5]": "unknown", "c6*2&c5*1": "unknown", "[c6*2&c5*1]": "unknown", "dynamic&[c6|c5]": "unknown", "((c6))": "unknown",
		"|c6": "broken", "&": "broken", "c6&&c5": "broken", "[c6": "broken", "(c6": "broken", "c6)": "broken", "c6]": "broken", "c6*x": "broken", "c6*0": "broken",
		"[]": "broken", "()": "broken", "": "broken", "(c6]": "broken",
	} {
		if got := judged(parseConstraint(text), nodes); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// judged is what is known of nodes, of which one is enough.
func judged(c constraint, nodes [][]string) string {
	if c.broken {
		return "broken"
	}
	result := "no"
	for _, features := range nodes {
		holds, known := c.holds(features)
		switch {
		case known && holds:
			return "yes"
		case !known:
			result = "unknown"
		}
	}
	return result
}

// FuzzConstraint: every text is read to its end, a name stands in it, and a constraint
// that holds, holds of a node that has all of its features.
func FuzzConstraint(f *testing.F) {
	for _, seed := range []string{"a", "a&b|c", "(a|b)&c", "[a*2&b*1]", "a,", "((", "*", "a*99999999999999999999", "[a|(b&c)]*2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseConstraint(text)
		for _, name := range c.names {
			if name == "" || !strings.Contains(text, name) {
				t.Fatalf("%q: %q is no name in it", text, name)
			}
		}
		if c.broken || c.hard {
			return
		}
		if holds, known := c.holds(c.names); !known || !holds {
			t.Fatalf("%q does not hold of a node with %q", text, c.names)
		}
		if holds, _ := c.holds(nil); holds {
			t.Fatalf("%q holds of a node without features", text)
		}
	})
}
