package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// awkward are words that mean something to a shell.
var awkward = []string{
	"", "a b", "it's", `"$HOME"`, "*", "x=y", "~", "-n", "a\nb", "`id`", `\`, "ü", "#", "!", "'", "''", `'\''`, "$(id)", "a;b", "a&b", "a|b", "{a,b}",
	"[a]", "if", "\t", "\r\n", "\xff\xfe", "<a", ">a", "a\\", "$'a'", "%s", "^a", "=a", "a\x00b",
}

func FuzzLine(f *testing.F) {
	for i, w := range awkward {
		f.Add(w, awkward[len(awkward)-1-i])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		line := Line([]string{"printf", "%s|%s|", one, two}) + " " + Quote(one)
		out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		one, two = strings.ReplaceAll(one, "\x00", ""), strings.ReplaceAll(two, "\x00", "")
		if want := one + "|" + two + "|" + one + "||"; string(out) != want {
			t.Errorf("%s: got %q, want %q", line, out, want)
		}
	})
}

func TestLine_leaves_plain_words_alone(t *testing.T) {
	if got := Line([]string{"/opt/muster/bin/muster", "nodes", "--all", "a=b"}); got != "/opt/muster/bin/muster nodes --all 'a=b'" {
		t.Errorf("got %s", got)
	}
}
