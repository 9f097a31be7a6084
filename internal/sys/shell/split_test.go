package shell

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for _, row := range []struct {
		name, line string
		want       []Word
		odd        string
	}{
		{"blanks", "  a\tb \r", []Word{{"a", 2}, {"b", 4}}, ""},
		{"quotes", `'a b'c "d e" ''`, []Word{{"a bc", 0}, {"d e", 7}, {"", 13}}, ""},
		{"single_quotes_keep_all", `'\d "$"'`, []Word{{`\d "$"`, 0}}, ""},
		{"double_quotes_keep_a_backslash", `"\d\"\\\$"`, []Word{{`\d"\$`, 0}}, ""},
		{"backslash", `a\ b \#c`, []Word{{"a b", 0}, {"#c", 5}}, ""},
		{"comment", "a#b #c 'd", []Word{{"a#b", 0}}, ""},
		{"not_expanded", "$HOME ~ *", []Word{{"$HOME", 0}, {"~", 6}, {"*", 8}}, ""},
		{"characters_are_counted", "ü x", []Word{{"ü", 0}, {"x", 2}}, ""},
		{"open_quote", "a 'b", []Word{{"a", 0}}, "nothing ends what this ' begins"},
		{"open_backslash", `a b\`, []Word{{"a", 0}}, "nothing stands behind this backslash"},
		{"operator", "a (?P<step>x)", []Word{{"a", 0}}, "a shell takes this ( for more than a character"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Split(row.line)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if len(got) != len(row.want) || said != row.odd {
				t.Fatalf("got %+v and %q, want %+v and %q", got, said, row.want, row.odd)
			}
			for i := range got {
				if got[i] != row.want[i] {
					t.Errorf("got %+v, want %+v", got, row.want)
				}
			}
		})
	}
}

// FuzzSplit asks a shell what the words of a line are, where it expands nothing.
func FuzzSplit(f *testing.F) {
	for _, w := range awkward {
		f.Add(w)
	}
	f.Add(`--checkpoints='/fsx/a b' --log-pattern="step \d+" # more`)
	f.Add(`a\b "c\d\"" 'e\f'`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Split(line)
		if err != nil || strings.ContainsAny(line, "$`*?[]~\x00\n\r") || !utf8.ValidString(line) {
			return // a shell expands it, or has a meaning of its own for it
		}
		out, failed := exec.Command("/bin/sh", "-c", "printf '%s|' "+line).CombinedOutput()
		if failed != nil {
			t.Fatalf("%q: %v: %s", line, failed, out)
		}
		want := ""
		for _, w := range words {
			want += w.Text + "|"
		}
		if len(words) == 0 {
			want = "|"
		}
		if string(out) != want {
			t.Errorf("%q: the shell has %q, want %q", line, out, want)
		}
	})
}

func FuzzSplit_reads_what_Line_writes(f *testing.F) {
	for i, w := range awkward {
		f.Add(w, awkward[len(awkward)-1-i])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if strings.Contains(one+two, "\x00") || !utf8.ValidString(one) || !utf8.ValidString(two) {
			return
		}
		line := Line([]string{"x", one, two})
		got, err := Split(line)
		if err != nil || len(got) != 3 || got[1].Text != one || got[2].Text != two {
			t.Errorf("%s: got %+v, %v", line, got, err)
		}
	})
}
