package doctor

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the report for people, one line a check. Checks that passed
// or do not apply are left out if brief is asked for.
func (r Report) WriteText(w io.Writer, form Form) error {
	var b strings.Builder
	for _, f := range r.Checks {
		if form == Brief && (f.Status == Pass || f.Status == Skip) {
			continue
		}
		fmt.Fprintf(&b, "%-5s  %-31s  %s\n", f.Status, f.Name, f.Text)
		if f.Hint != "" && !strings.HasPrefix(f.Name, "package/") {
			fmt.Fprintf(&b, "%40s%s\n", "", f.Hint)
		}
	}
	if len(r.Installed) > 0 {
		fmt.Fprintf(&b, "installed: %s\n", strings.Join(r.Installed, " "))
	}
	if r.Command != "" {
		fmt.Fprintf(&b, "to mend it:\n    %s\n", r.Command)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Form is how much of a report is written.
type Form int

// Full has every check, Brief those to look at.
const (
	Full Form = iota
	Brief
)
