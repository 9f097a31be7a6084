package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/yamledit"
)

// edits are changes in every layout of a file. Where after is empty there must
// be no fix, because none is sure.
var edits = []struct {
	name          string
	edit          func(root spec.View) *diag.Fix
	before, after string
}{
	{"replace_plain", system("alinux2023"), "Image:\n  Os: alinux2 # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_longer_before_comment", system("alinux2023"), "Image:\n  Os: alinux2    # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_too_long_before_comment", system("alinux2023"), "Image:\n  Os: a  # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_shorter_before_comment", system("한"), "Image:\n  Os: alinux2  # x\n", "Image:\n  Os: \"한\"      # x\n"},
	{"replace_flow", system("alinux2023"), "Image: {Os: alinux2, CustomAmi: x}", "Image: {Os: alinux2023, CustomAmi: x}"},
	{"replace_double_quoted", system("alinux2023"), "Image:\n  Os: \"alinux2\"\n", "Image:\n  Os: \"alinux2023\"\n"},
	{"replace_single_quoted", system("it's"), "Image:\n  Os: 'a''b'\n", "Image:\n  Os: 'it''s'\n"},
	{"replace_needs_quotes", system("yes"), "Image:\n  Os: x\n", "Image:\n  Os: \"yes\"\n"},
	{"replace_hash", system("a # b"), "Image: {Os: x}\n", "Image: {Os: \"a # b\"}\n"},
	{"replace_crlf_bom", system("b"), "\ufeffImage:\r\n  Os: a\r\n", "\ufeffImage:\r\n  Os: b\r\n"},
	{"replace_wide", system("b"), "한글: {글: 한}\nImage: {CustomAmi: 글, Os: a}\n", "한글: {글: 한}\nImage: {CustomAmi: 글, Os: b}\n"},
	{"replace_quoted_number", size("64"), "HeadNode: {LocalStorage: {RootVolume: {Size: \"x\"}}}\n", "HeadNode: {LocalStorage: {RootVolume: {Size: 64}}}\n"},
	{"replace_no_number", size("a"), "HeadNode: {LocalStorage: {RootVolume: {Size: 5}}}\n", ""},
	{"replace_block_text", system("b"), "Image:\n  Os: |\n    a\n", ""},
	{"replace_two_lines", system("b"), "Image:\n  Os: a\n    b\n", ""},
	{"replace_anchored", system("b"), "Image:\n  Os: &x a\n", ""},
	{"replace_aliased", system("b"), "X: &x {Os: a}\nImage: *x\n", ""},
	{"replace_merged", system("b"), "X: &x {Os: a}\nImage:\n  <<: *x\n  CustomAmi: y\n", ""},
	{"replace_tagged", system("b"), "Image:\n  Os: !!str a\n", ""},
	{"replace_absent", system("b"), "Image:\n  CustomAmi: a\n", ""},
	{"replace_same", system("b"), "Image:\n  Os: b\n", ""},
	{"replace_control", system("b\x1b"), "Image:\n  Os: b\n", ""},

	{"rename_plain", rename, "Image: # a\n  Os: x # b\n", "Image: # a\n  CustomAmi: x # b\n"},
	{"rename_quoted", rename, "Image: {\"Os\": x}\n", "Image: {CustomAmi: x}\n"},
	{"rename_map", func(v spec.View) *diag.Fix { return v.Key("HeadNode").Rename("Region") }, "HeadNode:\n  Ssh: {}\n", "Region:\n  Ssh: {}\n"},
	{"rename_taken", rename, "Image: {Os: x, CustomAmi: y}\n", ""},
	{"rename_aliased", rename, "X: &x\n  Os: a\nImage: *x\n", ""},
	{"rename_complex_key", rename, "Image:\n  ? Os\n  : a\n", "Image:\n  ? CustomAmi\n  : a\n"},
	{"rename_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[0].Rename("X") }, "Tags:\n- Key: a\n  Value: b\n", ""},

	{"remove_middle", remove("Image"), "Region: a\nImage:\n  Os: x\n\nTags: []\n", "Region: a\n\nTags: []\n"},
	{"remove_keeps_comments", remove("Image"), "Region: a\n# above\nImage: # right\n  # within\n  Os: x # deep\n  # below\n# next\nTags: []\n",
		"Region: a\n# above\n# right\n# within\n# deep\n# below\n# next\nTags: []\n"},
	{"remove_last", remove("Image"), "Region: a\nImage: {Os: x} # why", "Region: a\n# why"},
	{"remove_nested_crlf", remove("HeadNode.InstanceType"), "HeadNode:\r\n  InstanceType: x # a\r\n  Ssh: {}\r\n", "HeadNode:\r\n  # a\r\n  Ssh: {}\r\n"},
	{"remove_only", remove("Image.Os"), "Image:\n  Os: x\n", ""},
	{"remove_flow_first", remove("Image.Os"), "Image: {Os: x, CustomAmi: y}\n", "Image: {CustomAmi: y}\n"},
	{"remove_flow_last", remove("Image.CustomAmi"), "Image: {Os: x, CustomAmi: [y, \"}\"] }\n", "Image: {Os: x }\n"},
	{"remove_flow_lines", remove("Image.CustomAmi"), "Image: {\n  Os: x, # a\n  CustomAmi: y\n}\n", ""},
	{"remove_flow_lines_first", remove("Image.Os"), "Image: {\n  Os: x,\n  CustomAmi: y # a\n}\n", "Image: {\n  CustomAmi: y # a\n}\n"},
	{"remove_first_of_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[1].Key("Key").Remove() },
		"Tags:\n  - {Key: z}\n  - Key: a # c\n    # d\n\n    Value: b\n", "Tags:\n  - {Key: z}\n  - # c\n    # d\n    Value: b\n"},
	{"remove_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[0].Remove() },
		"Tags:\n- Key: a # c\n  Value: b\n- Key: d\n  Value: e\n", "Tags:\n# c\n- Key: d\n  Value: e\n"},
	{"remove_flow_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[0].Remove() }, "Tags: [a, b]\n", "Tags: [b]\n"},
	{"remove_quoted_lines", remove("Image"), "Image: {Os: \"a\n# no comment\n b\"}\nRegion: x\n", "Region: x\n"},
	{"remove_block_text", remove("Image"), "Image:\n  Os: |\n    # no comment\n\n    b\nRegion: x\n", "Region: x\n"},
	{"remove_anchor_in_use", remove("Image"), "Image: &a {Os: x}\nRegion: *a\n", ""},
	{"remove_before_block_number", remove("Image"), "Image: x\nRegion: |2\n    a\n", ""},

	{"insert_block", insert, "Image:\n  Os: x # a\n   # b\n  # c\nRegion: y\n", "Image:\n  Os: x # a\n   # b\n  CustomAmi: z\n  # c\nRegion: y\n"},
	{"insert_deep", func(v spec.View) *diag.Fix { return v.Key("HeadNode").Insert("InstanceType", "c6i.large") },
		"HeadNode:\n    Ssh:\n        KeyName: k\n\nRegion: y\n", "HeadNode:\n    Ssh:\n        KeyName: k\n    InstanceType: c6i.large\n\nRegion: y\n"},
	{"insert_no_newline", insert, "Image:\r\n  Os: x", "Image:\r\n  Os: x\r\n  CustomAmi: z"},
	{"insert_flow", insert, "Image: {Os: x}\n", "Image: {Os: x, CustomAmi: z}\n"},
	{"insert_flow_comma", insert, "Image: {\n  Os: x , # a\n}\n", "Image: {\n  Os: x , CustomAmi: z # a\n}\n"},
	{"insert_flow_empty", insert, "Image: { }\n", "Image: { CustomAmi: z}\n"},
	{"insert_dashes", func(v spec.View) *diag.Fix { return v.Key("HeadNode").Key("Ssh").Insert("KeyName", "k") },
		"HeadNode:\n  Ssh:\n    AllowedIps:\n    - a\n    - b\n  Image: {}\n", "HeadNode:\n  Ssh:\n    AllowedIps:\n    - a\n    - b\n    KeyName: k\n  Image: {}\n"},
	{"insert_there", insert, "Image: {CustomAmi: x}\n", ""},
	{"insert_null", insert, "Image:\nRegion: x\n", ""},
	{"insert_aliased", insert, "X: &a {Os: x}\nImage: *a\n", ""},
	{"insert_number", func(v spec.View) *diag.Fix { return v.At("HeadNode.LocalStorage.RootVolume").Insert("Size", "64") },
		"HeadNode: {LocalStorage: {RootVolume: {Encrypted: true}}}\n", "HeadNode: {LocalStorage: {RootVolume: {Encrypted: true, Size: 64}}}\n"},

	{"move_lines", move("HeadNode.Ssh", "Image"), "HeadNode:\n  InstanceType: a\n  # above\n  Ssh: # right\n    # in\n\n    KeyName: |\n      a\n\n       b\n    AllowedIps:\n    - c\n    # below\n  Iam: {}\nImage:\n    Os: x\nTags: []\n",
		"HeadNode:\n  InstanceType: a\n  Iam: {}\nImage:\n    Os: x\n    # above\n    Ssh: # right\n      # in\n\n      KeyName: |\n        a\n\n         b\n      AllowedIps:\n      - c\n      # below\nTags: []\n"},
	{"move_down_in_place", move("Tags", "Image"), "Image:\n    Os: x\n\n# a\nTags:\n- b\n\n- c\n# d\nRegion: z\n", "Image:\n    Os: x\n\n    # a\n    Tags:\n    - b\n\n    - c\n# d\nRegion: z\n"},
	{"move_up", move("HeadNode.Ssh", ""), "HeadNode:\n  InstanceType: a\n  Ssh:\n    KeyName: k\n", "HeadNode:\n  InstanceType: a\nSsh:\n  KeyName: k\n"},
	{"move_from_end_without_newline", move("Tags", "Image"), "Image:\n  Os: x\nRegion: y\nTags: z", "Image:\n  Os: x\n  Tags: z\nRegion: y\n"},
	{"move_to_end_without_newline", move("Tags", "Image"), "Tags: z\r\nImage:\r\n  Os: x", "Image:\r\n  Os: x\r\n  Tags: z"},
	{"move_flow_to_block", move("HeadNode.Ssh", "Image"), "HeadNode: {Ssh: {KeyName: k}, Iam: {}}\nImage:\n  Os: x\n", "HeadNode: {Iam: {}}\nImage:\n  Os: x\n  Ssh: {KeyName: k}\n"},
	{"move_block_to_flow", move("HeadNode.Ssh", "Image"), "HeadNode:\n  Ssh: {KeyName: k} # c\n  Iam: {}\nImage: {Os: x}\n", "HeadNode:\n  # c\n  Iam: {}\nImage: {Os: x, Ssh: {KeyName: k}}\n"},
	{"move_lines_to_flow", move("HeadNode.Ssh", "Image"), "HeadNode:\n  Ssh:\n    KeyName: k\n  Iam: {}\nImage: {Os: x}\n", ""},
	{"move_first_of_item", func(v spec.View) *diag.Fix { return v.Key("Tags").Items()[0].Key("Key").Move(v) },
		"Region: x\nTags:\n  - Key: a\n    Value: b\n", "Region: x\nTags:\n  - Value: b\nKey: a\n"},
	{"move_with_anchor", move("HeadNode.Ssh", "Image"), "HeadNode:\n  Ssh: &s {KeyName: k}\n  Iam: {}\nImage: {Os: x}\n", ""},
	{"move_into_itself", move("HeadNode", "HeadNode.Ssh"), "Region: x\nHeadNode:\n  Ssh:\n    KeyName: k\n", ""},
	{"move_taken", move("HeadNode.Image", ""), "HeadNode:\n  Image: {Os: x}\n  Iam: {}\nImage: {Os: y}\n", ""},
}

func system(value string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix { return v.At("Image.Os").Replace(value) }
}

func size(value string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix { return v.At("HeadNode.LocalStorage.RootVolume.Size").Replace(value) }
}

func rename(v spec.View) *diag.Fix { return v.At("Image.Os").Rename("CustomAmi") }

func insert(v spec.View) *diag.Fix { return v.Key("Image").Insert("CustomAmi", "z") }

func remove(path string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix { return v.At(path).Remove() }
}

func move(path, to string) func(spec.View) *diag.Fix {
	return func(v spec.View) *diag.Fix {
		if to == "" {
			return v.At(path).Move(v)
		}
		return v.At(path).Move(v.At(to))
	}
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

// TestEdit_together holds that a fix is proposed whatever becomes of the others:
// of these, some hold only one at a time, and one never does.
func TestEdit_together(t *testing.T) {
	text := "HeadNode:\n  Ssh: {KeyName: k}\n  InstanceType: c6i.large\nImage:\n  Os: x\n  CustomAmi: y\nRegion: a\nTags: []\n"
	f := spec.OpenText("cluster.yaml", []byte(text), spec.Options{})
	root, ok := f.Root()
	if !ok {
		t.Fatal("the text is no YAML")
	}
	fixes := map[string]*diag.Fix{
		"one":         root.At("Image.Os").Remove(),
		"the_other":   root.At("Image.CustomAmi").Remove(),
		"both_around": root.Key("Image").Remove(),
		"another":     root.Key("Tags").Remove(),
		"never":       root.Key("HeadNode").Move(root.At("HeadNode.Ssh")),
	}
	f.Finish()
	for name, fix := range fixes {
		if holds := fix != nil && len(fix.Edits) > 0; holds != (name != "never") {
			t.Errorf("%s: %+v", name, fix)
		}
	}
}
