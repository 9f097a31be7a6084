package export

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

var (
	noon    = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	longAgo = noon.Add(-time.Hour)
	recent  = noon.Add(-time.Second)
	all     = Rule{Prefix: "fsx", New: true, Changed: true, Deleted: true}
)

// tree makes a tree of files; directories have times that tell of no rename.
func tree(files ...File) Tree {
	t := Tree{Dirs: map[string]Dir{".": {}}}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			t.Dirs[d] = Dir{ModTime: longAgo, ChangeTime: longAgo}
		}
	}
	t.Files = files
	return t
}

func file(p string, at time.Time) File { return File{Path: p, SizeBytes: 3, ModTime: stampOf(at)} }

func pointerFile(p, text string) File {
	return File{Path: p, SizeBytes: int64(len(text)), ModTime: stampOf(longAgo), Text: text}
}

// objectOf is what a file looks like once it is exported, at noon less a minute.
func objectOf(f File) store.Object {
	return store.Object{Key: key("fsx", f.Path), SizeBytes: f.SizeBytes, Modified: noon.Add(-time.Minute), Meta: metadata(f)}
}

func objects(list ...store.Object) map[string]object {
	m := map[string]object{}
	for _, o := range list {
		m[pathOf("fsx", o.Key)] = lean(o)
	}
	return m
}

// lines is a plan in short.
func lines(p Plan) []string {
	var out []string
	for _, s := range p.Puts {
		out = append(out, fmt.Sprintf("put %s: %s", s.Key, s.Reason))
	}
	for _, s := range p.Deletes {
		out = append(out, fmt.Sprintf("delete %s: %s", s.Key, s.Reason))
	}
	for _, w := range p.Waits {
		out = append(out, fmt.Sprintf("wait %s: %s", w.Path, w.Reason))
	}
	for _, w := range p.Blocked {
		out = append(out, fmt.Sprintf("blocked %s: %s", w.Path, w.Reason))
	}
	for _, w := range p.Kept {
		out = append(out, fmt.Sprintf("kept %s: %s", w.Path, w.Reason))
	}
	return out
}

// namedAtNoon is an exported pointer that is older than its file.
func namedAtNoon() store.Object {
	o := objectOf(pointerFile("latest", "ckpt-1"))
	o.Meta[metaModTime] = "1ns"
	return o
}

