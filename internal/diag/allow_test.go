package diag_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/growth"
)

func TestAllow(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"no_comment", "A: 1\nB: 2\n", []string{"error a/error 1", "warning a/warn 1", "warning b/warn 2"}},
		{"end_of_line", "A: 1  # muster: allow a/warn\nB: 2\n", []string{"error a/error 1", "warning b/warn 2"}},
		{"line_before", "# muster: allow a/warn\nA: 1\nB: 2", []string{"error a/error 2", "warning b/warn 3"}},
		{"comments_between", "# muster: allow a/warn\n\n# why\nA: 1\nB: 2", []string{"error a/error 4", "warning b/warn 5"}},
		{"two_codes", "# muster: allow a/warn, a/other\nA: 1\nB: 2", []string{"info file/allow 1", "error a/error 2", "warning b/warn 3"}},
		{"errors_stay", "A: 1 # muster: allow a/error\nB: 2", []string{"error a/error 1", "warning a/warn 1", "info file/allow 1", "warning b/warn 2"}},
		{"within_a_word", "A: 1# muster: allow a/warn\nB: 2", []string{"error a/error 1", "warning a/warn 1", "warning b/warn 2"}},
		{"another_line", "A: 1\nB: 2 # muster: allow a/warn", []string{"error a/error 1", "warning a/warn 1", "warning b/warn 2", "info file/allow 2"}},
		{"windows_lines", "A: 1  # muster: allow a/warn\r\nB: 2\r\n", []string{"error a/error 1", "warning b/warn 2"}},
		{"before_options", "# muster: allow a/warn\n#SBATCH\nA: 1", []string{"info file/allow 1", "error a/error 3", "warning a/warn 3"}},
		{"last_line", "A: 1\nB: 2\n# muster: allow b/warn", []string{"error a/error 1", "warning a/warn 1", "warning b/warn 2", "info file/allow 3"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			list := &diag.List{}
			for i, line := range strings.Split(row.text, "\n") {
				at := diag.Place{File: "f", Line: i + 1, Column: 1}
				if strings.HasPrefix(line, "A") {
					list.Errorf("a/error", "", "m").At(at)
					list.Warnf("a/warn", "", "m").At(at)
				}
				if strings.HasPrefix(line, "B") {
					list.Warnf("b/warn", "", "m").At(at)
				}
			}
			list.Allow("f", []byte(row.text))
			var got []string
			for _, d := range list.All() {
				got = append(got, d.Severity.String()+" "+d.Code+" "+string(rune('0'+d.Line)))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllowBy_takes_a_statement_for_one_line(t *testing.T) {
	list := &diag.List{}
	for line := range 4 {
		list.Warnf("a/warn", "", "m").At(diag.Place{File: "f", Line: line + 1})
	}
	list.AllowBy("f", []byte("# muster: allow a/warn\nrun \\\n  it\nend\n"), func(line int) int { return min(line, 2) })
	var got []int
	for _, d := range list.All() {
		got = append(got, d.Line)
	}
	if want := []int{1}; !slices.Equal(got, want) {
		t.Errorf("lines %v are left, want %v", got, want)
	}
}

// TestAllow_many holds that many comments take no longer than they should.
func TestAllow_many(t *testing.T) {
	growth.Linear(t, 100_000, func(n int) {
		list := &diag.List{}
		for line := range n / 100 {
			list.Warnf("a/warn", "", "m").At(diag.Place{File: "f", Line: 2 * (line + 1)})
		}
		list.Allow("f", []byte(strings.Repeat("# muster: allow a/warn\nA: 1\n", n)))
		if got, want := list.Len(), n-n/100; got != want || list.Count(diag.Warning) > 0 {
			t.Errorf("%d problems are left, want %d", got, want)
		}
	})
}
