// Package pyxis holds what Pyxis' own tests say of muster to what the record and the documents say. `run` makes them say it.
package pyxis

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// row is a line of the record: a test, and how it ends as root and as an ordinary user.
type row struct {
	file, test string
	ends       [2]string
}

var users = [2]string{"root", "user"}

// record reads the record. Lines that begin with # say what it is.
func record(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile("testdata/record.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			t.Fatalf("%q has not four fields", line)
		}
		rows = append(rows, row{file: f[0], test: f[1], ends: [2]string{f[2], f[3]}})
	}
	return rows
}

func TestRecord_says_why_what_is_not_ok(t *testing.T) {
	for _, r := range record(t) {
		for i, end := range r.ends {
			how, why, _ := strings.Cut(end, ": ")
			if end != "ok" && (how != "does not apply" && how != "open" || why == "") {
				t.Errorf("%s, %s, as %s: %q is neither ok, nor does it say why it does not apply or is open", r.file, r.test, users[i], end)
			}
		}
	}
}

// document has the tables between two lines.
const (
	document = "../../docs/containers.md"
	begin    = "<!-- of test/pyxis/testdata/record.tsv -->\n"
	end      = "<!-- end -->\n"
)

func TestDocument_has_the_record(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), begin)
	have, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the record", document)
	}
	want := tables(record(t))
	if golden.Updating() {
		if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s differs from the record; go test ./test/pyxis -update writes it (-record +document):\n%s", document, diff)
	}
}

// tables are how many tests of each file pass, and why the others do not.
func tables(rows []row) string {
	var b strings.Builder
	b.WriteString("| file | tests | pass as root | pass as a user |\n| --- | --- | --- | --- |\n")
	var total tally
	for _, c := range tallies(rows) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", c.file, c.tests, c.passed[0], c.passed[1])
		total.tests += c.tests
		for i := range total.passed {
			total.passed[i] += c.passed[i]
		}
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d |\n\n", total.tests, total.passed[0], total.passed[1])
	b.WriteString("| test | as | why not |\n| --- | --- | --- |\n")
	for _, r := range rows {
		b.WriteString(r.reasons())
	}
	return b.String()
}

// tally counts the tests of a file.
type tally struct {
	file   string
	tests  int
	passed [2]int
}

func tallies(rows []row) []tally {
	var all []tally
	for _, r := range rows {
		if len(all) == 0 || all[len(all)-1].file != r.file {
			all = append(all, tally{file: r.file})
		}
		last := &all[len(all)-1]
		last.tests++
		for i, end := range r.ends {
			if end == "ok" {
				last.passed[i]++
			}
		}
	}
	return all
}

// reasons are the lines about a test that somebody cannot pass.
func (r row) reasons() string {
	test := strings.ReplaceAll(r.file+": "+r.test, "|", `\|`)
	if r.ends[0] == r.ends[1] && r.ends[0] != "ok" {
		return fmt.Sprintf("| %s | both | %s |\n", test, r.ends[0])
	}
	var b strings.Builder
	for i, end := range r.ends {
		if end != "ok" {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", test, users[i], end)
		}
	}
	return b.String()
}
