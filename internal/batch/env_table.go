package batch

import (
	_ "embed" // for env.tsv
	"slices"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/diag"
)

// environmentTable says what is known of variables, and how its columns read.
//
//go:embed env.tsv
var environmentTable string

// setting is a row of the table: a variable, or a variable with certain values.
type setting struct {
	name, status string
	// instead is the name to write, of renamed and unknown variables.
	instead string
	// values are those for which the row is; none is for all.
	values []string
	scope  string
	since  string
	why    string
	source string
}

// settings are the rows of the table.
type settings struct {
	// byName are the rows of one name, in the table's order.
	byName map[string][]setting
	// families are the rows that are for all names with a beginning, the longest
	// beginning first.
	families []setting
	// names are those that a typist may have meant.
	names []string
}

var knownSettings = sync.OnceValue(func() *settings {
	all := &settings{byName: map[string][]setting{}}
	for line := range strings.Lines(environmentTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		all.add(readSetting(line))
	}
	slices.SortStableFunc(all.families, func(a, b setting) int { return len(b.name) - len(a.name) })
	return all
})

func (all *settings) add(row setting) {
	if strings.HasSuffix(row.name, "*") {
		row.name = strings.TrimSuffix(row.name, "*")
		all.families = append(all.families, row)
		return
	}
	if row.status != "unknown" && row.status != "removed" && len(all.byName[row.name]) == 0 {
		all.names = append(all.names, row.name)
	}
	all.byName[row.name] = append(all.byName[row.name], row)
}

// columns are those of the table.
const columns = 7

func readSetting(line string) setting {
	cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
	if len(cells) != columns {
		panic("env.tsv: " + line)
	}
	row := setting{name: cells[0], scope: cells[3], since: cells[4], why: cells[5], source: cells[6]}
	row.status, row.instead, _ = strings.Cut(cells[1], ":")
	if cells[2] != "-" {
		row.values = strings.Split(cells[2], ",")
	}
	return row
}

// of are the rows that are for a variable; none if it is not known.
func (all *settings) of(name string) []setting {
	if rows := all.byName[name]; rows != nil {
		return rows
	}
	for _, f := range all.families {
		if strings.HasPrefix(name, f.name) {
			return []setting{f}
		}
	}
	return nil
}

// fits tells whether the row is for a value. What only a run can know fits no
// row that is for certain values, or for all but these.
func (r setting) fits(v value) bool {
	if len(r.values) == 0 {
		return true
	}
	listed := slices.Contains(r.values, strings.ToLower(v.text))
	return v.whole() && listed != (r.status == "oneof")
}

// families of names, and whether the table has all variables of them. Of a family
// that is not complete, other names may be right.
var nameFamilies = []struct {
	prefix   string
	complete bool
}{
	{"NCCL_", true}, {"OFI_NCCL_", true}, {"FI_", true}, {"TORCH_NCCL_", true}, {"TORCH_FR_", true},
	{"TORCH_", false}, {"PYTORCH_", false},
}

// meant is the variable that a misspelt name most probably stands for: one that is a
// slip of the hand away, or the same but for the TORCH_ with which PyTorch's settings
// for NCCL begin. Otherwise it is the shortest that has all words of the name.
func (all *settings) meant(name string) string {
	if all.byName["TORCH_"+name] != nil {
		return "TORCH_" + name
	}
	beginning, _, _ := strings.Cut(name, "_")
	var slips []string
	shortest := ""
	for _, n := range all.names {
		switch {
		case !strings.HasPrefix(n, beginning+"_"):
		case slipped(name, n):
			slips = append(slips, n)
		case hasWords(n, name) && (shortest == "" || len(n) < len(shortest)):
			shortest = n
		}
	}
	if near := diag.Nearest(name, slips); near != "" {
		return near
	}
	return shortest
}

// slipped tells whether a name is another but for its underscores, or but for
// slips of the hand in one of its words.
func slipped(name, other string) bool {
	if strings.ReplaceAll(name, "_", "") == strings.ReplaceAll(other, "_", "") {
		return true
	}
	a, b := strings.Split(name, "_"), strings.Split(other, "_")
	if len(a) != len(b) {
		return false
	}
	different := 0
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if different++; different > 1 || diag.Nearest(a[i], b[i:i+1]) == "" && !sameStem(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameStem tells whether words begin alike, as HANDLE and HANDLING do.
func sameStem(a, b string) bool {
	const stem = 4
	return len(a) >= stem && len(b) >= stem && a[:stem] == b[:stem]
}

// hasWords tells whether a name has all words of another, in their order.
func hasWords(name, words string) bool {
	left := strings.Split(words, "_")
	for w := range strings.SplitSeq(name, "_") {
		if len(left) > 0 && left[0] == w {
			left = left[1:]
		}
	}
	return len(left) == 0 && strings.Contains(words, "_")
}
