package walk_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/walk"
)

// tree makes files by their paths. A path with an arrow is a link, one that ends with a slash a directory.
func tree(t *testing.T, paths ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range paths {
		p, target, link := strings.Cut(p, " -> ")
		at := filepath.Join(root, p)
		dir := filepath.Dir(at)
		if strings.HasSuffix(p, "/") {
			dir = at
		}
		must(t, os.MkdirAll(dir, 0o755))
		switch {
		case link:
			must(t, os.Symlink(target, at))
		case dir != at:
			must(t, os.WriteFile(at, []byte(p), 0o640))
		}
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// found are the paths of a walk, those with something wrong with what it is.
func found(w *walk.Walk) []string {
	var all []string
	for f, err := range w.Files() {
		if err != nil {
			f.Path += ": " + err.Error()
		}
		all = append(all, f.Path)
	}
	return all
}

func TestFiles(t *testing.T) {
	deep := strings.Repeat("d/", 200) + "f"
	for name, c := range map[string]struct {
		tree []string
		walk walk.Walk
		want []string
	}{
		"empty":                    {nil, walk.Walk{}, nil},
		"empty_directories":        {[]string{"a/", "b/c/"}, walk.Walk{}, nil},
		"in_the_order_of_keys":     {[]string{"a/x", "a-b", "a.b", "a0", "a/b/c", "b"}, walk.Walk{}, []string{"a-b", "a.b", "a/b/c", "a/x", "a0", "b"}},
		"a_prefix_comes_first":     {[]string{"ab/x", "abc", "ab-"}, walk.Walk{}, []string{"ab-", "ab/x", "abc"}},
		"deep":                     {[]string{deep}, walk.Walk{}, []string{deep}},
		"its_own_at_the_top_alone": {[]string{".muster/x", "a/.muster", ".musterx"}, walk.Walk{}, []string{".musterx", "a/.muster"}},
		"cut_off_pulls":            {[]string{"a/.muster-15d4.tmp", ".muster-restore-m.tmp/f", "b"}, walk.Walk{}, []string{"b"}},
		"cut_off_pulls_taken":      {[]string{"a/.muster-15d4.tmp", "b"}, walk.Walk{Leftovers: true}, []string{"a/.muster-15d4.tmp", "b"}},
		"odd_names":                {[]string{"a b", "a\nb", "a\x01", "ü", `"`, "%41"}, walk.Walk{}, []string{`"`, "%41", "a\x01", "a\nb", "a b", "ü"}},
		"links_to_files":           {[]string{"a/f", "l -> a/f"}, walk.Walk{}, []string{"a/f", "l"}},
		"links_to_directories":     {[]string{"a/f", "l -> a", "l.x"}, walk.Walk{}, []string{"a/f", "l.x", "l/f"}},
		"links_left_out":           {[]string{"a/f", "l -> a", "m -> a/f", "n -> nothing"}, walk.Walk{NoFollow: true}, []string{"a/f"}},
		"a_link_to_nothing":        {[]string{"a", "l -> nothing", "m"}, walk.Walk{}, []string{"a", "l: it is a link to nothing, which is not there", "m"}},
		"a_loop":                   {[]string{"a/b/l -> ..", "c"}, walk.Walk{}, []string{"a/b/l/: it leads to a directory that it is in: a link makes a loop", "c"}},
		"a_loop_of_itself":         {[]string{"l -> l", "m"}, walk.Walk{}, []string{"l: too many levels of symbolic links", "m"}},
		"names_that_are_no_text":   {[]string{"a\xff/x", "b\xfe", "c"}, walk.Walk{}, []string{"a\xff: its name is not UTF-8, as the keys of S3 have to be", "b\xfe: its name is not UTF-8, as the keys of S3 have to be", "c"}},
		"long_paths":               {[]string{"abcd", "abc", "d/e"}, walk.Walk{Longest: 3}, []string{"abc", "abcd: its key would have 1025 bytes, and S3 takes 1024", "d/e"}},
		"unwanted": {[]string{"a/f", "b/f", "b/g"}, walk.Walk{Wanted: func(p string, dir bool) bool { return p == "b" && dir || p == "b/g" }},
			[]string{"b/g"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.walk
			w.Root = tree(t, c.tree...)
			if diff := cmp.Diff(c.want, found(&w)); diff != "" {
				t.Errorf("the walk (-want +got):\n%s", diff)
			}
			if w.NoFollow && w.Links != 3 {
				t.Errorf("%d links were left out, not 3", w.Links)
			}
		})
	}
}

func TestOddThings(t *testing.T) {
	root := tree(t, "a", "d/", "z")
	must(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	l, err := net.Listen("unix", filepath.Join(root, "sock"))
	must(t, err)
	defer l.Close()
	must(t, os.Symlink(os.DevNull, filepath.Join(root, "null")))
	big := filepath.Join(root, "huge")
	must(t, os.WriteFile(big, nil, 0o600))
	must(t, os.Truncate(big, 5<<40))
	must(t, os.Truncate(big, 5<<40+1))
	want := []string{"a", "huge: it has 5497558138881 bytes, and S3 takes 5497558138880 (5 TiB) in one object",
		"null: it is a device, not a file", "pipe: it is a pipe, not a file", "sock: it is a socket, not a file", "z"}
	if diff := cmp.Diff(want, found(&walk.Walk{Root: root})); diff != "" {
		t.Errorf("the walk (-want +got):\n%s", diff)
	}
}

func TestRoot(t *testing.T) {
	root := tree(t, "d/f")
	at := filepath.Join(root, "d", "f")
	if got := found(&walk.Walk{Root: at}); !slices.Equal(got, []string{"f"}) {
		t.Errorf("a file has %q", got)
	}
	got := found(&walk.Walk{Root: filepath.Join(root, "none")})
	if len(got) != 1 || !strings.HasPrefix(got[0], ": ") {
		t.Errorf("a root that is not there has %q", got)
	}
}

func TestFileIsDescribed(t *testing.T) {
	root := tree(t, "f")
	for f, err := range (&walk.Walk{Root: root}).Files() {
		must(t, err)
		info, err := os.Stat(filepath.Join(root, "f"))
		must(t, err)
		if f.SizeBytes != 1 || f.Mode != 0o640 || f.ModTime != info.ModTime().UnixNano() || f.Self.Inode == 0 || f.Self.Change < f.ModTime {
			t.Errorf("it is described as %+v", f)
		}
	}
}

// TestAnyTree compares walks of random trees with what the library finds, sorted.
func TestAnyTree(t *testing.T) {
	names := []string{"a", "b", "a-", "a.", "a0", "ab", "a b", "é", "Z", "a\x02"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := t.TempDir()
		for range r.IntN(60) {
			p := root
			for range 1 + r.IntN(4) {
				p = filepath.Join(p, names[r.IntN(len(names))])
			}
			if os.MkdirAll(filepath.Dir(p), 0o755) == nil {
				_ = os.WriteFile(p, nil, 0o600) // a directory may be there
			}
		}
		var want []string
		must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				want = append(want, strings.TrimPrefix(p, root+"/"))
			}
			return err
		}))
		slices.Sort(want)
		if diff := cmp.Diff(want, found(&walk.Walk{Root: root})); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestEndsEarly(t *testing.T) {
	root := tree(t, "a/1", "a/2", "b/3")
	var got []string
	for f, err := range (&walk.Walk{Root: root}).Files() {
		must(t, err)
		if got = append(got, f.Path); len(got) == 2 {
			break
		}
	}
	if fmt.Sprint(got) != "[a/1 a/2]" {
		t.Errorf("got %q", got)
	}
}
