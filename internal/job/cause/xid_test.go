package cause

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rows reads a table of testdata by its codes.
func rows(t *testing.T, path string) map[int][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int][]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		code, err := strconv.Atoi(cells[0])
		if err != nil || all[code] != nil {
			t.Fatalf("%s: %q", path, line)
		}
		all[code] = cells
	}
	return all
}

// TestXidTable has every code that NVIDIA's catalogue has, with NVIDIA's action, and nothing else.
func TestXidTable(t *testing.T) {
	catalogue := rows(t, "testdata/nvidia-xid-catalog.tsv")
	if len(catalogue) < 100 || len(xids()) != len(catalogue) {
		t.Errorf("%d rows for %d codes", len(xids()), len(catalogue))
	}
	for code, cells := range catalogue {
		x, ok := xids()[code]
		if !ok || x.action != cells[3] || x.says == "" {
			t.Errorf("Xid %d: got %+v, NVIDIA has %q", code, x, cells)
		}
		condemns := x.effect == nodeEffect || x.effect == fatalEffect || x.effect == recoveryEffect
		if !slices.Contains([]effect{noEffect, programEffect}, x.effect) && !condemns || condemns != x.class.hardware() {
			t.Errorf("Xid %d: %+v", code, x)
		}
	}
}

// TestXidTable_agrees_with_NVIDIA but where the table's head says otherwise, and why.
func TestXidTable_agrees_with_NVIDIA(t *testing.T) {
	otherwise := map[int]string{
		43: "program: it tells of a program's end", 137: "program: it tells of a program's end", 159: "program: it tells of a program's end",
		45: "none: it comes with every program that is killed", 63: "node: the row is in use until the reset", 94: "node: the memory is in use until the reset",
		142: "none: NVIDIA names no immediate action but to ask", 78: "none: there are no virtual GPUs in jobs",
		163: "", 162: "", 164: "", 165: "", 166: "", 167: "", 168: "", 169: "", 170: "", 171: "", 172: "", // no action there yet
	}
	meant := map[string]effect{
		"RESTART_APP": programEffect, "IGNORE": noEffect, "RESET_GPU": nodeEffect, "RESTART_BM": nodeEffect, "RESTART_VM": nodeEffect,
		"CHECK_MECHANICALS": nodeEffect, "WORKFLOW_XID_48": nodeEffect, "WORKFLOW_NVLINK_ERR": nodeEffect, "WORKFLOW_NVLINK5_ERR": fatalEffect, "XID_154": recoveryEffect,
	}
	for code, x := range xids() {
		agrees := meant[x.action] == x.effect
		if _, told := otherwise[code]; agrees == told {
			t.Errorf("Xid %d: NVIDIA says %s, we %s; told that we differ: %t", code, x.action, x.effect, told)
		}
	}
}

// TestXidTable_agrees_with_gpud, a second judge: what it has a machine rebooted or looked at for, we
// hold against the node. Where we do not agree stands why.
func TestXidTable_agrees_with_gpud(t *testing.T) {
	const (
		theProgram = "NVIDIA says RESTART_APP: the program caused it, most often"
		ignored    = "NVIDIA says IGNORE"
		unused     = "NVIDIA's catalogue calls the code unused on GPUs from Ampere on"
		newer      = "NVIDIA's catalogue does not have it"
		reset      = "NVIDIA says RESET_GPU"
	)
	otherwise := map[int]string{
		9: unused, 12: unused, 16: unused, 18: unused, 19: unused, 26: unused, 27: unused, 28: unused, 29: unused, 30: unused, 33: unused, 34: unused,
		35: unused, 36: unused, 42: unused, 47: unused, 59: unused, 61: unused, 65: unused, 81: unused, 123: unused, 173: newer,
		31: theProgram + "; gpud looks at the machine only when it comes again", 32: theProgram, 60: theProgram, 68: theProgram, 69: theProgram,
		38: ignored, 44: ignored, 121: ignored + ": the error was corrected",
		78:  "a virtual GPU's driver does not fit; jobs have none",
		54:  "NVIDIA has the power cable looked at",
		109: reset, 136: reset,
		154: "the line says whether a reset is needed; gpud looks at the Xid that it comes with",
		163: "it loses no memory and ends no run",
	}
	judge := rows(t, "testdata/gpud-xid.tsv")
	codes := map[int]bool{}
	for code := range judge {
		codes[code] = true
	}
	for code := range xids() {
		codes[code] = true
	}
	for code := range codes {
		cells := judge[code]
		theirs := len(cells) > 0 && (cells[1] == "Fatal" || strings.Contains(cells[2], "RebootSystem") || strings.Contains(cells[2], "HardwareInspection"))
		ours := xids()[code].class.hardware()
		if why, told := otherwise[code]; (theirs != ours) != told || told && why == "" {
			t.Errorf("Xid %d: gpud %t (%q), we %t; a reason to differ: %q", code, theirs, cells, ours, why)
		}
	}
}

// TestTable_names_the_Xids that are held against a node.
func TestTable_names_the_Xids(t *testing.T) {
	for code, x := range xids() {
		if !x.class.hardware() || x.effect == fatalEffect {
			continue
		}
		named := slices.Contains(strings.FieldsFunc(x.class.row().Signs, func(r rune) bool { return r < '0' || r > '9' }), strconv.Itoa(code))
		if !named {
			t.Errorf("the signs of %s do not name Xid %d", x.class, code)
		}
	}
}
