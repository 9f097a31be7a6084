package templates

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// counting prints for each suite of a file of JUnit's XML what it says of itself, and what its cases come to.
const counting = `
import json, sys
from junitparser import JUnitXml
xml = JUnitXml.fromfile(sys.argv[1])
def cases(suite):
    kinds = [{type(r).__name__ for r in case.result} for case in suite]
    return [len(kinds)] + [sum(kind in k for k in kinds) for kind in ("Failure", "Error", "Skipped")]
print(json.dumps([{"Name": s.name, "Says": [s.tests, s.failures, s.errors, s.skipped], "Has": cases(s)} for s in xml]))
`

// TestJUnit has a reader of Python's world count a verification's report: each suite says of itself what it has.
func TestJUnit(t *testing.T) {
	report := filepath.Join("..", "..", "internal", "verify", "sheet", "testdata", "junit.xml")
	out, err := exec.CommandContext(t.Context(), program(t, "python"), "-c", counting, report).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var suites []struct {
		Name      string
		Says, Has [4]int
	}
	if err := json.Unmarshal(out, &suites); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var all [4]int
	for _, s := range suites {
		if s.Says != s.Has {
			t.Errorf("suite %s says it has %v tests, failures, errors and skips, and has %v", s.Name, s.Says, s.Has)
		}
		for i := range all {
			all[i] += s.Has[i]
		}
	}
	for i, n := range all {
		if n == 0 {
			t.Errorf("the report has none of a kind (%d of tests, failures, errors, skips), and proves nothing of it", i)
		}
	}
}
