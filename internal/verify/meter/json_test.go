package meter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDecode has JSON as programs break it.
func TestDecode(t *testing.T) {
	type doc struct {
		A    int
		List []struct{ N int }
		Last string
	}
	whole := `{"A": 1, "List": [{"N": 1}, {"N": 2}], "Last": "x"}`
	for name, row := range map[string]struct {
		text string
		want string // what is read of it, as compact writes it
	}{
		"whole":         {whole, `{"A":1,"List":[{"N":1},{"N":2}],"Last":"x"}`},
		"no_comma":      {strings.Replace(whole, "}, {", "}\n {", 1), `{"A":1,"List":[{"N":1},{"N":2}],"Last":"x"}`},
		"no_comma_name": {strings.Replace(whole, `], "Last`, `] "Last`, 1), `{"A":1,"List":[{"N":1},{"N":2}],"Last":"x"}`},
		"cut":           {whole[:30], `{"A":1,"List":[{"N":1}],"Last":""}`},
		"cut_number":    {`{"A": 12`, `{"A":0,"List":null,"Last":""}`},
		"cut_string":    {whole[:len(whole)-3], `{"A":1,"List":[{"N":1},{"N":2}],"Last":""}`},
		"garbage":       {`{"A": 1, "List": [{"N": 1}, NaN, {"N": 2}]}`, `{"A":1,"List":[{"N":1}],"Last":""}`},
		"other_type":    {`{"A": "1", "Last": "x"}`, `{"A":0,"List":null,"Last":"x"}`},
		"wrong_bracket": {`{"A": 1, "List": [{"N": 1}}, "Last": "x"}`, `{"A":1,"List":[{"N":1}],"Last":""}`},
		"nothing":       {`{`, `{"A":0,"List":null,"Last":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reading{Whole: true}
			var got doc
			r.decode([]byte(row.text), &got)
			if diff := cmp.Diff(row.want, compact(got)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", r.Problems, diff)
			}
			if r.Whole != (name == "whole") {
				t.Errorf("whole is %v: %q", r.Whole, r.Problems)
			}
		})
	}
}

// TestDocument finds a document between other lines.
func TestDocument(t *testing.T) {
	for text, want := range map[string]string{
		"Warning: {x}\n{\"mark\": 1}\nbye {\n": `{"mark": 1}`,
		"\xef\xbb\xbf  \r\n {\"mark\": \"}\"}": `{"mark": "}"}`,
		"{\"other\": 1}":                       "",
		"{\"mark\": [1,":                       `{"mark": [1,`,
		"":                                     "",
		"\n\n":                                 "",
	} {
		if got, ok := document([]byte(text), `"mark"`); string(got) != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}
