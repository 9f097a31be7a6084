package cli

import (
	"strings"
	"testing"
	"time"
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

func TestByteSize(t *testing.T) {
	for _, row := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {1992294 << 20, "1.9 TiB"}, {82153836544, "77 GiB"}, {1<<63 - 1, "8.0 EiB"},
	} {
		if got := byteSize(row.bytes); got != row.want {
			t.Errorf("byteSize(%d) is %s, want %s", row.bytes, got, row.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, row := range []struct {
		span time.Duration
		want string
	}{
		{-time.Second, "0 s"}, {59*time.Second + 999*time.Millisecond, "59 s"}, {61 * time.Second, "1 min"},
		{90 * time.Minute, "1 h 30 min"}, {47 * time.Hour, "47 h 0 min"}, {49 * time.Hour, "2 days"},
	} {
		if got := span(row.span); got != row.want {
			t.Errorf("span(%s) is %s, want %s", row.span, got, row.want)
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
