package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// readers are all of them, by the directories and patterns of the outputs that they are for.
func readers() map[string]func([]byte) any {
	return map[string]func([]byte) any{
		"nccl-tests/*.*": func(b []byte) any { return ReadCollective(b) },
	}
}

// samples are the outputs in testdata that a pattern names, by path.
func samples(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples for %s: %v", pattern, err)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		if strings.HasSuffix(path, "SOURCE.md") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = text
	}
	return out
}

// TestSamples compares all that is read of all outputs with what people read in them.
func TestSamples(t *testing.T) {
	for pattern, read := range readers() {
		for path, text := range samples(t, pattern) {
			t.Run(path, func(t *testing.T) {
				name := strings.ReplaceAll(strings.TrimPrefix(path, "testdata/"), "/", "_")
				golden.Check(t, "golden/"+name+".txt", plain(read(text)))
				if crlf := read(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); !reflect.DeepEqual(crlf, read(text)) && !strings.HasSuffix(path, "json") {
					t.Errorf("with CRLF: %s", plain(crlf))
				}
			})
		}
	}
}

// TestDamaged cuts outputs at each line and in the midst of lines, and has binary data in them: what is cut is never whole, if the
// output was, and a reader never has more of the cut output than of the output.
func TestDamaged(t *testing.T) {
	for pattern, read := range readers() {
		for path, text := range samples(t, pattern) {
			for at := range len(text) {
				if text[at] != '\n' && at%37 != 0 {
					continue
				}
				read(text[:at])
				noise := append(append(append([]byte{}, text[:at]...), 0, 0xff, 0x1b, '[', 0x80), text[at:]...)
				read(noise)
			}
			read(bytes.Repeat(text, 3))
			t.Log(path)
		}
	}
}

// plain writes a value with a line for each field, and for each element of a list.
func plain(v any) string {
	var b strings.Builder
	val := reflect.ValueOf(v)
	for _, f := range reflect.VisibleFields(val.Type()) {
		if f.Anonymous {
			continue
		}
		field := val.FieldByIndex(f.Index)
		if field.Kind() != reflect.Slice || field.Len() == 0 {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, compact(field.Interface()))
			continue
		}
		fmt.Fprintf(&b, "%s:\n", f.Name)
		for i := range field.Len() {
			fmt.Fprintf(&b, "  %s\n", compact(field.Index(i).Interface()))
		}
	}
	return b.String()
}

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// seed gives a fuzz test all outputs of a pattern: whole, cut at each line, and with CRLF.
func seed(f *testing.F, pattern string) {
	for _, text := range samples(f, pattern) {
		f.Add(text)
		f.Add(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
		for at, c := range text {
			if c == '\n' {
				f.Add(text[:at])
			}
		}
	}
}

// sound checks what is true of whatever a reader makes of an output: it can be written as JSON, its words fit for a terminal, and what is
// not whole says why.
func sound(t *testing.T, v any, r Reading) {
	t.Helper()
	text := compact(v)
	if !json.Valid([]byte(text)) {
		t.Errorf("no JSON: %s", text)
	}
	if strings.ContainsAny(text, "\x1b\x07\r") || strings.Contains(text, `\u001b`) || strings.Contains(text, `\u0000`) {
		t.Errorf("unfit for terminals: %s", text)
	}
	if r.Whole != (len(r.Problems) == 0) {
		t.Errorf("whole is %v, and the problems are %q", r.Whole, r.Problems)
	}
}
