package cli

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/muster-hpc/muster/internal/batch"
)

// TestSight holds what of a script's things is taken for missing: nothing that somebody
// may have.
func TestSight(t *testing.T) {
	files := fstest.MapFS{
		"usr/bin/python3":   {Mode: 0o755},
		"usr/bin/data":      {Mode: 0o644},
		"fsx/bin/tool":      {Mode: 0o755},
		"fsx/img.sqsh":      {Mode: 0o644},
		"work/job/run.sh":   {Mode: 0o755},
		"work/job/train.py": {Mode: 0o644},
	}
	stat := func(path string) (fs.FileInfo, error) {
		if path == "/tmp/x" {
			return nil, errors.New("unknown")
		}
		return fs.Stat(files, path[1:])
	}
	s := sight{stat: stat, path: "/usr/local/bin:/usr/bin", dir: "/work/job"}
	for _, row := range []struct {
		what     batch.What
		name, on string
		lacks    bool
	}{
		{batch.Program, "python3", "", false},
		{batch.Program, "python", "", true},
		{batch.Program, "data", "", true},
		{batch.Program, "tool", "", true},
		{batch.Program, "tool", "/fsx/bin", false},
		{batch.Program, "x", "/tmp", false},
		{batch.Program, "/fsx/bin/tool", "", false},
		{batch.Program, "/fsx/bin/tools", "", true},
		{batch.Program, "./run.sh", "", false},
		{batch.Program, "./walk.sh", "", true},
		{batch.Folder, "/fsx/bin", "", false},
		{batch.Folder, "/opt/nccl-tests/build", "", true},
		{batch.Image, "/fsx/img.sqsh", "", false},
		{batch.Image, "/fsx/imgs.sqsh", "", true},
		{batch.File, "train.py", "", false},
		{batch.File, "../other.py", "", true},
		{batch.File, "/tmp/x", "", false},
		{batch.Function, "module", "", true},
	} {
		thing := batch.Thing{What: row.what, Name: row.name, Path: row.on}
		if got := s.lacking([]batch.Thing{thing})[thing]; got != row.lacks {
			t.Errorf("%+v lacks: %t, want %t", thing, got, row.lacks)
		}
	}
}

// TestSight_modules: environment modules are there where a file of theirs is, or where the
// user's own shell hands them on.
func TestSight_modules(t *testing.T) {
	module := batch.Thing{What: batch.Function, Name: "module"}
	files := fstest.MapFS{"etc/profile.d/modules.sh": {}}
	there := sight{stat: func(path string) (fs.FileInfo, error) { return fs.Stat(files, path[1:]) }}
	nothing := sight{stat: func(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }}
	brought := nothing
	brought.functions = bringsFunctions([]string{"A=1", "BASH_FUNC_module%%=() { :; }"})
	for i, s := range []sight{there, brought, nothing} {
		if got := s.lacking([]batch.Thing{module})[module]; got != (i == 2) {
			t.Errorf("%d: lacks modules: %t", i, got)
		}
	}
	if bringsFunctions([]string{"PATH=/bin"}) {
		t.Error("an environment without functions brings some")
	}
}

// TestSight_where_nodes_differ: what scripts of the user's own have put onto nodes is not
// known, but for what all machines share.
func TestSight_where_nodes_differ(t *testing.T) {
	nothing := sight{stat: func(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }, path: "/usr/bin", dir: "/fsx"}
	facts := &batch.Facts{Mounts: []batch.Mount{{Dir: "/fsx", Kind: "FsxLustre"}, {Dir: "/opt"}}}
	tool, image := batch.Thing{What: batch.Program, Name: "tool"}, batch.Thing{What: batch.Image, Name: "/fsx/a.sqsh"}
	file := batch.Thing{What: batch.File, Name: "/opt/a"}
	for changed, want := range map[bool][3]bool{false: {true, true, true}, true: {false, true, false}} {
		got := nothing.sees(facts, changed).lacking([]batch.Thing{tool, image, file})
		if got[tool] != want[0] || got[image] != want[1] || got[file] != want[2] {
			t.Errorf("changed %t: %v, want %v", changed, got, want)
		}
	}
}
