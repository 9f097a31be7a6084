package diag

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Report is what a tool found in files, for machines.
type Report struct {
	// Tool, Version and Home say who speaks. Home and Codes are web pages; Codes
	// explains all codes.
	Tool, Version, Home, Codes string
	// About says in one line what a code is for; empty is that it has no such line.
	About func(code string) string
	Files []Findings
}

// Findings are the problems of one file.
type Findings struct {
	// File is its path, relative to where the tool runs if it can be.
	File string
	// Text is needed to show fixes.
	Text     []byte
	Problems []Diagnostic
}

// WriteSARIF writes a report in the form that code scanning services read, SARIF
// 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
func WriteSARIF(w io.Writer, r Report) error {
	run := sarifRun{
		ColumnKind: "utf16CodeUnits",
		Newlines:   []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"},
		Results:    []sarifResult{},
	}
	run.Tool.Driver = sarifDriver{Name: r.Tool, Version: r.Version, URI: r.Home, Rules: []sarifRule{}}
	rules := map[string]int{}
	for _, f := range r.Files {
		for _, d := range f.Problems {
			if _, known := rules[d.Code]; !known {
				rules[d.Code] = len(run.Tool.Driver.Rules)
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, r.rule(d))
			}
			run.Results = append(run.Results, f.result(d, rules[d.Code]))
		}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func (r Report) rule(d Diagnostic) sarifRule {
	about := ""
	if r.About != nil {
		about = r.About(d.Code)
	}
	if about == "" {
		about = plain(d.Message)
	}
	rule := sarifRule{ID: d.Code, Short: sarifText{about}, Full: sarifText{about}, Help: sarifText{about}, HelpURI: r.Codes}
	rule.Configuration.Level = sarifLevel(d.Severity)
	return rule
}

// result is a problem. What could not be looked at is an open question there,
// which has no level.
func (f Findings) result(d Diagnostic, rule int) sarifResult {
	r := sarifResult{RuleID: d.Code, Rule: rule, Kind: "fail", Level: sarifLevel(d.Severity), Message: sarifText{plain(d.Message)}}
	if d.Severity == Blind {
		r.Kind = "open"
	}
	if d.Hint != "" {
		r.Message.Text += "\n" + plain(d.Hint)
	}
	at := sarifLocation{}
	at.Physical.Artifact = artifact(f.File)
	if d.Line > 0 {
		at.Physical.Region = &sarifRegion{StartLine: d.Line, StartColumn: utf16Column(d.Source, d.Column)}
	}
	r.Locations = []sarifLocation{at}
	if d.Fix != nil && f.Text != nil {
		r.Fixes = []sarifFix{f.fix(*d.Fix)}
	}
	return r
}

func sarifLevel(s Severity) string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Info:
		return "note"
	default:
		return "none"
	}
}

func (f Findings) fix(x Fix) sarifFix {
	change := sarifChange{Artifact: artifact(f.File)}
	for _, e := range x.Edits {
		region := sarifRegion{}
		region.StartLine, region.StartColumn = utf16Place(f.Text, e.Start)
		region.EndLine, region.EndColumn = utf16Place(f.Text, e.End)
		change.Replacements = append(change.Replacements, sarifReplacement{Deleted: region, Inserted: sarifText{e.Text}})
	}
	return sarifFix{Description: sarifText{plain(x.Title)}, Changes: []sarifChange{change}}
}

// artifact names a file: a path from the root of the sources, or an address if
// it has one of its own.
func artifact(file string) sarifArtifact {
	if path.IsAbs(file) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: file}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: path.Clean(file)}).String(), Base: "%SRCROOT%"}
}

// utf16Column is a column, counted in characters of a line, in the units that
// SARIF counts; 0 is unknown.
func utf16Column(line string, column int) int {
	n := column
	for i := 1; i < column && line != ""; i++ {
		r, size := utf8.DecodeRuneInString(line)
		n += utf16.RuneLen(r) - 1
		line = line[size:]
	}
	return n
}

// utf16Place is the line and column of a byte. A byte order mark is no column.
func utf16Place(text []byte, at int) (line, column int) {
	before := strings.TrimPrefix(string(text[:min(at, len(text))]), "\ufeff")
	line, column = 1, 1
	for before != "" {
		n := lineBreak(before)
		if n > 0 && !(before == "\r" && at < len(text) && text[at] == '\n') {
			line, column, before = line+1, 1, before[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(before)
		column += utf16.RuneLen(r)
		before = before[size:]
	}
	return line, column
}

// lineBreak is the length of the line break that a text begins with.
func lineBreak(text string) int {
	for _, b := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if strings.HasPrefix(text, b) {
			return len(b)
		}
	}
	return 0
}
