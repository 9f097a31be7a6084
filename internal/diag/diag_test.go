package diag_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// sample has one problem of each kind that is hard to show.
func sample() *diag.List {
	l := &diag.List{Locate: func(path string) diag.Place {
		return diag.Place{File: "cluster.yaml", Line: 7, Column: 3, Source: "  Instancetype: c6i.4xlarge"}
	}}
	at := func(line, column int, source string) diag.Place {
		return diag.Place{File: "cluster.yaml", Line: line, Column: column, Source: source}
	}
	l.Errorf("schema/unknown", "HeadNode.Instancetype", "%q is not a key of HeadNode", "Instancetype").
		WithHint("did you mean %s?", "InstanceType")
	l.Warnf("demo/tab", "A", "a tab stands before the value").At(at(20, 5, "A:\t\tvalue"))
	l.Infof("demo/wide", "B", "wide characters").At(at(21, 5, "한글: 값"))
	l.Blindf("demo/blind", "", "nobody answered").At(diag.Place{})
	l.Errorf("demo/long", "C", "far to the right").At(at(22, 5001, strings.Repeat("x", 5000)+"!"+strings.Repeat("y", 5000)))
	l.Errorf("demo/control", "D", "an escape sequence: %s", "\x1b[2Jgone\r\n").At(at(23, 4, "D: \x1b[2J\xff\u202e\u0085end"))
	l.Errorf("demo/beyond", "E", "a column beyond the end").At(at(24, 9, "E:"))
	l.Errorf("demo/nosource", "F", "no source").At(diag.Place{File: "other\n.yaml", Line: 1})
	return l
}

func TestWriteText(t *testing.T) {
	for _, row := range []struct {
		golden string
		color  bool
	}{{"plain.txt", false}, {"color.txt", true}} {
		t.Run(row.golden, func(t *testing.T) {
			var b strings.Builder
			if err := diag.WriteText(&b, sample(), row.color); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, row.golden, b.String())
		})
	}
}

func TestDiagnostic_JSON(t *testing.T) {
	want := diag.Diagnostic{
		Severity: diag.Warning, Code: "queue/count", Message: "m", Hint: "h",
		Place: diag.Place{File: "f", Line: 1, Column: 2, Path: "A.B", Source: "s"},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"severity":"warning","code":"queue/count","file":"f","line":1,"column":2,"path":"A.B","source":"s","message":"m","hint":"h"}`
	if string(data) != text {
		t.Errorf("got %s\nwant %s", data, text)
	}
	var got diag.Diagnostic
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("back from JSON (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"severity":"fatal"}`), &got); err == nil {
		t.Error("an unknown severity is accepted")
	}
}

func TestList_sorts_by_place_and_keeps_order(t *testing.T) {
	var l, other diag.List
	other.Errorf("c4", "", "d").At(diag.Place{File: "b", Line: 1})
	l.Errorf("c2", "", "b").At(diag.Place{File: "a", Line: 9, Column: 2})
	l.Errorf("c3", "", "c").At(diag.Place{File: "a", Line: 9, Column: 2})
	l.Append(other.All()...)
	l.Infof("c1", "", "a").At(diag.Place{File: "a", Line: 3})
	var got []string
	for _, d := range l.All() {
		got = append(got, d.Code)
	}
	if diff := cmp.Diff([]string{"c1", "c2", "c3", "c4"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestList_Err(t *testing.T) {
	var l diag.List
	if err := l.Err(); err != nil {
		t.Errorf("empty list: %v", err)
	}
	if err := (*diag.List)(nil).Err(); err != nil {
		t.Errorf("nil list: %v", err)
	}
	l.Warnf("w", "", "only a warning")
	if err := l.Err(); err != nil {
		t.Errorf("warning: %v", err)
	}
	l.Errorf("e", "A", "first").At(diag.Place{File: "f", Line: 2, Column: 1})
	l.Errorf("e", "A", "second").At(diag.Place{File: "f", Line: 4, Column: 1})
	err := l.Err()
	if err == nil || err.Error() != "f:2:1: first (and 1 more)" {
		t.Errorf("got %v", err)
	}
	var back *diag.List
	if !errors.As(err, &back) || back.Count(diag.Error) != 2 {
		t.Errorf("the list is lost in %v", err)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"InstanceType", "Instances", "MaxCount", "MinCount", "Name", "Efa"}
	for word, want := range map[string]string{
		"Instancetype": "InstanceType", "InstancType": "InstanceType", "MacCount": "MaxCount", "Nmae": "Name",
		"EFA": "Efa", "Color": "", "": "", strings.Repeat("x", 1000): "",
	} {
		if got := diag.Nearest(word, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// FuzzWriteText holds that nothing in a file reaches the terminal as a control
// sequence, and that output is bounded and valid UTF-8.
func FuzzWriteText(f *testing.F) {
	f.Add("file", "message", "source", "hint", 3)
	f.Add("f\x1b[", "\xff\n", "\t\t한글\x00", "\u202e", 100000)
	f.Fuzz(func(t *testing.T, file, message, source, hint string, column int) {
		var l diag.List
		l.Errorf("c", "p", "%s", message).WithHint("%s", hint).
			At(diag.Place{File: file, Line: 1, Column: column, Source: source})
		var b strings.Builder
		if err := diag.WriteText(&b, &l, false); err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(b.String()) || strings.Count(b.String(), "\n") > 4 || b.Len() > 60000 {
			t.Errorf("%d bytes: %.200q", b.Len(), b.String())
		}
		for _, r := range b.String() {
			if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0) {
				t.Fatalf("control character %U in %q", r, b.String())
			}
		}
	})
}
