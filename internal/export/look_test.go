package export

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/data/walk"
)

// TestFollowedTreeIsTheScannedOne does things at random to a directory, also through another name of it and through
// files that stay open, and compares what the kernel's word made of the tree with a whole look.
func TestFollowedTreeIsTheScannedOne(t *testing.T) {
	for seed := range uint64(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rng := rand.New(rand.NewPCG(seed, 2))
			m := &Mirror{Rule: Rule{Dir: dir}, Place: dir}
			defer m.Close()
			if err := m.lookHere(true); err != nil || m.here == nil {
				t.Fatalf("there is no watch: %v", err)
			}
			var story []string
			for range 60 {
				for range rng.IntN(4) {
					story = append(story, meddle(t, rng, dir))
				}
				if err := m.lookHere(false); err != nil {
					t.Fatal(err)
				}
				want, err := Scan(m.Rule)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, *m.tree, cmp.AllowUnexported(Tree{}), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("(-scanned +followed) %s\n%q", diff, story)
				}
				if m.here == nil {
					t.Fatal("the watch was given up")
				}
			}
		})
	}
}

// meddle does one thing to a directory, if it can be done.
func meddle(t *testing.T, rng *rand.Rand, dir string) string {
	name := func() string {
		p := dir
		for range rng.IntN(3) {
			p = filepath.Join(p, fmt.Sprintf("d%d", rng.IntN(2)))
		}
		return filepath.Join(p, []string{"a", "b", "latest", "d0", "d1"}[rng.IntN(5)])
	}
	p, q := name(), name()
	for _, opened := range []string{p, filepath.Dir(p)} { // os.RemoveAll opens what p is in
		if info, err := os.Stat(opened); err == nil && walk.Odd(info.Mode()) != "" {
			return fmt.Sprint("remove the pipe ", opened, " ", os.Remove(opened))
		}
	}
	var err error
	story := ""
	switch rng.IntN(8) {
	case 0, 1:
		story, err = "write", os.WriteFile(p, []byte(fmt.Sprint(rng.IntN(1000))), 0o644)
	case 2, 3:
		story, err = "mkdir", os.MkdirAll(p, 0o755)
	case 4:
		story, err = "rename to "+q, os.Rename(p, q)
	case 5:
		story, err = "remove", os.RemoveAll(p)
	case 6:
		story, err = "link", os.Symlink("a", p)
	case 7:
		story = "pipe"
		if made := syscall.Mkfifo(p, 0o600); made != nil {
			err = &fs.PathError{Err: made}
		}
	}
	var reason *fs.PathError
	var links *os.LinkError
	if err != nil && !errors.As(err, &reason) && !errors.As(err, &links) {
		t.Fatal(err)
	}
	return fmt.Sprint(story, " ", p, " ", err)
}

// TestLostEventsMeanAWholeLook has more changes than the kernel keeps, and a directory that is replaced.
func TestLostEventsMeanAWholeLook(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &Mirror{Rule: Rule{Dir: dir}, Place: dir}
	defer m.Close()
	if err := m.lookHere(true); err != nil {
		t.Fatal(err)
	}
	f := filepath.Join(dir, "f")
	for i := range 40_000 {
		name := fmt.Sprint(f, i%2)
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.WriteFile(f, nil, 0o644)) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if err := m.lookHere(false); err != nil {
			t.Fatal(err)
		}
		want, err := Scan(m.Rule)
		if diff := cmp.Diff(want, *m.tree, cmp.AllowUnexported(Tree{}), cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}
