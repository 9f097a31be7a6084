package nodes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestClean_removes_one_node(t *testing.T) {
	all := []string{"mnt/head/upper/etc", "mnt/q-dy-r-1/upper", "mnt/q-dy-r-10/upper", "nodes/head/tmp", "nodes/q-dy-r-1/tmp", "nodes/q-dy-r-10/tmp", "state"}
	for name, left := range map[string][]string{
		"q-dy-r-1": {"mnt/head/upper/etc", "mnt/q-dy-r-10/upper", "nodes/head/tmp", "nodes/q-dy-r-10/tmp", "state"},
		"q-dy-r-2": all, "head": all, "": all, ".": all, "..": all, "../state": all, "q-dy-r-1/tmp": all, "/": all,
	} {
		l := &Layout{Dir: t.TempDir()}
		for _, d := range all {
			if err := os.MkdirAll(l.Path(d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		err := l.clean(name)
		if wrong := slices.Equal(left, all) && name != "q-dy-r-2"; wrong != (err != nil) {
			t.Errorf("clean %q: %v", name, err)
		}
		var found []string
		for _, d := range all {
			if _, err := os.Stat(filepath.Join(l.Dir, d)); err == nil {
				found = append(found, d)
			}
		}
		if !slices.Equal(found, left) {
			t.Errorf("clean %q leaves %q, want %q", name, found, left)
		}
	}
}
