package errand

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// over is after everything that a test has written.
func over() time.Time { return time.Now().Add(time.Minute) }

// mend has all put right, and returns what was to be done.
func mend(t *testing.T, roots ...string) Diagnosis {
	t.Helper()
	d, err := new(server).diagnose(Mending{Dirs: roots, Ended: over()}, time.Now())
	must(t, err)
	for _, r := range repair(madeOf(*d), over()) {
		if r.Left != "" {
			t.Errorf("%s was left: %s", r.Path, r.Left)
		}
	}
	return *d
}

// madeOf are the repairs that are to be made.
func madeOf(d Diagnosis) []Repair {
	return slices.DeleteFunc(slices.Clone(d.Repairs), func(r Repair) bool { return r.Left != "" })
}

// everything is what lies below a directory: the text of files, and what links lead to.
func everything(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.Type()&fs.ModeSymlink != 0 {
			all[rel], err = os.Readlink(p)
			return err
		}
		text, err := os.ReadFile(p)
		all[rel] = string(text)
		return err
	}))
	return all
}

// tornTree has whole checkpoints of steps 10 and 15, torn ones of 5, 20 and 25, and pointers to these.
func tornTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for step, bytes := range map[string]int{"5": 9, "10": 7, "15": 7, "20": 8, "25": 8} {
		listedAs(t, filepath.Join(root, "checkpoint-"+step), bytes)
	}
	put1(t, filepath.Join(root, "latest"), "checkpoint-25\n")
	must(t, os.Symlink("checkpoint-20", filepath.Join(root, "last")))
	return root
}

func TestMend(t *testing.T) {
	root := tornTree(t)
	before := everything(t, root)
	found, err := new(server).look([]string{root, filepath.Join(root, "none")}, time.Now())
	must(t, err)
	if len(found) != 5 || found[0].Step != 25 || found[0].Torn == "" || !found[0].Pointed || found[2].Step != 15 || !found[2].Whole {
		t.Fatalf("found %+v", found)
	}
	d := mend(t, root, root)
	if len(d.Repairs) != 4 || d.Stuck != "" {
		t.Errorf("did %+v", d)
	}
	got := everything(t, root)
	if got["latest"] != "checkpoint-15\n" || got["last"] != "checkpoint-15" {
		t.Errorf("pointers say %q and %q", got["latest"], got["last"])
	}
	for path, there := range map[string]bool{"checkpoint-25": false, "checkpoint-20": false, "checkpoint-15": true, "checkpoint-5": true, "torn.checkpoint.25.part": true} {
		if _, ok := got[path+"/model.pt"]; ok != there {
			t.Errorf("%s: %v", path, ok)
		}
	}
	if again := mend(t, root); len(again.Repairs) != 0 {
		t.Errorf("the second time: %+v", again)
	}
	for _, r := range d.Repairs {
		if r.Aside() {
			must(t, os.Rename(r.Now, r.Path))
		}
	}
	got = everything(t, root)
	got["latest"], got["last"] = before["latest"], before["last"]
	if diff := cmp.Diff(before, got); diff != "" {
		t.Errorf("moved back (-want +got):\n%s", diff)
	}
}

// Whatever repairs were made when its process was killed, and whatever it was about to write, the next
// one ends where it would have.
func TestRepairCutAtEachStep(t *testing.T) {
	undisturbed := tornTree(t)
	mend(t, undisturbed)
	want := everything(t, undisturbed)
	for cut := range 5 {
		for _, half := range []string{"", "checkpoi", "checkpoint-15\n"} {
			root := tornTree(t)
			d, err := new(server).diagnose(Mending{Dirs: []string{root}, Ended: over()}, time.Now())
			must(t, err)
			repair(slices.Clone(d.Repairs[:cut]), over())
			if cut < 4 && !d.Repairs[cut].Aside() && half != "" {
				put1(t, filepath.Join(root, "."+filepath.Base(d.Repairs[cut].Path)+".muster.part"), half)
			}
			for _, r := range repair(d.Repairs, over()) {
				if r.Left != "" {
					t.Errorf("cut at %d: %+v", cut, r)
				}
			}
			if diff := cmp.Diff(want, everything(t, root)); diff != "" {
				t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
			}
		}
	}
}

