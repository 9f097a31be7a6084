package spec_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// scalarRow is what ParallelCluster makes of a value: as JSON for each type,
// "-" for refused, "!" for a file that cannot be read.
type scalarRow struct {
	yaml                              string
	text, integer, float, truth, conf string
}

func scalarRows(t *testing.T) []scalarRow {
	t.Helper()
	var rows []scalarRow
	for line := range strings.Lines(read(t, "testdata/parallelcluster/scalars.tsv")) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		var decoded string
		if json.Unmarshal([]byte(c[1]), &decoded) == nil {
			c[1] = encode(decoded)
		}
		row := scalarRow{text: c[1], integer: c[2], float: c[3], truth: c[4], conf: c[5]}
		if err := json.Unmarshal([]byte(c[0]), &row.yaml); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if len(rows) < 150 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}

// otherScalars are values that muster reads in another way, on purpose.
var otherScalars = map[string]string{
	"text !!binary eA==":           "bytes as a text are refused",
	"conf !!binary eA==":           "bytes are refused",
	"integer 99999999999999999999": "numbers beyond 64 bits are refused",
	"integer \"\\u0661\"":          "digits are ASCII",
	"float \"\\u0661\"":            "digits are ASCII",
	"float 99999999999999999999":   "numbers beyond 64 bits are refused",
	"conf \"nan\"":                 "it looks like what is no number",
	"float -12":                    "a price is not negative",
	"float -.5":                    "a price is not negative",
	"float -1:30":                  "a price is not negative",
	"float -1.0":                   "a price is not negative",
	"float \"-1\"":                 "a price is not negative",
}

// TestScalars_are_read_as_ParallelCluster_reads_them compares what values mean
// with what ParallelCluster's own loader and schema make of them.
func TestScalars_are_read_as_ParallelCluster_reads_them(t *testing.T) {
	readers := []struct {
		name, file, path string
		want             func(scalarRow) string
		value            func(spec.View) string
	}{
		{"text", "Region: %s\n", "Region", func(r scalarRow) string { return r.text }, func(v spec.View) string { return encode(v.Text()) }},
		{"integer", "HeadNode:\n  Dcv:\n    Port: %s\n", "HeadNode.Dcv.Port", func(r scalarRow) string { return r.integer }, func(v spec.View) string { return strconv.Itoa(v.Int()) }},
		{"float", "Scheduling:\n  SlurmQueues:\n    - ComputeResources:\n        - SpotPrice: %s\n", "Scheduling.SlurmQueues", func(r scalarRow) string { return r.float }, price},
		{"truth", "Monitoring:\n  DetailedMonitoring: %s\n", "Monitoring.DetailedMonitoring", func(r scalarRow) string { return r.truth }, func(v spec.View) string { return strconv.FormatBool(v.Bool()) }},
	}
	for _, row := range scalarRows(t) {
		for _, reader := range readers {
			if _, other := otherScalars[reader.name+" "+row.yaml]; other {
				continue
			}
			text := fmt.Sprintf(reader.file, strings.ReplaceAll(row.yaml, "\n  ", "\n            "))
			f := spec.OpenText("cluster.yaml", []byte(text), spec.Options{})
			got := "-"
			if root, ok := f.Root(); ok && clean(f.Problems, reader.path) {
				got = reader.value(root.At(reader.path))
			}
			if want := strings.Replace(reader.want(row), "!", "-", 1); got != want {
				t.Errorf("%s %s: got %s, want %s", reader.name, encode(row.yaml), got, want)
			}
		}
	}
}

// price is the float of a list's first item, as Python writes it.
func price(queues spec.View) string {
	v := queues.Items()[0].Key("ComputeResources").Items()[0].Key("SpotPrice")
	if !v.Sound() {
		return "-"
	}
	if f := v.Float(); f == math.Trunc(f) && math.Abs(f) < 1e16 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(v.Float(), 'g', -1, 64)
}

// noSetting is what muster does not write into slurm.conf: nothing, dates, what
// is no number, comments and several lines.
var noSetting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^None$|^\d{4}-\d\d-\d\d( |$)|^-?inf$|^nan$|#|\n`)
})

