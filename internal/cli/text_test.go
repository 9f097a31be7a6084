package cli

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
		if got := printable(row.text); got != row.want {
			t.Errorf("printable(%q) is %s, want %s", row.text, got, row.want)
		}
	}
}

func TestTable(t *testing.T) {
	rows := table{{"NAME", "STATE", "REASON"}}
	rows.add("a", "down", "power\tcut")
	rows.add("longer", "idle", "")
	var b strings.Builder
	if err := rows.write(&b); err != nil {
		t.Fatal(err)
	}
	want := "NAME    STATE  REASON\na       down   power\\tcut\nlonger  idle\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
