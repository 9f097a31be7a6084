package data_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// shelves is a fake whose keys can be gone through as directories.
type shelves struct{ *storetest.Fake }

func (s shelves) Folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last := ""
		for o, err := range s.List(ctx, prefix) {
			name, _, deeper := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
			if deeper && name != last && !yield(name+"/", err) {
				return
			}
			last = name
		}
	}
}

func TestDatasetsAreFound(t *testing.T) {
	bucket := shelves{fake()}
	for _, prefix := range []string{"one", "in/two", "in/three", "too/far/down/four", "one/inside"} {
		stock{"a": []byte("text")}.put(t, bucket, prefix)
	}
	puts(t, bucket, "loose", nil)
	puts(t, bucket, "none/x", nil)
	for _, row := range []struct {
		at   string
		want []string
	}{
		{"", []string{"in/three", "in/two", "one"}},
		{"in", []string{"in/three", "in/two"}},
		{"one", []string{"one"}},
		{"too/far", []string{"too/far/down/four"}},
		{"none", nil},
	} {
		found, err := data.Datasets(t.Context(), bucket, row.at)
		fine(t, err)
		var got []string
		for _, f := range found {
			got = append(got, f.Prefix)
			if f.Head.Files != 1 || f.Head.Bytes != 4 {
				t.Errorf("%s: got %+v", f.Prefix, f.Head)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("at %q: got %q, want %q", row.at, got, row.want)
		}
	}
}

func TestDatasetsBelowOneAreFound(t *testing.T) {
	bucket := shelves{fake()}
	for _, prefix := range []string{"", "one", "in/two", "own/three"} {
		stock{"own/a": []byte("text")}.put(t, bucket, prefix)
	}
	found, err := data.Below(t.Context(), bucket, "", []data.Folder{{Name: "own"}})
	fine(t, err)
	var got []string
	for _, f := range found {
		got = append(got, f.Prefix)
	}
	if want := []string{"in/two", "one"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADatasetThatCannotBeReadHidesNoOther(t *testing.T) {
	damaged := fake()
	bucket := shelves{damaged}
	for _, prefix := range []string{"a", "c", "e"} {
		stock{"x": []byte("text")}.put(t, bucket, prefix)
	}
	puts(t, bucket, manifest.HeadKey("b"), []byte("<html>"))
	puts(t, bucket, manifest.HeadKey("d"), bytes.Repeat([]byte(" "), 1<<20))
	damaged.Damage(manifest.HeadKey("e"))
	found, err := data.Datasets(t.Context(), bucket, "")
	fine(t, err)
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintln(f.Prefix, errors.Is(f.Err, data.ErrHead), f.Head.Files))
	}
	if want := []string{"a false 1\n", "b true 0\n", "c false 1\n", "d true 0\n", "e true 0\n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFoldersSumUp(t *testing.T) {
	bucket := fake()
	stock{"a/1": []byte("1"), "a/b/2": []byte("22"), "a-b": []byte("333"), "c/1": nil}.put(t, bucket, "p")
	want := []data.Folder{{Name: "a", Files: 2, Bytes: 3}, {Name: "c", Files: 1}, {Files: 1, Bytes: 3}}
	for _, records := range []func() ([]data.Folder, error){
		func() ([]data.Folder, error) { return data.Folders(opened(t, bucket, "p").Records(t.Context())) },
		func() ([]data.Folder, error) { return data.Folders(data.Objects(t.Context(), bucket, "p")) },
	} {
		got, err := records()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
}
