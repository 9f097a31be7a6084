package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnfold_says_what_it_cannot_read(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"no_base", "base none.txt\n", "none.txt"},
		{"no_value", "A.b\n  .c is 3\n", `read x.txt: ".c is 3" is no value`},
		{"no_JSON", "A.b\n  .c = {\n", `read x.txt: ".c = {" is no value`},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte(row.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Unfold(dir, "x.txt"); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
