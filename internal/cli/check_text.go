package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

// writeCheckedText writes what was changed and the sums to stdout, and the
// problems to stderr. The fixed text of the standard input is the whole answer,
// if there is one.
func (a *app) writeCheckedText(c *checker) error {
	for _, f := range c.files {
		if err := a.writeChange(c, f); err != nil {
			return err
		}
	}
	if err := a.writeProblems(c); err != nil {
		return err
	}
	if c.prints() {
		return c.writeSums(a.err)
	}
	return c.writeSums(a.out)
}

// prints reports whether a fixed text goes to stdout.
func (c *checker) prints() bool {
	for _, f := range c.files {
		if f.File == stdinName && c.options.fix && !c.options.dryRun {
			return true
		}
	}
	return false
}

// writeChange shows the changes of a file.
func (a *app) writeChange(c *checker, f checkedFile) error {
	if f.File == stdinName && c.prints() {
		_, err := a.out.Write(f.after)
		return err
	}
	to := a.out
	if c.prints() {
		to = a.err
	}
	change := f.Diff
	if terminal(to) {
		change = page.PrintableLines(change) // elsewhere it stays as it is, so that it can be applied
	}
	_, err := io.WriteString(to, change)
	return err
}

// writeProblems shows the fixes and the problems that are left, and for each file a line
// with the things that were not looked up.
func (a *app) writeProblems(c *checker) error {
	for _, f := range c.files {
		for _, d := range f.Fixed {
			if c.options.dryRun {
				break
			}
			if _, err := fmt.Fprintf(a.err, "%s:%d:%d: fixed: %s [%s]\n", page.Printable(f.File), d.Line, d.Column, page.Printable(d.Fix.Title), d.Code); err != nil {
				return err
			}
		}
	}
	var shown diag.List
	for _, f := range c.files {
		for _, d := range f.Problems {
			if d.Severity != diag.Blind || c.options.verbose {
				shown.Append(d)
			}
		}
	}
	if err := diag.WriteText(a.err, &shown, a.color()); err != nil {
		return err
	}
	for _, f := range c.files {
		if blind := f.unseen(); blind != "" && !c.options.verbose {
			if _, err := fmt.Fprintf(a.err, "%s: blind: %s (-v says more)\n", page.Printable(f.File), page.Printable(blind)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unseen counts in one line the things that were not looked up: "not looked up: 2
// subnets, 1 key pair".
func (f checkedFile) unseen() string {
	var things []string
	for _, d := range f.Problems {
		if d.Severity != diag.Blind {
			continue
		}
		thing := d.Message
		for _, end := range []string{" is not looked up", " are not looked up"} {
			thing, _, _ = strings.Cut(thing, end)
		}
		things = append(things, thing)
	}
	if len(things) == 0 {
		return ""
	}
	return "not looked up: " + strings.Join(things, ", ")
}

func (c *checker) writeSums(w io.Writer) error {
	for _, f := range c.files {
		if _, err := fmt.Fprintf(w, "%s: %s\n", page.Printable(f.File), f.text(c.options)); err != nil {
			return err
		}
	}
	return nil
}

// text is the line that sums a file up.
func (f checkedFile) text(o checkOptions) string {
	var parts []string
	switch {
	case f.OK && f.has("script/unread"):
		parts = append(parts, "not read to its end")
	case f.OK:
		parts = append(parts, "ok")
	}
	if len(f.Fixed) > 0 && !o.dryRun {
		parts = append(parts, fmt.Sprintf("%d fixed", len(f.Fixed)))
	}
	if f.Errors > 0 {
		parts = append(parts, count.Of(f.Errors, "error"))
	}
	if f.Warnings > 0 {
		parts = append(parts, count.Of(f.Warnings, "warning"))
	}
	if last := len(parts) - 1; last >= 0 && f.cut() {
		parts[last] += " and more"
	}
	if f.Summary != "" {
		parts = append(parts, f.Summary)
	}
	return strings.Join(parts, ", ") + f.further(o)
}

// cut reports whether not all problems are shown.
func (f checkedFile) cut() bool { return f.has("file/more") }

func (f checkedFile) has(code string) bool {
	return slices.ContainsFunc(f.Problems, func(d diag.Diagnostic) bool { return d.Code == code })
}

// further says what --fix can do, or could not.
func (f checkedFile) further(o checkOptions) string {
	switch {
	case o.fix && o.dryRun && len(f.Fixed) > 0:
		return fmt.Sprintf("; --fix would fix %d", len(f.Fixed))
	case o.fix && !o.dryRun && f.Fixable > 0 && !f.has("file/write"):
		return fmt.Sprintf("; the fix of %s was not safe", count.Of(f.Fixable, "problem"))
	case !o.fix && f.Fixable > 0:
		name := f.File
		if name == stdinName {
			name = stdin
		}
		more := ""
		if f.cut() {
			more = " and more"
		}
		return fmt.Sprintf("; --fix can fix %d%s: muster check --fix %s", f.Fixable, more, word(name))
	default:
		return ""
	}
}

// word is a path as a shell takes it, and not for an option.
func word(path string) string {
	if strings.HasPrefix(path, "-") && path != stdin {
		path = "./" + path
	}
	if shown := page.Printable(path); shown != path {
		return "$'" + strings.ReplaceAll(shown, "'", `\'`) + "'"
	}
	return shell.Line([]string{path})
}
