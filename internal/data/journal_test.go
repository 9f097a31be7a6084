package data

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/data/manifest"
)

func notesOf(t *testing.T, j *journal) []note {
	t.Helper()
	var all []note
	for n, err := range j.notes() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

func opened(t *testing.T, path string) *journal {
	t.Helper()
	j, err := openJournal(path)
	if err == nil {
		err = j.mend()
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func added(t *testing.T, j *journal, notes ...note) {
	t.Helper()
	for _, n := range notes {
		if err := j.add(n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := opened(t, path)
	first, second := manifest.Record{Path: "b", Version: "1"}, manifest.Record{Path: "b", Version: "2"}
	added(t, j, note{Path: "c", Begun: &begun{Upload: "x"}}, note{Path: "b", Record: &first}, note{Path: "a", Begun: &begun{Upload: "y"}},
		note{Path: "b", Record: &second}, note{Path: "a", Record: &manifest.Record{Path: "a"}})
	if _, err := openJournal(path); !errors.Is(err, ErrBusy) {
		t.Errorf("a journal that somebody has: %v", err)
	}
	if _, err := j.file.WriteString(`{"path":"d","record":{"pa`); err != nil { // and there it was cut off
		t.Fatal(err)
	}
	j.close()
	j = opened(t, path)
	added(t, j, note{Path: "e", Record: &manifest.Record{Path: "e"}})
	got := notesOf(t, j)
	if len(got) != 4 || got[0].Path != "a" || got[0].Begun != nil || got[1].Record.Version != "2" || got[2].Begun.Upload != "x" || got[3].Path != "e" {
		t.Errorf("got %+v", got)
	}
	if err := j.remove(); err != nil {
		t.Fatal(err)
	}
	again := opened(t, path) // though the other one is not closed yet
	if got := notesOf(t, again); len(got) != 0 {
		t.Errorf("a new journal has %+v", got)
	}
	j.close()
	again.close()
}

// TestAnyPile sorts random notes in pieces, and compares with sorting them at once.
func TestAnyPile(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := pile{dir: t.TempDir(), most: 200 + r.IntN(3000)}
		defer p.close()
		last := map[string]int{}
		n := r.IntN(200)
		for i := range n {
			path := fmt.Sprint(r.IntN(50))
			last[path] = i
			if err := p.add(note{Path: path, Begun: &begun{Upload: fmt.Sprint(i)}}); err != nil {
				t.Fatal(err)
			}
		}
		before, seen := note{}, 0
		for now, err := range p.sorted() {
			if err != nil {
				t.Fatal(err)
			}
			var i, j int
			fmt.Sscan(now.Begun.Upload, &i)
			if before.Begun != nil {
				fmt.Sscan(before.Begun.Upload, &j)
			}
			if now.Path < before.Path || now.Path == before.Path && i < j {
				t.Fatalf("seed %d: %s %d comes after %s %d", seed, now.Path, i, before.Path, j)
			}
			before = now
			seen++
		}
		if seen != n {
			t.Errorf("seed %d: %d of %d notes", seed, seen, n)
		}
		if left, err := os.ReadDir(p.dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(`{"path":"a","begun":{"upload":"x","as":"y"}}`))
	f.Add([]byte(`{"path":"../a","record":{"path":"../a"}}`))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if n, ok := readNote(line); ok && manifest.CheckPath(n.Path) != nil {
			t.Errorf("%q is a note of %q", line, n.Path)
		}
	})
}
