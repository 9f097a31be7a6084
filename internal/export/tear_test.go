package export

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// written is a file of a job, and when it came to be under its name. Its date may be older, as after a rename.
type written struct {
	file File
	at   time.Time
}

// tornJob writes checkpoints and moves a pointer to each when it is whole.
func tornJob(r *rand.Rand, start time.Time) (all []written) {
	at := start
	for n := range 1 + r.IntN(4) {
		dir := fmt.Sprintf("step-%d", n)
		for i := range 1 + r.IntN(4) {
			at = at.Add(time.Duration(1+r.IntN(3000)) * time.Millisecond)
			all = append(all, written{File{Path: fmt.Sprintf("%s/part%d", dir, i), SizeBytes: 3, ModTime: stampOf(at), Change: stampOf(at), Inode: uint64(len(all))}, at})
		}
		at = at.Add(time.Duration(1+r.IntN(3000)) * time.Millisecond)
		pointer := File{Path: "latest", Link: dir, Target: dir, SizeBytes: int64(len(dir)), ModTime: stampOf(at), Change: stampOf(at), Inode: uint64(len(all))}
		if r.IntN(2) == 0 {
			pointer.Link, pointer.Target, pointer.Text = "", "", dir
		}
		if r.IntN(2) == 0 {
			pointer.ModTime = stampOf(start.Add(-time.Hour)) // it was made beside, long before, and renamed
		}
		all = append(all, written{pointer, at})
	}
	return all
}

// torn is what a look sees that takes a while: the directories early, the pointer late.
func torn(all []written, early, late time.Time) Tree {
	seen := map[string]File{}
	for _, w := range all {
		if !w.at.After(early) || pointerName(w.file.Path) && !w.at.After(late) {
			seen[w.file.Path] = w.file
		}
	}
	var files []File
	for _, f := range seen {
		files = append(files, f)
	}
	return tree(files...)
}

// TestTornLooks has a job write while the directory is looked at: a pointer that was seen, but not the last of its data,
// is not exported before it.
func TestTornLooks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pointers, tears := 0, 0
	for range 600 {
		all := tornJob(r, noon)
		have := map[string]object{}
		var before *Tree
		for now := noon; now.Before(noon.Add(90 * time.Second)); {
			early := now.Add(time.Duration(r.IntN(200)) * time.Millisecond)
			late := early.Add(time.Duration(r.IntN(4000)) * time.Millisecond)
			seen := torn(all, early, late)
			p := Decide(State{Rule: everything, Pace: DefaultPace, Time: now, Tree: seen, Before: before, Objects: have})
			for _, put := range p.Puts {
				if pointerName(put.File.Path) {
					pointers++
					wantWhole(t, all, put.File, have)
				}
				have[put.File.Path] = lean(store.Object{SizeBytes: put.File.SizeBytes, Meta: metadata(put.File), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(put.File.Link)))})
			}
			if !sameFiles(seen, torn(all, late, late)) {
				tears++
			}
			before, now = &seen, late.Add(time.Second)
		}
	}
	if pointers < 500 || tears < 1000 {
		t.Fatalf("only %d pointers and %d tears were seen", pointers, tears)
	}
}

var everything = Rule{Prefix: "fsx", New: true, Changed: true}

func sameFiles(a, b Tree) bool {
	if len(a.Files) != len(b.Files) {
		return false
	}
	for i := range a.Files {
		if !unchanged(a.Files[i], b.Files[i]) {
			return false
		}
	}
	return true
}

// wantWhole checks that all data of a pointer is in the bucket.
func wantWhole(t *testing.T, all []written, pointer File, have map[string]object) {
	t.Helper()
	for _, w := range all {
		if _, ok := have[w.file.Path]; !ok && below(w.file.Path, pointer.Link+pointer.Text) {
			t.Fatalf("%s to %s comes before %s", pointer.Path, pointer.Link+pointer.Text, w.file.Path)
		}
	}
}