// What somebody changed after the end of the run is his.
func TestMendLeavesWhatChangedLater(t *testing.T) {
	for name, row := range map[string]struct {
		change func(root string) error
		stays  []string
		made   int
	}{
		"written_into": {func(root string) error {
			return os.WriteFile(filepath.Join(root, "checkpoint-25", "more.pt"), nil, 0o600)
		}, []string{"checkpoint-25"}, 3},
		"copied_with_its_times": {func(root string) error {
			path := filepath.Join(root, "checkpoint-20", "model.pt")
			return errors.Join(os.WriteFile(path, []byte("copied"), 0o600), os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
		}, []string{"checkpoint-20"}, 3},
		"a_file_still_in_the_making": {func(root string) error {
			return os.WriteFile(filepath.Join(root, "checkpoint-25", "x.tmp"), nil, 0o600)
		}, []string{"checkpoint-25"}, 3},
		"pointed_to": {func(root string) error {
			return os.WriteFile(filepath.Join(root, "latest"), []byte("checkpoint-20\n"), 0o600)
		}, []string{"checkpoint-20", "latest"}, 2},
		"all": {nil, []string{"checkpoint-25", "checkpoint-20", "latest", "last"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := tornTree(t)
			ended := time.Now().Add(-time.Hour)
			if row.change != nil {
				ended = settled(t, root)
				must(t, row.change(root))
			}
			before := everything(t, root)
			d, err := new(server).diagnose(Mending{Dirs: []string{root}, Ended: ended}, time.Now())
			must(t, err)
			if made := madeOf(*d); len(made) != row.made || d.Stuck != "" {
				t.Errorf("got %+v", d)
			}
			repair(madeOf(*d), ended)
			after := everything(t, root)
			for _, name := range row.stays {
				for path, text := range before {
					if (path == name || strings.HasPrefix(path, name+"/")) && after[path] != text {
						t.Errorf("%s was %q, and is %q", path, text, after[path])
					}
				}
			}
		})
	}
}

// settled is a time after everything that was written, and before all that will be: the clock by which
// files are dated is coarse.
func settled(t *testing.T, root string) time.Time {
	t.Helper()
	at := time.Now()
	probe := filepath.Join(t.TempDir(), "probe")
	for {
		put1(t, probe, "x")
		info, err := os.Stat(probe)
		must(t, err)
		if info.ModTime().After(at) {
			return at
		}
	}
}

// What changes between the look and the deed is left, too.
func TestRepairLeavesWhatChangedMeanwhile(t *testing.T) {
	root := tornTree(t)
	ended := settled(t, root)
	d, err := new(server).diagnose(Mending{Dirs: []string{root}, Ended: ended}, time.Now())
	must(t, err)
	put1(t, filepath.Join(root, "checkpoint-25", "model.pt"), "weights and more")
	put1(t, filepath.Join(root, "torn.checkpoint.20.part", "model.pt"), "somebody's")
	before := everything(t, root)
	for _, r := range repair(slices.Clone(d.Repairs), ended) {
		if r.Aside() && r.Left == "" {
			t.Errorf("%s is %s now", r.Path, r.Now)
		}
	}
	after := everything(t, root)
	after["latest"], after["last"] = before["latest"], before["last"]
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	turned := Repair{Path: filepath.Join(root, "latest"), Was: "checkpoint-25", Now: "checkpoint-10"}
	if left := repair([]Repair{turned}, over()); left[0].Left != "it was written anew" {
		t.Errorf("got %+v", left)
	}
}

// A directory of checkpoints may be a link, as in homes that lead to a larger file system.
func TestMendBehindLink(t *testing.T) {
	root, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(root, link))
	listedAs(t, filepath.Join(root, "checkpoint-10"), 7)
	listedAs(t, filepath.Join(root, "checkpoint-15"), 8)
	if found, err := new(server).look([]string{link}, time.Now()); err != nil || len(found) != 2 || found[1].Step != 10 || !found[1].Whole {
		t.Fatalf("found %+v, %v", found, err)
	}
	if d := mend(t, link, root); len(d.Repairs) != 1 {
		t.Errorf("did %+v", d)
	}
}