// TestSettings_are_written_as_ParallelCluster_writes_them holds that slurm.conf
// gets the same text.
func TestSettings_are_written_as_ParallelCluster_writes_them(t *testing.T) {
	for _, row := range scalarRows(t) {
		if _, other := otherScalars["conf "+row.yaml]; other {
			continue
		}
		value := strings.ReplaceAll(row.yaml, "\n  ", "\n          ")
		c, problems := spec.Parse("cluster.yaml", []byte(replace(t, "ScaledownIdletime: 5", "CustomSlurmSettings:\n      - Setting: "+value)))
		got, want := "-", "-"
		if c != nil {
			got = c.Scheduling.Slurm.Custom[0].Value
		}
		if err := json.Unmarshal([]byte(row.conf), &want); err == nil && noSetting().MatchString(want) {
			want = "-"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q\n%s", encode(row.yaml), got, want, text(t, problems))
		}
	}
}

func encode(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// clean reports whether no error is at a path, and none about YAML.
func clean(l *diag.List, path string) bool {
	return !slices.ContainsFunc(l.All(), func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && (d.Path == path || strings.HasPrefix(d.Code, "yaml/"))
	})
}

// otherDocuments are those that muster reads in another way, on purpose.
var otherDocuments = map[string]string{
	"Tags: &t [*t]\n":          "a value that holds itself is nothing to work with",
	"Image: !!set {a, b}\n":    "the schema has no place for a set",
	"Tags: !!omap [a: 1]\n":    "the schema has no place for an ordered map",
	"Image: {1: a, true: b}\n": "keys that are no texts are refused one by one",
	"a: \"b\"#c\n":             "a comment needs a blank before it",
	"a: [b]#c\n":               "a comment needs a blank before it",
	":\n":                      "a key that is nothing is refused as a key",
	": a\n":                    "a key that is nothing is refused as a key",
	"{: a}\n":                  "a key that is nothing is refused as a key",
	"a: &x.y b\n":              "PyYAML wants plain letters in names, which is hard to tell and rare",
	"{a\n b: c}\n":             "a key of two lines is no key of a cluster file",
	"{\"a\n b\": c}\n":         "a key of two lines is no key of a cluster file",
	"a: \"\\ud800\"\n":         "half a character is none",
	"[-, a]\n":                 "a lone hyphen in brackets is rare",
	"a: [a?b]\n":               "a question mark in brackets is rare",
	"{a?: b}\n":                "a question mark in brackets is rare",
	"...\na: b\n":              "the end of a document before its start is no matter",
	"%a b\n---\nc: d\n":        "directives are YAML's own",
	"%YAML 1.10\n---\na: b\n":  "there is no YAML 1.10",
	"a: !!binary\n":            "bytes are refused",
}

// TestDocuments_are_read_as_ParallelCluster_reads_them compares which texts are
// YAML at all.
func TestDocuments_are_read_as_ParallelCluster_reads_them(t *testing.T) {
	rows := 0
	for line := range strings.Lines(read(t, "testdata/parallelcluster/documents.tsv")) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var data string
		if strings.HasPrefix(line, "#") || json.Unmarshal([]byte(c[0]), &data) != nil || otherDocuments[data] != "" || len(data) > 1024 {
			continue // PyYAML takes no keys of more than 1024 characters
		}
		if c[1] == "null" { // an empty file, which ParallelCluster refuses later
			c[1] = "-"
		}
		rows++
		f := spec.OpenText("cluster.yaml", []byte(data), spec.Options{AWS: true})
		refused := slices.ContainsFunc(f.Problems.All(), func(d diag.Diagnostic) bool {
			return d.Severity == diag.Error && (strings.HasPrefix(d.Code, "yaml/") || strings.HasPrefix(d.Code, "file/"))
		})
		if want := c[1] == "-"; refused != want {
			t.Errorf("%s: refused: %v, want %v; it is %s\n%s", c[0], refused, want, c[1], text(t, f.Problems))
		}
	}
	if rows < 150 {
		t.Errorf("%d documents", rows)
	}
}