func TestDecide(t *testing.T) {
	changed := objectOf(file("a", longAgo.Add(-time.Hour)))
	log := objectOf(file("a.log", longAgo))
	log.Modified = noon.Add(-4 * time.Second)
	foreign := store.Object{Key: "fsx/a", SizeBytes: 3, Modified: noon}
	inCheckpoint := tree(file("checkpoint-1/model.bin", recent))
	inCheckpoint.Dirs["checkpoint-1"] = Dir{ModTime: recent, ChangeTime: recent.Add(time.Millisecond)}
	late := tree(file("checkpoint-1/model.bin", recent.Add(time.Second/2)))
	late.Dirs["checkpoint-1"] = inCheckpoint.Dirs["checkpoint-1"]
	inPlace := tree(file("checkpoint-1/model.bin", recent))
	inPlace.Dirs["checkpoint-1"] = Dir{ModTime: recent, ChangeTime: recent}
	same := tree(file("a", recent))

	decides(t, []decided{
		{"new_and_settled", State{Rule: all, Tree: tree(file("d/a", longAgo))}, []string{"put fsx/d/a: new"}},
		{"new_at_first_sight", State{Rule: all, Tree: tree(file("a", recent))}, []string{"wait a: it is being written"}},
		{"same_in_two_looks", State{Rule: all, Tree: same, Before: &same}, []string{"put fsx/a: new"}},
		{"changed_between_looks", State{Rule: all, Tree: tree(file("a", noon.Add(-time.Second/2))), Before: &same}, []string{"wait a: it is being written"}},
		{"just_written", State{Rule: all, Tree: tree(file("a", noon.Add(-time.Millisecond))), Before: new(tree(file("a", noon.Add(-time.Millisecond))))}, []string{"wait a: it was just written"}},
		{"dated_in_the_future", State{Rule: all, Tree: tree(file("a", noon.Add(time.Hour))), Before: new(tree(file("a", noon.Add(time.Hour))))}, []string{"put fsx/a: new"}},
		{"already_there", State{Rule: all, Tree: tree(file("a", longAgo)), Objects: objects(objectOf(file("a", longAgo)))}, nil},
		{"changed", State{Rule: all, Tree: tree(file("a", longAgo)), Objects: objects(changed)}, []string{"put fsx/a: changed"}},
		{"changed_not_in_rule", State{Rule: Rule{Prefix: "fsx", New: true}, Tree: tree(file("a", longAgo)), Objects: objects(changed)}, nil},
		{"new_not_in_rule", State{Rule: Rule{Prefix: "fsx", Changed: true}, Tree: tree(file("a", longAgo))}, nil},
		{"somebody_elses_object_of_its_size", State{Rule: all, Tree: tree(file("a", longAgo)), Objects: objects(foreign)}, nil},
		{"temporary_names", State{Rule: all, Tree: tree(file(".tmp-1/a", longAgo), file("x.tmp", longAgo), file("y.part", longAgo), file("d.tmp/z", longAgo))}, nil},
		{"renamed_checkpoint", State{Rule: all, Tree: inCheckpoint}, []string{"put fsx/checkpoint-1/model.bin: new"}},
		{"written_after_the_rename", State{Rule: all, Tree: late}, []string{"wait checkpoint-1/model.bin: it is being written"}},
		{"checkpoint_made_under_its_name", State{Rule: all, Tree: inPlace}, []string{"wait checkpoint-1/model.bin: it is being written"}},
		{"growing_log_at_first_sight", State{Rule: all, Tree: tree(file("a.log", noon))}, []string{"put fsx/a.log: new"}},
		{"growing_log_again_too_soon", State{Rule: all, Tree: tree(file("a.log", noon)), Objects: objects(log)}, []string{"wait a.log: a log, exported again in 6s"}},
		{"oldest_first", State{Rule: all, Tree: tree(file("a", longAgo), file("b", longAgo.Add(-time.Hour)))}, []string{"put fsx/b: new", "put fsx/a: new"}},
		{"pointer_follows_its_data", State{Rule: all, Tree: tree(pointerFile("latest", "ckpt-1\n"), file("ckpt-1/x", longAgo.Add(time.Minute)), file("zzz", longAgo.Add(time.Hour/2)))},
			[]string{"put fsx/ckpt-1/x: new", "put fsx/latest: new", "put fsx/zzz: new"}},
		{"pointer_waits_for_its_data", State{Rule: all, Tree: tree(pointerFile("latest", "ckpt-1"), file("ckpt-1/x", recent))},
			[]string{"wait ckpt-1/x: it is being written", "wait latest: it waits for ckpt-1/x"}},
		{"megatron", State{Rule: all, Tree: tree(pointerFile("latest_checkpointed_iteration.txt", "12"), file("iter_0000012/x", recent))},
			[]string{"wait iter_0000012/x: it is being written", "wait latest_checkpointed_iteration.txt: it waits for iter_0000012/x"}},
		{"link_as_pointer", State{Rule: all, Tree: tree(File{Path: "latest", Link: "/mnt/elsewhere/ckpt-1", ModTime: stampOf(longAgo)}, file("ckpt-1/x", recent))},
			[]string{"wait ckpt-1/x: it is being written", "wait latest: it waits for ckpt-1/x"}},
		{"pointer_to_nothing", State{Rule: all, Tree: tree(pointerFile("latest", "ckpt-9"))}, []string{"blocked latest: it names ckpt-9, which is not there"}},
		{"pointer_to_something_unfinished", State{Rule: all, Tree: tree(pointerFile("latest", ".tmp-1"), file(".tmp-1/x", longAgo))}, []string{"blocked latest: it names .tmp-1, which is not there"}},
		{"fresh_pointer_to_nothing", State{Rule: all, Tree: tree(File{Path: "latest", Link: "ckpt-9", ModTime: stampOf(recent)})}, []string{"wait latest: it is being written"}},
		{"pointer_to_what_the_rule_leaves_out", State{Rule: Rule{Prefix: "fsx", Changed: true}, Tree: tree(pointerFile("latest", "ckpt-1"), file("ckpt-1/x", longAgo)), Objects: objects(namedAtNoon())},
			[]string{"blocked latest: the rule does not export ckpt-1/x"}},
		{"number_without_a_directory", State{Rule: all, Tree: tree(pointerFile("run/latest_step.txt", "7"), file("run/step-7.bin", recent), file("run/a.log", noon))},
			[]string{"put fsx/run/a.log: new", "wait run/step-7.bin: it is being written", "wait run/latest_step.txt: it waits for run/step-7.bin"}},
		{"latest_that_is_a_log", State{Rule: all, Tree: tree(pointerFile("latest.log", "two\nlines\n"))}, []string{"put fsx/latest.log: new"}},
	})
}

