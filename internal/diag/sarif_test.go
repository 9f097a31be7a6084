package diag_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func report() diag.Report {
	text := "\ufeff한글: {😀: x, Os: a}\r\nB: c\r\n"
	var l diag.List
	l.Errorf("schema/value", "Os", "Os cannot be %q\x1b", "a").WithHint("write b").
		At(diag.Place{File: "a b/cluster.yaml", Line: 1, Column: 14, Source: "한글: {😀: x, Os: a}"}).
		WithFix(&diag.Fix{Title: "write b instead of a", Edits: []diag.Edit{
			{Start: strings.Index(text, "a}"), End: strings.Index(text, "}"), Text: "b"},
			{Start: strings.Index(text, "B"), End: strings.Index(text, "B"), Text: "D: e\r\n"},
		}})
	l.Warnf("schema/value", "B", "a second one").At(diag.Place{File: "a b/cluster.yaml", Line: 2, Column: 1, Source: "B: c"})
	l.Infof("x/info", "", "worth knowing").At(diag.Place{File: "a b/cluster.yaml", Line: 1})
	l.Blindf("aws/subnet", "", "1 subnet is not looked up").At(diag.Place{File: "a b/cluster.yaml"})
	return diag.Report{
		Tool: "muster", Version: "v1", Home: "https://github.com/muster-hpc/muster",
		Codes: "https://github.com/muster-hpc/muster/blob/main/docs/ref/codes.md",
		About: func(code string) string { return map[string]string{"schema/value": "… cannot be …"}[code] },
		Files: []diag.Findings{
			{File: "a b/cluster.yaml", Text: []byte(text), Problems: l.All()},
			{File: "/abs/muster.yaml"},
			{File: "../up.yaml", Problems: []diag.Diagnostic{{Severity: diag.Error, Code: "file/missing", Message: "there is no such file"}}},
			{File: "/abs/other.yaml", Problems: []diag.Diagnostic{{Severity: diag.Error, Code: "file/missing", Message: "there is no such file"}}},
		},
	}
}

func TestWriteSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := diag.WriteSARIF(&b, report()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "report.sarif", b.String())
	valid(t, b.Bytes())
}

func TestWriteSARIF_nothing(t *testing.T) {
	var b bytes.Buffer
	if err := diag.WriteSARIF(&b, diag.Report{Tool: "muster"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("a run without results must say so:\n%s", b.String())
	}
	valid(t, b.Bytes())
}

// valid holds a report against the schema of SARIF.
func valid(t *testing.T, report []byte) {
	t.Helper()
	file, err := os.Open("testdata/sarif/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	schema, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(report, &value); err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Error(err)
	}
	value.(map[string]any)["version"] = "3"
	if compiled.Validate(value) == nil {
		t.Error("the schema takes anything")
	}
}

func TestWriteGitHub(t *testing.T) {
	l := sample()
	l.Errorf("a/b", "X", "100%%: a, b").WithHint("two\nlines").At(diag.Place{File: "a,b:c%.yaml", Line: 3, Column: 4})
	var b strings.Builder
	if err := diag.WriteGitHub(&b, l); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "github.txt", b.String())
}

// FuzzWriteReports holds that output for machines stays whole, whatever a file
// has: a command is one line, and SARIF is JSON with places that can be.
func FuzzWriteReports(f *testing.F) {
	f.Add("file", "message", "source", "text", 3, 1, 2)
	f.Add("a,b:\n", "::error::%0A\r\n", "\t한글😀\x00", "\ufeff😀\r\n\xff\u2028", 100000, 3, 9)
	f.Fuzz(func(t *testing.T, file, message, source, text string, column, start, end int) {
		var l diag.List
		l.Errorf("c/d", "p", "%s", message).WithHint("%s", source).
			At(diag.Place{File: file, Line: 1, Column: max(0, column), Source: source}).
			WithFix(&diag.Fix{Title: message, Edits: []diag.Edit{{Start: max(0, min(start, end)), End: max(0, start, end), Text: source}}})
		var b bytes.Buffer
		if err := diag.WriteGitHub(&b, &l); err != nil {
			t.Fatal(err)
		}
		if out := b.String(); strings.Count(out, "\n") != 1 || strings.Count(out, "\r") > 0 || !strings.HasPrefix(out, "::error ") {
			t.Errorf("%q", out)
		}
		b.Reset()
		if err := diag.WriteSARIF(&b, diag.Report{Files: []diag.Findings{{File: file, Text: []byte(text), Problems: l.All()}}}); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) || strings.Contains(b.String(), `Column": -`) {
			t.Errorf("%s", b.String())
		}
	})
}
