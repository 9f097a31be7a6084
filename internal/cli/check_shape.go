package cli

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/docs/ref"
	"github.com/muster-hpc/muster/internal/diag"
)

// checkAnswer is what `muster check -o json` prints.
type checkAnswer struct {
	OK    bool          `json:"ok"`
	Files []checkedFile `json:"files"`
}

// checkedFile is one file and all that is wrong with it.
type checkedFile struct {
	File string `json:"file"`
	// Kind is cluster, workload or script.
	Kind     string `json:"kind"`
	OK       bool   `json:"ok"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Infos    int    `json:"infos"`
	// Blind is how many things were not looked up.
	Blind int `json:"blind"`
	// Fixable is how many of the problems have a fix.
	Fixable int `json:"fixable"`
	// Summary says in words what is in a file without errors.
	Summary string `json:"summary,omitempty"`
	// Fixed are the problems that --fix took away, at their places before, and
	// Diff is the change. With --dry-run the file still has them.
	Fixed    []diag.Diagnostic `json:"fixed,omitempty"`
	Diff     string            `json:"diff,omitempty"`
	Problems []diag.Diagnostic `json:"problems"`

	// before is the text that was read, nil if it could not be; after is the text
	// that --fix made of it.
	before, after []byte
}

const home = "https://github.com/muster-hpc/muster"

// writeSARIF writes the problems for code scanning.
func (a *app) writeSARIF(c *checker) error {
	info, _ := debug.ReadBuildInfo()
	about := ref.About()
	report := diag.Report{
		Tool: "muster", Version: versionOf(info).Version, Home: home, Codes: home + "/blob/main/docs/ref/codes.md",
		About: func(code string) string { return about[code] },
	}
	for _, f := range c.files {
		text := f.before
		if !c.options.dryRun {
			text = f.after
		}
		report.Files = append(report.Files, diag.Findings{File: fromHere(f.File), Text: text, Problems: f.Problems})
	}
	return diag.WriteSARIF(a.out, report)
}

// fromHere is an absolute path as one from the working directory, if it lies
// below it.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// formats are the formats of output that a command has.
func formats(c *cobra.Command) []string {
	return append([]string{"text", "json"}, strings.Fields(c.Annotations[formatsKey])...)
}

// orList is words as a sentence has them: "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
