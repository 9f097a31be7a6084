package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestErrorsAreLines has names in a bucket that would say something of their own on a terminal.
func TestErrorsAreLines(t *testing.T) {
	const run = "x\nmuster: all is well\x1b[2J"
	const hostile = run + "--step=5"
	for name, row := range map[string]struct {
		bucket files
		local  files
		want   restore.Want
		then   func(*testing.T, *storetest.Fake)
	}{
		"of_no_such_name": {files{"m/" + hostile + "/a": "w"}, nil, restore.Want{Name: "ckpt-9", Step: checkpoint.NoStep}, nil},
		"of_several":      {files{"m/" + run + "/ckpt-1/a": "w", "m/b/ckpt-1/a": "w"}, nil, newest, nil},
		"of_another_one":  {files{"m/" + hostile + "/a": "w"}, files{hostile + "/a": "x"}, newest, nil},
		"of_a_changed_one": {files{"m/" + hostile + "/a": "w"}, nil, newest,
			func(t *testing.T, s *storetest.Fake) { put(t, s, files{"m/" + hostile + "/a": "x"}) }},
		"of_a_damaged_one": {files{"m/ckpt-5/" + hostile: "w"}, nil, newest,
			func(_ *testing.T, s *storetest.Fake) { s.Damage("m/ckpt-5/" + hostile) }},
		"of_a_link":       {files{"m/ckpt-5/" + hostile: "-> /etc/passwd"}, nil, newest, nil},
		"of_a_file_there": {files{"m/" + run + "/ckpt-5/a": "w"}, files{run: "w"}, newest, nil},
		"of_a_pointer":    {files{"m/" + run + "/ckpt-5/a": "w", "m/" + run + "/latest": "ckpt-5"}, files{run + "/latest/a": "w"}, newest, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fake, dir := &storetest.Fake{}, t.TempDir()
			put(t, fake, row.bucket)
			write(t, dir, row.local)
			v, f, _, err := choose(t, fake, "m", row.want)
			if err == nil {
				if row.then != nil {
					row.then(t, fake)
				}
				_, err = (&restore.Bring{View: v, Found: f, Dir: dir}).Run(t.Context())
			}
			if err == nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("got %q", err)
			}
		})
	}
}

// TestBring_writes_to_no_other_file has a name of another file where an earlier run left off.
func TestBring_writes_to_no_other_file(t *testing.T) {
	fake, dir, other := &storetest.Fake{}, t.TempDir(), filepath.Join(t.TempDir(), "other")
	put(t, fake, files{"m/ckpt-5/a": "weights"})
	v, f, _, err := choose(t, fake, "m", newest)
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	_, err = (&restore.Bring{View: restore.Through(v, &dying{Store: fake, kill: kill}), Found: f, Dir: dir}).Run(ctx)
	left, globErr := filepath.Glob(filepath.Join(dir, ".muster-restore-*.tmp"))
	if err == nil || globErr != nil || len(left) != 1 {
		t.Fatalf("it left %v, %v, %v", left, err, globErr)
	}
	beside := filepath.Join(left[0], manifest.Beside("a"))
	if err := errors.Join(os.WriteFile(other, []byte("mine"), 0o644), os.RemoveAll(beside), os.Link(other, beside)); err != nil {
		t.Fatal(err)
	}
	if _, err := bring(t, fake, "m", dir, newest); err != nil {
		t.Error(err)
	}
	want(t, dir, files{"ckpt-5/a": "weights"})
	want(t, filepath.Dir(other), files{"other": "mine"})
}
