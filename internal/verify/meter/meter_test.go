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
		"ior/*.*":        func(b []byte) any { return ReadIOR(b) },
		"mdtest/*.*":     func(b []byte) any { return ReadMdtest(b) },
		"fio/*.*":        func(b []byte) any { return ReadFio(b) },
		"nccl-debug/*.*": func(b []byte) any { return ReadNCCL(b) },
		"fi_info/*.*":    func(b []byte) any { return ReadFiInfo(b) },
		"dcgm/*.*":       func(b []byte) any { return ReadDCGM(b) },
		"chrony/tr*.*":   func(b []byte) any { return ReadChrony(b) },
		"chrony/ti*.*":   func(b []byte) any { return ReadTimedatectl(b) },

		"nvidia-smi/query*.*":  func(b []byte) any { return ReadGPUQuery(b) },
		"nvidia-smi/util*.*":   func(b []byte) any { return ReadGPUQuery(b) },
		"nvidia-smi/list*.*":   func(b []byte) any { return ReadGPUList(b) },
		"nvidia-smi/*nvlink*":  func(b []byte) any { return ReadNVLinks(b) },
		"nvidia-smi/topo*.*":   func(b []byte) any { return ReadTopology(b) },
		"nvidia-smi/fabric*.*": func(b []byte) any { return ReadFabricLog(b) },
		"nvidia-smi/lspci*.*":  func(b []byte) any { return ReadPCI(b) },
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

// TestDamaged cuts outputs at each line and in the midst of lines, and has binary data in them: nothing panics.
func TestDamaged(t *testing.T) {
	for pattern, read := range readers() {
		for _, text := range samples(t, pattern) {
			for at := range len(text) {
				if text[at] != '\n' && at%37 != 0 {
					continue
				}
				read(text[:at])
				noise := append(append(append([]byte{}, text[:at]...), 0, 0xff, 0x1b, '[', 0x80), text[at:]...)
				read(noise)
			}
			read(bytes.Repeat(text, 3))
		}
	}
}

// TestCut: an output that ends before what every output of its program ends with is never whole.
func TestCut(t *testing.T) {
	for pattern, mark := range map[string]string{
		"nccl-tests/*.log": "Avg bus", "nccl-tests/mixed*": "Avg bus", "nccl-tests/*.json": "}", "ior/*iter.txt": "Finished ", "ior/*.json": "}", "mdtest/*iter.txt": "-- finished",
		"fio/w*.json": "}", "fio/g*.json": "}", "dcgm/*fail*.json": "}", "dcgm/*text*": "+----",
	} {
		read := reader(t, pattern)
		for path, text := range samples(t, pattern) {
			end := bytes.LastIndex(text, []byte(mark))
			if end < 0 {
				t.Fatalf("%s has no %q", path, mark)
			}
			for at := 0; at < end; at += 1 + len(text)/1500 {
				if v := read(text[:at]); reflect.ValueOf(v).FieldByName("Whole").Bool() {
					t.Fatalf("%s is whole after %d of %d bytes:\n%s", path, at, len(text), plain(v))
				}
			}
		}
	}
}

// reader is the one for a pattern's directory.
func reader(t *testing.T, pattern string) func([]byte) any {
	t.Helper()
	dir, _, _ := strings.Cut(pattern, "/")
	read, ok := readers()[dir+"/*.*"]
	if !ok {
		t.Fatalf("no reader for %s", pattern)
	}
	return read
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
