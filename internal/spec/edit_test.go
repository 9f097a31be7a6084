package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

// edits are changes of values that rules see, each as its schema says: yamledit holds the
// layouts. Where after is empty there must be no fix, because none is sure.
var edits = []struct {
	name          string
	edit          func(root spec.View) *diag.Fix
	before, after string
}{
	{"replace_plain", system("alinux2023"), "Image:\n  Os: alinux2 # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_quoted_number", size("64"), "HeadNode: {LocalStorage: {RootVolume: {Size: \"x\"}}}\n", "HeadNode: {LocalStorage: {RootVolume: {Size: 64}}}\n"},
	{"replace_no_number", size("a"), "HeadNode: {LocalStorage: {RootVolume: {Size: 5}}}\n", ""},
	{"replace_aliased", system("b"), "X: &x {Os: a}\nImage: *x\n", ""},
	{"replace_merged", system("b"), "X: &x {Os: a}\nImage:\n  <<: *x\n  CustomAmi: y\n", ""},
	{"replace_absent", system("b"), "Image:\n  CustomAmi: a\n", ""},
	{"remove_nested_crlf", remove("HeadNode.InstanceType"), "HeadNode:\r\n  InstanceType: x # a\r\n  Ssh: {}\r\n", "HeadNode:\r\n  # a\r\n  Ssh: {}\r\n"},
	{"remove_only", remove("Image.Os"), "Image:\n  Os: x\n", ""},
	{"remove_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[0].Remove() },
		"Tags:\n- Key: a # c\n  Value: b\n- Key: d\n  Value: e\n", "Tags:\n# c\n- Key: d\n  Value: e\n"},
	{"remove_flow_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[0].Remove() }, "Tags: [a, b]\n", "Tags: [b]\n"},
	{"insert_block", insert, "Image:\n  Os: x # a\n   # b\n  # c\nRegion: y\n", "Image:\n  Os: x # a\n   # b\n  CustomAmi: z\n  # c\nRegion: y\n"},
	{"insert_there", insert, "Image: {CustomAmi: x}\n", ""},
	{"insert_null", insert, "Image:\nRegion: x\n", ""},
	{"insert_aliased", insert, "X: &a {Os: x}\nImage: *a\n", ""},
	{"insert_number", func(v spec.View) *diag.Fix { return v.At("HeadNode.LocalStorage.RootVolume").Insert("Size", "64") },
		"HeadNode: {LocalStorage: {RootVolume: {Encrypted: true}}}\n", "HeadNode: {LocalStorage: {RootVolume: {Encrypted: true, Size: 64}}}\n"},
}

func system(value string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix { return v.At("Image.Os").Replace(value) }
}

func size(value string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix { return v.At("HeadNode.LocalStorage.RootVolume.Size").Replace(value) }
}

func insert(v spec.View) *diag.Fix { return v.Key("Image").Insert("CustomAmi", "z") }

func remove(path string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix { return v.At(path).Remove() }
}

func TestEdit(t *testing.T) {
	for _, row := range edits {
		t.Run(row.name, func(t *testing.T) {
			f := spec.OpenText("cluster.yaml", []byte(row.before), spec.Options{})
			root, ok := f.Root()
			if !ok {
				t.Fatal("the text is no YAML")
			}
			fix := row.edit(root)
			if f.Finish(); fix != nil && len(fix.Edits) == 0 {
				fix = nil
			}
			if (fix == nil) != (row.after == "") {
				t.Fatalf("fix %v, want %q", fix, row.after)
			}
			if fix == nil {
				return
			}
			got, ok := diag.Patch([]byte(row.before), fix.Edits)
			if !ok {
				t.Fatalf("the edits do not fit: %+v", fix.Edits)
			}
			if diff := cmp.Diff(row.after, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fix.Title == "" || strings.ContainsAny(fix.Title, "\r\n\x1b") {
				t.Errorf("title %q", fix.Title)
			}
			if !yamledit.CommentsKept([]byte(row.before), got) {
				t.Error("a comment is lost")
			}
		})
	}
}