// Where nothing is whole, nothing moves: a program that finds no checkpoint begins anew, and what it
// had is lost without a word.
func TestMendWithoutAnyWhole(t *testing.T) {
	for name, row := range map[string]struct {
		make  func(root string)
		stuck string
		left  int
	}{
		"all_torn": {func(root string) {
			listedAs(t, filepath.Join(root, "iter_0000010"), 8)
			listedAs(t, filepath.Join(root, "iter_0000020"), 8)
			put1(t, filepath.Join(root, "latest_checkpointed_iteration.txt"), "20")
		}, "none of its checkpoints is whole", 3},
		"without_a_step": {func(root string) { listedAs(t, filepath.Join(root, "checkpoint-last"), 8) }, "none of its checkpoints is whole", 1},
		"whole_without_a_step": {func(root string) {
			listedAs(t, filepath.Join(root, "checkpoint-last"), 7)
			listedAs(t, filepath.Join(root, "checkpoint-20"), 8)
			put1(t, filepath.Join(root, "latest"), "checkpoint-20")
		}, "", 2},
		"whole_elsewhere": {func(root string) {
			listedAs(t, filepath.Join(root, "a", "checkpoint-10"), 7)
			listedAs(t, filepath.Join(root, "b", "checkpoint-20"), 8)
		}, "", 1},
		"none": {func(root string) { put1(t, filepath.Join(root, "notes"), "x") }, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			row.make(root)
			before := everything(t, root)
			d := mend(t, root)
			if d.Stuck != row.stuck || len(d.Repairs) != row.left || len(madeOf(d)) != 0 {
				t.Errorf("got %+v", d)
			}
			if diff := cmp.Diff(before, everything(t, root)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// More than the end of a run leaves is put right by people.
func TestMendBounds(t *testing.T) {
	root := t.TempDir()
	listedAs(t, filepath.Join(root, "checkpoint-1"), 7)
	for i := range mostRepairs + 1 {
		listedAs(t, filepath.Join(root, fmt.Sprintf("checkpoint-%d", 10+i)), 8)
	}
	d, err := new(server).diagnose(Mending{Dirs: []string{root}, Ended: over()}, time.Now())
	if err != nil || !strings.Contains(d.Stuck, "more than 100 checkpoints") || len(d.Repairs) != mostRepairs {
		t.Errorf("%d repairs, %q, %v", len(d.Repairs), d.Stuck, err)
	}
}

func TestMendMegatron(t *testing.T) {
	root := t.TempDir()
	listedAs(t, filepath.Join(root, "iter_0000010"), 7)
	listedAs(t, filepath.Join(root, "iter_0000020"), 8)
	put1(t, filepath.Join(root, "latest_checkpointed_iteration.txt"), "20")
	mend(t, root)
	if got := everything(t, root); got["latest_checkpointed_iteration.txt"] != "10" {
		t.Errorf("the tracker says %q", got["latest_checkpointed_iteration.txt"])
	}
}

// TestMendWithoutMarker has a run of which the checkpoints say by a marker that they are whole: those that were cut off have none.
func TestMendWithoutMarker(t *testing.T) {
	root := t.TempDir()
	for _, step := range []string{"100", "200", "300", "400"} {
		put1(t, filepath.Join(root, "step-"+step, "model.bin"), "w")
	}
	put1(t, filepath.Join(root, "step-200", "COMPLETE"), "")
	d := mend(t, root)
	var moved []string
	for _, r := range d.Repairs {
		moved = append(moved, filepath.Base(r.Path)+": "+r.Why)
	}
	want := []string{"step-400: COMPLETE is not there, which others of its run have", "step-300: COMPLETE is not there, which others of its run have"}
	if diff := cmp.Diff(want, moved); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMendCutOff has checkpoints of which a file is empty or cut off, as a full disk leaves them, and whole ones before them.
func TestMendCutOff(t *testing.T) {
	torch, err := os.ReadFile("../../data/checkpoint/testdata/contents/torch.pt")
	must(t, err)
	for name, c := range map[string]struct {
		files map[string]string
		why   string
	}{
		"empty":       {map[string]string{"step-1/rank_0.pt": string(torch), "step-2/rank_0.pt": ""}, "rank_0.pt has 0 bytes"},
		"empty_index": {map[string]string{"step-1/v.index": "x", "step-2/v.index": ""}, "v.index has 0 bytes"},
		"cut_off":     {map[string]string{"step-1/rank_0.pt": string(torch), "step-2/rank_0.pt": string(torch[:2000])}, "rank_0.pt: it begins like a zip archive, and has no end"},
		"one_file":    {map[string]string{"step=1.ckpt": string(torch), "step=2.ckpt": string(torch[:2000])}, "step=2.ckpt: it begins like a zip archive, and has no end"},
		"other_form":  {map[string]string{"step-1/rank_0.pt": string(torch), "step-2/rank_0.pt": "weights"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for p, text := range c.files {
				put1(t, filepath.Join(root, p), text)
			}
			found, err := new(server).look([]string{root}, time.Now().Add(time.Hour))
			must(t, err)
			if len(found) != 2 || found[0].Step != 2 || found[0].Torn != c.why || found[0].Whole != (c.why == "") || !found[1].Whole {
				t.Errorf("found %+v", found)
			}
			d := mend(t, root)
			if moved := len(d.Repairs); moved > 0 != (c.why != "") || moved > 0 && d.Repairs[0].Why != c.why {
				t.Errorf("did %+v", d)
			}
		})
	}
}

// TestLookForgets reads a file again that was gone for two looks, though its size and its time are the same.
func TestLookForgets(t *testing.T) {
	torch, err := os.ReadFile("../../data/checkpoint/testdata/contents/torch.pt")
	must(t, err)
	root, s, at := t.TempDir(), &server{}, time.Unix(1_000_000, 0)
	path := filepath.Join(root, "step-1", "rank_0.pt")
	look := func(text []byte, whole bool) {
		t.Helper()
		put1(t, path, string(text))
		must(t, os.Chtimes(path, at, at))
		if found, err := s.look([]string{root}, time.Now()); err != nil || len(found) != 1 || found[0].Whole != whole {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	cut := append(slices.Clone(torch[:1000]), make([]byte, len(torch)-1000)...)
	look(torch, true)
	look(cut, true) // it is not read again
	must(t, os.Remove(path))
	for range 2 {
		if found, err := s.look([]string{root}, time.Now()); err != nil || len(found) != 0 {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	look(cut, false)
}
