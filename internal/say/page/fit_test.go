package page

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	for _, row := range []struct {
		text  string
		width int
		want  []string
	}{
		{"as it is", 0, []string{"as it is"}},
		{"as it is", 8, []string{"as it is"}},
		{"", 5, []string{""}},
		{"one two three four", 9, []string{"one two", "three", "four"}},
		{"  - a note that is long", 12, []string{"  - a note", "    that is", "    long"}},
		{"/var/lib/muster/u/cluster.yaml", 16, []string{"/var/lib/muster/", "u/cluster.yaml"}},
		{"node-1,node-2,node-3", 15, []string{"node-1,node-2,", "node-3"}},
		{"gpu-queue-dy-p5e-nodes-[1-11]", 20, []string{"gpu-queue-dy-p5e-", "nodes-[1-11]"}},
		{"it takes a --cluster", 14, []string{"it takes a", "--cluster"}},
		{"abcdefghijkl", 5, []string{"abcde", "fghij", "kl"}},
		{"größe größe", 6, []string{"größe", "größe"}},
	} {
		if got := fit(row.text, row.width); !slices.Equal(got, row.want) {
			t.Errorf("%q in %d: got %q, want %q", row.text, row.width, got, row.want)
		}
	}
}

func TestSqueeze(t *testing.T) {
	for name, row := range map[string]struct {
		widths, words []int
		limit         int
		want          []int
	}{
		"nobody_minds":           {[]int{10, 200}, []int{10, 10}, 0, []int{10, 200}},
		"it_fits":                {[]int{10, 20}, []int{10, 20}, 32, []int{10, 20}},
		"the_widest_gives":       {[]int{10, 120}, []int{10, 10}, 60, []int{10, 48}},
		"of_equal_ones_the_last": {[]int{20, 20}, []int{5, 5}, 41, []int{20, 19}},
		"as_narrow_as_they_get":  {[]int{30, 30, 5}, []int{30, 30, 5}, 10, []int{8, 8, 5}},
		"words_are_kept":         {[]int{30, 20, 40}, []int{15, 18, 40}, 60, []int{18, 18, 20}},
		"words_at_last":          {[]int{20, 20}, []int{20, 20}, 30, []int{14, 14}},
		"one":                    {[]int{100}, []int{5}, 40, []int{40}},
		"none":                   {nil, nil, 40, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := squeeze(row.widths, row.words, row.limit); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// TestFitLosesNothing holds that what is fitted says the same, in lines that are no
// longer than allowed.
func TestFitLosesNothing(t *testing.T) {
	const letters = "ab-/,; ü "
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var b strings.Builder
		for range random.IntN(60) {
			b.WriteRune([]rune(letters)[random.IntN(9)])
		}
		text, width := b.String(), 1+random.IntN(30)
		lines := fit(text, width)
		for _, line := range lines {
			if len([]rune(line)) > width {
				t.Fatalf("%q of %q is longer than %d", line, text, width)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
			t.Fatalf("%q in %d: got %q", text, width, lines)
		}
	}
}

func TestTableOfWidth(t *testing.T) {
	rows := Table{{"Nodes of a cluster whose name is quite long"}, {"NODE", "STATE", "REASON"}}
	rows.Add("gpu-queue-dy-p5e-nodes-1", "down", "the power was cut while it was booting")
	rows.Add("b", "idle", "")
	got := rows.text(40)
	want := `Nodes of a cluster whose name is quite
long
NODE                  STATE  REASON
gpu-queue-dy-p5e-     down   the power
nodes-1                      was cut
                             while it
                             was booting
b                     idle
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTableThatFitsNowhere(t *testing.T) {
	rows := Table{{"Models", "one", "two", "three", "four"}, {"all that there are"}}
	rows.Add("  model1", "11111111", "22222222", "-", "44444444 444444444")
	rows.Add("  model2", "1", "", "3", "4")
	want := `Models
all that there are
  model1
    one: 11111111
    two: 22222222
    four: 44444444
    444444444
  model2
    one: 1
    three: 3
    four: 4
`
	if got := rows.text(20); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