func TestDecideDeletes(t *testing.T) {
	foreign := store.Object{Key: "fsx/a", SizeBytes: 3, Modified: noon}
	gone := tree(file("b", longAgo))
	empty := tree()
	exportedB := objectOf(file("b", longAgo))
	decides(t, []decided{
		{"deleted", State{Rule: all, Tree: gone, Before: &gone, Objects: objects(exportedB, objectOf(file("a", longAgo)))}, []string{"delete fsx/a: its file is gone"}},
		{"deleted_not_in_rule", State{Rule: Rule{Prefix: "fsx", New: true, Changed: true}, Tree: gone, Before: &gone, Objects: objects(exportedB, objectOf(file("a", longAgo)))}, nil},
		{"deleted_at_first_look", State{Rule: all, Tree: gone, Objects: objects(exportedB, objectOf(file("a", longAgo)))}, nil},
		{"deleted_since_the_last_look", State{Rule: all, Tree: gone, Before: new(tree(file("a", longAgo))), Objects: objects(exportedB, objectOf(file("a", longAgo)))}, nil},
		{"object_that_never_was_a_file", State{Rule: all, Tree: gone, Before: &gone, Objects: objects(exportedB, foreign)}, nil},
		{"empty_directory", State{Rule: all, Tree: empty, Before: &empty, Objects: objects(exportedB)}, []string{"kept b: the directory is empty"}},
		{"deleted_but_maybe_named", State{Rule: all, Tree: tree(pointerFile("latest", "ckpt-2"), file("ckpt-2/x", recent)), Before: &gone,
			Objects: objects(objectOf(file("ckpt-1/x", longAgo)), namedAtNoon())},
			[]string{"wait ckpt-2/x: it is being written", "wait latest: it waits for ckpt-2/x", "kept ckpt-1/x: the exported latest may name it"}},
	})
}

