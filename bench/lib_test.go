// Package bench measures muster. What it has in Go holds what its scripts promise.
package bench

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport_fails_where_nothing_was_measured runs the rows of lib.sh.
func TestReport_fails_where_nothing_was_measured(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		ok     bool
		says   string
	}{
		"a_value":               {`report row 5 1.5 2.5 3.5`, true, "    2.50  < 5           1.50     3.50    3\n"},
		"a_missed_limit":        {`report row 2 3; cat "$WORK/missed"`, true, "  missed\nrow\n"},
		"small_has_no_limit":    {`SMALL=1; report row 2 3; [ ! -e "$WORK/missed" ]`, true, "3.00                3.00"},
		"no_value":              {`report row 5`, false, `row: not measured: ""`},
		"infinity":              {`report row 5 inf`, false, `row: not measured: "inf"`},
		"not_a_number":          {`report row 5 1 nan`, false, `row: not measured: "nan"`},
		"zero":                  {`report row 5 0.00`, false, `row: not measured: "0.00"`},
		"a_small_number":        {`report row 5 1e-05`, true, "0.00  < 5"},
		"a_share_of_zero":       {`share row 5 0`, true, "0.00  < 5"},
		"a_share_of_nothing":    {`share row 5 ""`, false, "not measured"},
		"one_of_three":          {`report row 5 1 "" 3`, false, `not measured: ""`},
		"less_than_nothing":     {`report row 5 -- -0.5`, false, `not measured: "-0.5"`},
		"a_ratio":               {`ratio row 5 1 4`, true, "0.25  < 5"},
		"by_zero":               {`ratio row 5 1 0`, false, `row: not measured: "0"`},
		"by_nothing":            {`ratio row 5 1 "$(median)"`, false, "not measured"},
		"figures":               {`collect 2 printf '1\n2\n'; report row "" "${values[@]}"`, true, "1.50"},
		"a_figure_is_missing":   {`collect 3 printf '1\n2\n'`, false, "2 figures instead of 3"},
		"the_program_fails":     {`collect 1 sh -c 'echo 1; exit 1'`, false, ""},
		"a_failure_in_a_figure": {`times=("$(minus 2 1; false)"); echo went on`, false, ""},
		"no_sources":            {`baseline Enroot ENROOT_SRC || true`, true, "left out: Enroot (ENROOT_SRC does not say where its sources are)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			script := exec.Command("bash", "-c", "set -euo pipefail; . ./lib.sh; "+c.script)
			script.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "WORK=" + t.TempDir()}
			out, err := script.CombinedOutput()
			if ok := err == nil; ok != c.ok || !strings.Contains(string(out), c.says) {
				t.Errorf("%s: %v, says %q; want ok %v and %q", c.script, err, out, c.ok, c.says)
			}
		})
	}
}

// TestRows_are_checked: no script prints a row of figures past the check.
func TestRows_are_checked(t *testing.T) {
	scripts, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("grep", append([]string{"-d", "skip", "-lE", `mapfile .*< <\(`}, scripts...)...).CombinedOutput()
	if err == nil {
		t.Errorf("a failure of what fills an array is not seen in %s", out)
	}
}
