package diag_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
)

// small reports every capital letter, with a fix to make it small: an "X" has a
// fix that makes two of it, and a "Y" one that changes another letter.
func small(text []byte) *diag.List {
	var l diag.List
	for i, b := range text {
		edits := []diag.Edit{{Start: i, End: i + 1, Text: strings.ToLower(string(b))}}
		switch {
		case b < 'A' || b > 'Z':
			continue
		case b == 'X':
			edits[0].Text = "XX"
		case b == 'Y' && i > 0:
			edits[0] = diag.Edit{Start: i - 1, End: i, Text: "z"}
		case b == 'W':
			edits = append(edits, diag.Edit{Start: i + 1, End: i + 2, Text: "w"})
		case b == 'N':
			edits = nil
		}
		l.Errorf("letter/"+string(b), "", "%c", b).WithFix(&diag.Fix{Title: "t", Edits: edits})
	}
	return &l
}

func TestMender(t *testing.T) {
	for _, row := range []struct {
		name, before, after string
		fixed, left         int
	}{
		{"nothing", "abc", "abc", 0, 0},
		{"all_at_once", "AbC", "abc", 2, 0},
		{"a_bad_one_among_good_ones", "AXBCD", "aXbcd", 4, 1},
		{"two_bad_ones", "XABCX", "XabcX", 3, 2},
		{"changes_another", "aYb", "aYb", 0, 1},
		{"overlaps", "WABc", "wwbc", 2, 0},
		{"no_fix", "NA", "Na", 1, 1},
		{"beyond_the_text", "aW", "aW", 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := diag.Mender{Check: small}
			done := m.Mend([]byte(row.before))
			if string(done.Text) != row.after || len(done.Fixed) != row.fixed || done.Left.Len() != row.left {
				t.Errorf("%q, %d fixed, %d left; want %+v", done.Text, len(done.Fixed), done.Left.Len(), row)
			}
			if again := m.Mend(done.Text); len(again.Fixed) > 0 {
				t.Errorf("the second time: %+v", again.Fixed)
			}
		})
	}
}

func TestMender_keeps_what_people_wrote(t *testing.T) {
	m := diag.Mender{Check: small, Keeps: func(before, after []byte) bool { return bytes.Contains(after, []byte("K")) }}
	if got := string(m.Mend([]byte("AKB")).Text); got != "aKb" {
		t.Errorf("got %q", got)
	}
}

func TestPatch(t *testing.T) {
	for _, row := range []struct {
		name  string
		edits []diag.Edit
		want  string
	}{
		{"none", nil, "0123456789"},
		{"any_order", []diag.Edit{edit(5, 6, "b"), edit(0, 1, "a")}, "a1234b6789"},
		{"insertions_at_one_place", []diag.Edit{edit(3, 3, "a"), edit(3, 3, "b")}, "012ab3456789"},
		{"touching", []diag.Edit{edit(0, 3, ""), edit(3, 3, "a"), edit(3, 5, "b"), edit(10, 10, "c")}, "ab56789c"},
		{"overlapping", []diag.Edit{edit(0, 3, ""), edit(2, 4, "")}, ""},
		{"outside", []diag.Edit{edit(9, 11, "")}, ""},
		{"backwards", []diag.Edit{edit(5, 4, "")}, ""},
		{"before", []diag.Edit{edit(-1, 4, "")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := diag.Patch([]byte("0123456789"), row.edits)
			if string(got) != row.want || ok != (row.want != "") {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}

func edit(start, end int, text string) diag.Edit {
	return diag.Edit{Start: start, End: end, Text: text}
}

func TestSurely(t *testing.T) {
	values := []string{"ONDEMAND", "SPOT", "CAPACITY_BLOCK", "PERSISTENT_1", "PERSISTENT_2", "alinux2", "alinux2023", "Efa", "Efs", "InstanceType", "Instances"}
	got := map[string]string{}
	want := map[string]string{
		"on-demand": "ONDEMAND", "Capacity Block": "CAPACITY_BLOCK", "persistent2": "PERSISTENT_2", "PERSISTNT_1": "PERSISTENT_1",
		"PERSISTENT": "", "PERSISTENT_3": "", "alinux": "", "alinux3": "", "alinux_2": "alinux2", "EFA": "Efa", "Efq": "",
		"InstancType": "InstanceType", "Instance": "Instances", "InsType": "", "spto": "SPOT", "": "", strings.Repeat("x", 1000): "",
	}
	for word := range want {
		got[word] = diag.Surely(word, values)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMender_ends_in_large_texts(t *testing.T) {
	checks := 0
	m := diag.Mender{Check: func(text []byte) *diag.List {
		checks++
		return small(text)
	}}
	text := append([]byte(strings.Repeat("X", 2000)), bytes.Repeat([]byte("-"), 1<<20)...)
	if done := m.Mend(text); len(done.Fixed) > 0 || checks > 40 {
		t.Errorf("%d fixed in %d checks", len(done.Fixed), checks)
	}
}

func TestRoom(t *testing.T) {
	var r diag.Room
	for _, row := range []struct {
		name  string
		edits []diag.Edit
		want  bool
	}{
		{"first", []diag.Edit{edit(10, 20, ""), edit(40, 40, "a")}, true},
		{"within", []diag.Edit{edit(12, 13, "")}, false},
		{"around", []diag.Edit{edit(5, 25, "")}, false},
		{"at_its_end", []diag.Edit{edit(19, 21, "")}, false},
		{"insertion_within", []diag.Edit{edit(11, 11, "a")}, false},
		{"insertion_at_its_start", []diag.Edit{edit(10, 10, "a")}, false},
		{"insertions_at_one_place", []diag.Edit{edit(40, 40, "b"), edit(40, 40, "c")}, true},
		{"over_insertions", []diag.Edit{edit(39, 41, "")}, false},
		{"behind_insertions", []diag.Edit{edit(40, 41, "")}, false},
		{"one_of_two", []diag.Edit{edit(1, 2, ""), edit(15, 30, "")}, false},
		{"touching", []diag.Edit{edit(20, 30, ""), edit(5, 10, ""), edit(1, 2, "")}, true},
		{"the_same", []diag.Edit{edit(1, 2, "")}, false},
	} {
		if got := r.Take(row.edits); got != row.want {
			t.Errorf("%s: got %v", row.name, got)
		}
	}
}