// randomState is a directory in the middle of its life, with some of it exported.
func randomState(r *rand.Rand) State {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	some := func() Tree {
		var files []File
		seen := map[string]bool{}
		for range r.IntN(12) {
			p := pick("", "run/", "run/") + pick("", "checkpoint-1/", "checkpoint-2/", ".tmp-c/", "iter_0000003/") + pick("a", "b.bin", "c.log", "d.tmp", "latest", "latest_checkpointed_iteration.txt", "latest_x")
			if seen[p] {
				continue
			}
			seen[p] = true
			f := file(p, noon.Add(-time.Duration(r.IntN(9000))*time.Millisecond))
			if pointerName(p) {
				f.Text = pick("checkpoint-1", "checkpoint-2", "3", "nothing", "two\nlines", "", ".", "..", "../run")
				f.SizeBytes = int64(len(f.Text))
			}
			files = append(files, f)
		}
		t := tree(files...)
		for d := range t.Dirs {
			t.Dirs[d] = Dir{ModTime: recent, ChangeTime: recent.Add(time.Duration(r.IntN(2)) * time.Millisecond)}
		}
		return t
	}
	s := State{Rule: Rule{Prefix: "fsx", New: r.IntN(4) > 0, Changed: r.IntN(4) > 0, Deleted: r.IntN(2) > 0}, Pace: DefaultPace, Time: noon, Tree: some(), Objects: map[string]object{}}
	if r.IntN(3) > 0 {
		before := some()
		s.Before = &before
	}
	for _, f := range slices.Concat(s.Tree.Files, some().Files) {
		if r.IntN(2) == 0 && !temporary(f.Path) {
			f.SizeBytes += int64(r.IntN(2))
			s.Objects[f.Path] = lean(objectOf(f))
		}
	}
	return s
}

// after is the bucket when a plan's first n puts are done, and all its deletes if n is all of them.
func after(s State, p Plan, n int) map[string]object {
	m := maps.Clone(s.Objects)
	for _, put := range p.Puts[:n] {
		m[put.File.Path] = lean(store.Object{SizeBytes: put.File.SizeBytes, Modified: s.Time, Meta: metadata(put.File), SHA256: "x"})
	}
	if n == len(p.Puts) {
		for _, d := range p.Deletes {
			delete(m, d.File.Path)
		}
	}
	return m
}

func TestDecideLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pointers, deletes := 0, 0
	for range 20000 {
		s := randomState(r)
		p := Decide(s)
		for i, put := range p.Puts {
			if temporary(put.File.Path) {
				t.Fatalf("%s is temporary: %v", put.File.Path, lines(p))
			}
			if pt, ok := s.Tree.pointer(put.File); ok {
				pointers++
				wantDataFirst(t, s, p, pt, after(s, p, i))
			}
		}
		deletes += len(p.Deletes)
		if len(p.Deletes) > 0 && (!s.Rule.Deleted || s.Before == nil) {
			t.Fatalf("deletes that were not asked for: %v", lines(p))
		}
		wantSettled(t, s)
	}
	if pointers < 1000 || deletes < 1000 {
		t.Fatalf("only %d pointers and %d deletes were seen", pointers, deletes)
	}
}

// wantSettled checks that rounds come to an end: a second one only has what the first made possible, which is a pointer
// to a pointer and a delete that waited for one.
func wantSettled(t *testing.T, s State) {
	t.Helper()
	for n := range 4 {
		p := Decide(s)
		if len(p.Puts)+len(p.Deletes) == 0 {
			return
		}
		for _, put := range p.Puts {
			if n > 0 && !pointerName(put.File.Path) {
				t.Fatalf("round %d puts %s: %v", n, put.Key, lines(p))
			}
		}
		s.Objects = after(s, p, len(p.Puts))
	}
	t.Fatalf("the rounds do not end: %v", lines(Decide(s)))
}

// wantDataFirst checks that all data of a directory that a pointer names was there, in some state, before the pointer.
func wantDataFirst(t *testing.T, s State, p Plan, pt pointer, have map[string]object) {
	t.Helper()
	for _, f := range s.Tree.Files {
		if temporary(f.Path) || pointerName(f.Path) || !below(f.Path, pt.target) || (pt.loose && growing(f.Path)) {
			continue
		}
		o, ok := have[f.Path]
		if !ok || (s.Rule.Changed && !growing(f.Path) && !exported(f, o)) {
			t.Fatalf("%s comes before %s: %v", pt.file.Path, f.Path, lines(p))
		}
	}
}
