package cli

import (
	"bytes"
	"errors"
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
