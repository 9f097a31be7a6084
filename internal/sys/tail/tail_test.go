package tail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := "first\n" + strings.Repeat("x", most) + "\nlast but one\n\xff last\n\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		from  int64
		lines int
		want  []string
	}{
		{"one", 0, 1, []string{"? last"}},
		{"two", 0, 2, []string{"last but one", "? last"}},
		{"after_a_place", int64(len(text) - 6), 9, []string{"last"}},
		{"nothing_after_it", int64(len(text)), 9, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := File(path, row.from, row.lines); err != nil || !slices.Equal(got, row.want) {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
		})
	}
	if got, _ := File(path, 0, 9); len(got) != 3 || len(got[0]) >= most {
		t.Errorf("of a large file: %d lines, the first has %d bytes", len(got), len(got[0]))
	}
	if _, err := File(path+"s", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}
