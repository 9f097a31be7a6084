package tail

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpot: a file that grew is read further, and one that was written anew is not, however long it is.
func TestSpot(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	for name, row := range map[string]struct {
		before, now string
		renamed     bool
		holds       bool
	}{
		"grew":                     {"a\n", "a\nb\n", false, true},
		"stayed":                   {"a\n", "a\n", false, true},
		"was_cut":                  {"a\nb\n", "a\n", false, false},
		"is_anew_and_shorter":      {"a\nb\n", "c\n", false, false},
		"is_anew_and_as_long":      {"a\n", "c\n", false, false},
		"is_anew_and_longer":       {"a\n", "c\nd\n", false, false},
		"is_long_and_grew":         {long, long + "x", false, true},
		"is_long_and_other_at_end": {long, long[:len(long)-1] + "xx", false, false},
		"is_another":               {"a\n", "a\nb\n", true, false},
		"was_empty":                {"", "a\n", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			write := func(text string) (*os.File, os.FileInfo) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
				info, err := f.Stat()
				if err != nil {
					t.Fatal(err)
				}
				return f, info
			}
			f, info := write(row.before)
			s := Spot{Inode: Inode(info)}
			if _, err := io.CopyBuffer(struct{ io.Writer }{&s}, struct{ io.Reader }{f}, make([]byte, 7)); err != nil || s.Offset != info.Size() {
				t.Fatal(s, err)
			}
			if row.renamed {
				if err := os.Rename(path, path+".1"); err != nil {
					t.Fatal(err)
				}
			}
			if f, info = write(row.now); s.Holds(f, info) != row.holds {
				t.Errorf("it holds: %t", !row.holds)
			}
			if whole := (&Spot{}); !whole.Holds(f, info) {
				t.Error("the beginning is not there")
			}
			if !bytes.HasSuffix([]byte(row.before), s.Mark) || len(s.Mark) > MarkSize {
				t.Errorf("its mark is %q", s.Mark)
			}
		})
	}
}
