package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
)

// TestListShowsWhatCannotBeRead holds that it has a row, that the others have theirs, and that it is a problem.
func TestListShowsWhatCannotBeRead(t *testing.T) {
	found := []data.Found{
		{Prefix: "a", Head: manifest.Head{State: manifest.Whole, Files: 3, Bytes: 5, Committed: time.Unix(0, 0)}},
		{Prefix: "b", Err: errors.New("b/.muster/dataset.json: no\nhead")},
	}
	for output, rows := range map[string][]string{
		"":     {"s3://bucket/a  whole    3      5 B", "s3://bucket/b  unknown  -      -     -"},
		"json": {`"files": 3`, `"state": "unknown"`, `"error": "b/.muster/dataset.json: no\nhead"`},
	} {
		var out, said bytes.Buffer
		a := &app{out: &out, err: &said, output: output}
		if err := a.listDatasets(target{bucket: "bucket"}, found); err == nil {
			t.Error("it is no problem")
		}
		for _, row := range rows {
			if !strings.Contains(out.String(), row) {
				t.Errorf("%q is not in\n%s", row, &out)
			}
		}
		if want := "muster: s3://bucket/b: b/.muster/dataset.json: no\\nhead\n"; said.String() != want {
			t.Errorf("got %q, want %q", &said, want)
		}
	}
}

// TestListOfFilesIsNotHeld holds that a list of files as JSON is what it was when it was made at once, and that it goes out while the
// files are read.
func TestListOfFilesIsNotHeld(t *testing.T) {
	for _, n := range []int{0, 1, 3, 20_000} {
		answer := datasetAnswer{datasetLine: datasetLine{Dataset: "s3://b/<set>", State: "whole"}, Folders: []data.Folder{}}
		for i := range n {
			answer.Records = append(answer.Records, manifest.Record{Path: fmt.Sprintf("a<%d>", i), SizeBytes: int64(i), Parts: []string{"x"}})
		}
		var got, want bytes.Buffer
		if err := (&app{out: &want}).writeJSON(answer); err != nil {
			t.Fatal(err)
		}
		records := func(yield func(manifest.Record, error) bool) {
			for i, r := range answer.Records {
				if i == 10_000 && got.Len() == 0 {
					t.Error("it is held")
				}
				if !yield(r, nil) {
					return
				}
			}
		}
		few := answer
		few.Records = nil
		if err := (&app{out: &got, output: "json"}).listFiles(few, records); err != nil {
			t.Error(err)
		}
		if got.String() != want.String() {
			t.Errorf("of %d files it says\n%.300s\nwant\n%.300s", n, &got, &want)
		}
	}
	var out bytes.Buffer
	broken := func(yield func(manifest.Record, error) bool) { yield(manifest.Record{}, errors.New("unread")) }
	if err := (&app{out: &out, output: "json"}).listFiles(datasetAnswer{}, broken); err == nil || out.Len() > 0 {
		t.Errorf("got %v, and %q", err, &out)
	}
}
