package controller

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestEvents_rotate: the files stay small, and what is in them is the last that
// happened, in order.
func TestEvents_rotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const all = 200
	for part := range 2 { // a controller that starts again goes on
		e, err := OpenEvents(path)
		if err != nil {
			t.Fatal(err)
		}
		e.limit = 1000
		for i := range all / 2 {
			e.Add(Event{Kind: "k", Reason: strconv.Itoa(part*all/2 + i)})
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var last []int
	for _, file := range []string{Earlier(path), path} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 1200 {
			t.Errorf("%s has %d bytes", file, info.Size())
		}
		last = append(last, reasonsOf(t, file)...)
	}
	for i, n := range last {
		if want := all - len(last) + i; n != want {
			t.Fatalf("event %d of %v is %d, want %d", i, last, n, want)
		}
	}
	if len(last) < 10 {
		t.Errorf("only %v are left", last)
	}
}

func reasonsOf(t *testing.T, path string) []int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []int
	for in := bufio.NewScanner(f); in.Scan(); {
		var e Event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(e.Reason)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}
