package page

import (
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"gpu-queue-dy-p5e-nodes-1", "gpu-queue-dy-p5e-nodes-1"},
		{"größe 图 \"q\" \\n", "größe 图 \"q\" \\n"},
		{"a\x1b[2J\nb", `a\x1b[2J\nb`},
		{"say \"hi\"\a", `say "hi"\a`},
		{"\u202eexe.txt", `\u202eexe.txt`},
		{"\xff", `\xff`},
		{"", ""},
	} {
		if got := Printable(row.text); got != row.want {
			t.Errorf("Printable(%q) is %s, want %s", row.text, got, row.want)
		}
	}
}

func TestTable(t *testing.T) {
	rows := Table{{"NAME", "STATE", "REASON"}}
	rows.Add("a", "down", "power\tcut")
	rows.Add("longer", "idle", "")
	var b strings.Builder
	if err := rows.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "NAME    STATE  REASON\na       down   power\\tcut\nlonger  idle\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
