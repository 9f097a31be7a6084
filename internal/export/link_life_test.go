package export_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestAbsoluteLinksComeBack takes links of jobs, which see the directory as /fsx3, to the bucket and back.
func TestAbsoluteLinksComeBack(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{
		"ck/checkpoint-1/x": "x",
		"abs":               "-> /fsx3/ck",
		"ck/latest":         "-> /fsx3/ck/checkpoint-1",
		"latest":            "-> /fsx3/ck/checkpoint-1",
	})
	want := files{"fsx1/ck/checkpoint-1/x": "x", "fsx1/abs": "ck", "fsx1/ck/latest": "checkpoint-1", "fsx1/latest": "ck/checkpoint-1"}
	fake := &storetest.Fake{}
	finish(t, mirror(dir, fake))
	if got := bucket(t, fake); len(got) != len(want) {
		t.Errorf("the bucket has %v", got)
	}
	for key, text := range bucket(t, fake) {
		if text != want[key] {
			t.Errorf("%s says %q, want %q", key, text, want[key])
		}
	}
	puts := fake.Puts()
	for name, rule := range map[string]export.Rule{"same_mount": {Mount: "/fsx3"}, "other_mount": {Mount: "/data"}} {
		rule.Dir, rule.Prefix, rule.Import = t.TempDir(), "fsx1", allOf
		m := &export.Mirror{Rule: rule, Store: fake, Record: record(t, "", rule)}
		if got := round(t, m); got.Files != len(want) || len(got.Failed) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if text, err := os.ReadFile(filepath.Join(rule.Dir, "ck/latest/x")); string(text) != "x" {
			t.Errorf("%s: the link leads to %q, %v", name, text, err)
		}
		finish(t, mirror(rule.Dir, fake))
	}
	if _, err := mirror(dir, fake).Round(t.Context(), soon()); err != nil || fake.Puts() != puts {
		t.Errorf("%d links were put again: %v", fake.Puts()-puts, err)
	}
}
