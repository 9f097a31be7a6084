package yamledit

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
)

// edits are changes in every layout of a text. Where after is empty there must
// be no fix, because none is sure.
var edits = []struct {
	name          string
	edit          func(l *Layout) *diag.Fix
	before, after string
}{
	{"replace_plain", replace("Image.Os", "alinux2023", "str"), "Image:\n  Os: alinux2 # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_longer_before_comment", replace("Image.Os", "alinux2023", "str"), "Image:\n  Os: alinux2    # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_too_long_before_comment", replace("Image.Os", "alinux2023", "str"), "Image:\n  Os: a  # x\n", "Image:\n  Os: alinux2023 # x\n"},
	{"replace_shorter_before_comment", replace("Image.Os", "한", "str"), "Image:\n  Os: alinux2  # x\n", "Image:\n  Os: \"한\"      # x\n"},
	{"replace_flow", replace("Image.Os", "alinux2023", "str"), "Image: {Os: alinux2, CustomAmi: x}", "Image: {Os: alinux2023, CustomAmi: x}"},
	{"replace_double_quoted", replace("Image.Os", "alinux2023", "str"), "Image:\n  Os: \"alinux2\"\n", "Image:\n  Os: \"alinux2023\"\n"},
	{"replace_single_quoted", replace("Image.Os", "it's", "str"), "Image:\n  Os: 'a''b'\n", "Image:\n  Os: 'it''s'\n"},
	{"replace_needs_quotes", replace("Image.Os", "yes", "str"), "Image:\n  Os: x\n", "Image:\n  Os: \"yes\"\n"},
	{"replace_hash", replace("Image.Os", "a # b", "str"), "Image: {Os: x}\n", "Image: {Os: \"a # b\"}\n"},
	{"replace_crlf_bom", replace("Image.Os", "b", "str"), "\ufeffImage:\r\n  Os: a\r\n", "\ufeffImage:\r\n  Os: b\r\n"},
	{"replace_wide", replace("Image.Os", "b", "str"), "한글: {글: 한}\nImage: {CustomAmi: 글, Os: a}\n", "한글: {글: 한}\nImage: {CustomAmi: 글, Os: b}\n"},
	{"replace_quoted_number", replace("HeadNode.LocalStorage.RootVolume.Size", "64", "int"), "HeadNode: {LocalStorage: {RootVolume: {Size: \"x\"}}}\n", "HeadNode: {LocalStorage: {RootVolume: {Size: 64}}}\n"},
	{"replace_no_number", replace("HeadNode.LocalStorage.RootVolume.Size", "a", "int"), "HeadNode: {LocalStorage: {RootVolume: {Size: 5}}}\n", ""},
	{"replace_block_text", replace("Image.Os", "b", "str"), "Image:\n  Os: |\n    a\n", ""},
	{"replace_two_lines", replace("Image.Os", "b", "str"), "Image:\n  Os: a\n    b\n", ""},
	{"replace_anchored", replace("Image.Os", "b", "str"), "Image:\n  Os: &x a\n", ""},
	{"replace_aliased", replace("Image.Os", "b", "str"), "X: &x {Os: a}\nImage: *x\n", ""},
	{"replace_merged", replace("Image.Os", "b", "str"), "X: &x {Os: a}\nImage:\n  <<: *x\n  CustomAmi: y\n", ""},
	{"replace_tagged", replace("Image.Os", "b", "str"), "Image:\n  Os: !!str a\n", ""},
	{"replace_absent", replace("Image.Os", "b", "str"), "Image:\n  CustomAmi: a\n", ""},
	{"replace_same", replace("Image.Os", "b", "str"), "Image:\n  Os: b\n", ""},
	{"replace_control", replace("Image.Os", "b\x1b", "str"), "Image:\n  Os: b\n", ""},

	{"rename_plain", rename("Image.Os", "CustomAmi"), "Image: # a\n  Os: x # b\n", "Image: # a\n  CustomAmi: x # b\n"},
	{"rename_quoted", rename("Image.Os", "CustomAmi"), "Image: {\"Os\": x}\n", "Image: {CustomAmi: x}\n"},
	{"rename_map", rename("HeadNode", "Region"), "HeadNode:\n  Ssh: {}\n", "Region:\n  Ssh: {}\n"},
	{"rename_taken", rename("Image.Os", "CustomAmi"), "Image: {Os: x, CustomAmi: y}\n", ""},
	{"rename_aliased", rename("Image.Os", "CustomAmi"), "X: &x\n  Os: a\nImage: *x\n", ""},
	{"rename_complex_key", rename("Image.Os", "CustomAmi"), "Image:\n  ? Os\n  : a\n", "Image:\n  ? CustomAmi\n  : a\n"},
	{"rename_item", rename("Tags.0", "X"), "Tags:\n- Key: a\n  Value: b\n", ""},

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
	{"remove_first_of_item", remove("Tags.1.Key"),
		"Tags:\n  - {Key: z}\n  - Key: a # c\n    # d\n\n    Value: b\n", "Tags:\n  - {Key: z}\n  - # c\n    # d\n    Value: b\n"},
	{"remove_item", remove("Tags.0"),
		"Tags:\n- Key: a # c\n  Value: b\n- Key: d\n  Value: e\n", "Tags:\n# c\n- Key: d\n  Value: e\n"},
	{"remove_flow_item", remove("Tags.0"), "Tags: [a, b]\n", "Tags: [b]\n"},
	{"remove_quoted_lines", remove("Image"), "Image: {Os: \"a\n# no comment\n b\"}\nRegion: x\n", "Region: x\n"},
	{"remove_block_text", remove("Image"), "Image:\n  Os: |\n    # no comment\n\n    b\nRegion: x\n", "Region: x\n"},
	{"remove_anchor_in_use", remove("Image"), "Image: &a {Os: x}\nRegion: *a\n", ""},
	{"remove_before_block_number", remove("Image"), "Image: x\nRegion: |2\n    a\n", ""},

	{"insert_block", insert("Image", "CustomAmi", "z", "str"), "Image:\n  Os: x # a\n   # b\n  # c\nRegion: y\n", "Image:\n  Os: x # a\n   # b\n  CustomAmi: z\n  # c\nRegion: y\n"},
	{"insert_deep", insert("HeadNode", "InstanceType", "c6i.large", "str"),
		"HeadNode:\n    Ssh:\n        KeyName: k\n\nRegion: y\n", "HeadNode:\n    Ssh:\n        KeyName: k\n    InstanceType: c6i.large\n\nRegion: y\n"},
	{"insert_no_newline", insert("Image", "CustomAmi", "z", "str"), "Image:\r\n  Os: x", "Image:\r\n  Os: x\r\n  CustomAmi: z"},
	{"insert_flow", insert("Image", "CustomAmi", "z", "str"), "Image: {Os: x}\n", "Image: {Os: x, CustomAmi: z}\n"},
	{"insert_flow_comma", insert("Image", "CustomAmi", "z", "str"), "Image: {\n  Os: x , # a\n}\n", "Image: {\n  Os: x , CustomAmi: z # a\n}\n"},
	{"insert_flow_empty", insert("Image", "CustomAmi", "z", "str"), "Image: { }\n", "Image: { CustomAmi: z}\n"},
	{"insert_dashes", insert("HeadNode.Ssh", "KeyName", "k", "str"),
		"HeadNode:\n  Ssh:\n    AllowedIps:\n    - a\n    - b\n  Image: {}\n", "HeadNode:\n  Ssh:\n    AllowedIps:\n    - a\n    - b\n    KeyName: k\n  Image: {}\n"},
	{"insert_there", insert("Image", "CustomAmi", "z", "str"), "Image: {CustomAmi: x}\n", ""},
	{"insert_null", insert("Image", "CustomAmi", "z", "str"), "Image:\nRegion: x\n", ""},
	{"insert_aliased", insert("Image", "CustomAmi", "z", "str"), "X: &a {Os: x}\nImage: *a\n", ""},
	{"insert_number", insert("HeadNode.LocalStorage.RootVolume", "Size", "64", "int"),
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
	{"move_first_of_item", move("Tags.0.Key", ""),
		"Region: x\nTags:\n  - Key: a\n    Value: b\n", "Region: x\nTags:\n  - Value: b\nKey: a\n"},
	{"move_with_anchor", move("HeadNode.Ssh", "Image"), "HeadNode:\n  Ssh: &s {KeyName: k}\n  Iam: {}\nImage: {Os: x}\n", ""},
	{"move_into_itself", move("HeadNode", "HeadNode.Ssh"), "Region: x\nHeadNode:\n  Ssh:\n    KeyName: k\n", ""},
	{"move_taken", move("HeadNode.Image", ""), "HeadNode:\n  Image: {Os: x}\n  Iam: {}\nImage: {Os: y}\n", ""},

	{"around_word", around("Image.Os"), "Image: {Os: x-1} # c\n", "Image: {Os: [x-1]} # c\n"},
	{"around_quoted", around("Image.Os"), "Image:\n  Os: \"a, b]\" # c\n", "Image:\n  Os: [\"a, b]\"] # c\n"},
	{"around_aliased_anchor", around("Image.Os"), "Image: {Os: &a x}\n", ""},
}

func replace(path, value, typ string) func(*Layout) *diag.Fix {
	return at(path, func(l *Layout, s *Slot) *diag.Fix {
		if s.Shared {
			return nil
		}
		return l.Replace(s, value, typ)
	})
}

func rename(path, key string) func(*Layout) *diag.Fix {
	return at(path, func(l *Layout, s *Slot) *diag.Fix {
		if s.Key() == nil {
			return nil
		}
		return l.Rename(l.KeyAt(s.Key().Line, s.Key().Column), key)
	})
}

func remove(path string) func(*Layout) *diag.Fix {
	return at(path, func(l *Layout, s *Slot) *diag.Fix { return l.Remove(s, "remove "+path) })
}

func insert(path, key, value, typ string) func(*Layout) *diag.Fix {
	return func(l *Layout) *diag.Fix {
		in := l.mapOf(path)
		if in == nil {
			return nil
		}
		return l.Insert(in, key, value, typ)
	}
}

func around(path string) func(*Layout) *diag.Fix {
	return at(path, func(l *Layout, s *Slot) *diag.Fix { return l.Around(s, "[", "]", "make it a list") })
}

func move(path, to string) func(*Layout) *diag.Fix {
	return at(path, func(l *Layout, s *Slot) *diag.Fix { return l.Move(s, l.mapOf(to), s.Key().Value, "it") })
}

// at changes the value at a path, if there is one.
func at(path string, edit func(*Layout, *Slot) *diag.Fix) func(*Layout) *diag.Fix {
	return func(l *Layout) *diag.Fix {
		y := find(l.top, path)
		if y == nil {
			return nil
		}
		s := l.ValueAt(y.Line, y.Column, y.Kind)
		if s == nil {
			return nil
		}
		return edit(l, s)
	}
}

// mapOf is the map at a path, nil where there is none or an alias stands for it.
func (l *Layout) mapOf(path string) *yaml.Node {
	y := find(l.top, path)
	if y == nil || y.Kind != yaml.MappingNode {
		return nil
	}
	return l.MapAt(y.Line, y.Column)
}

// find is the value at a path of keys and numbers, as readers of YAML see it: aliases are
// what they stand for, and maps have what is merged into them.
func find(y *yaml.Node, path string) *yaml.Node {
	if y.Kind == yaml.AliasNode {
		return find(y.Alias, path)
	}
	step, rest, _ := strings.Cut(path, ".")
	if step == "" {
		return y
	}
	if i, err := strconv.Atoi(step); err == nil && y.Kind == yaml.SequenceNode && i < len(y.Content) {
		return find(y.Content[i], rest)
	}
	var merged *yaml.Node
	for i := 0; y.Kind == yaml.MappingNode && i < len(y.Content); i += 2 {
		switch y.Content[i].Value {
		case step:
			return find(y.Content[i+1], rest)
		case "<<":
			merged = find(y.Content[i+1], path)
		}
	}
	return merged
}

// settled is the fix that a text gets, nil where none is sure.
func settled(text string, edit func(*Layout) *diag.Fix) *diag.Fix {
	l := New([]byte(text))
	if l == nil {
		return nil // a form that is not looked into
	}
	fix := edit(l)
	if l.Settle(); fix != nil && len(fix.Edits) == 0 {
		return nil
	}
	return fix
}

func TestEdit(t *testing.T) {
	for _, row := range edits {
		t.Run(row.name, func(t *testing.T) {
			fix := settled(row.before, row.edit)
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
			if !CommentsKept([]byte(row.before), got) {
				t.Error("a comment is lost")
			}
		})
	}
}

// TestSettle_together holds that a fix is proposed whatever becomes of the others:
// of these, some hold only one at a time, and one never does.
func TestSettle_together(t *testing.T) {
	l := New([]byte("HeadNode:\n  Ssh: {KeyName: k}\n  InstanceType: c6i.large\nImage:\n  Os: x\n  CustomAmi: y\nRegion: a\nTags: []\n"))
	fixes := map[string]*diag.Fix{
		"one":         remove("Image.Os")(l),
		"the_other":   remove("Image.CustomAmi")(l),
		"both_around": remove("Image")(l),
		"another":     remove("Tags")(l),
		"never":       move("HeadNode", "HeadNode.Ssh")(l),
	}
	l.Settle()
	for name, fix := range fixes {
		if holds := fix != nil && len(fix.Edits) > 0; holds != (name != "never") {
			t.Errorf("%s: %+v", name, fix)
		}
	}
}

// FuzzEdit holds what is promised for any text: a fix that is proposed leaves YAML with all
// comments, without what it takes away, and with all that it moves.
func FuzzEdit(f *testing.F) {
	for _, row := range edits {
		f.Add([]byte(row.before))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := New(data)
		if l == nil {
			return
		}
		var fixes []*diag.Fix
		for _, s := range l.values {
			fixes = append(fixes, l.Remove(s, "remove"))
			if !s.Shared {
				fixes = append(fixes, l.Replace(s, "it's", "str"))
			}
			if s.Key() != nil {
				fixes = append(fixes, l.Rename(s, "Other"), l.Move(s, l.mapOf(""), "Moved", "the top"))
			}
		}
		l.Settle()
		for _, fix := range fixes {
			if fix == nil || len(fix.Edits) == 0 {
				continue
			}
			got, ok := diag.Patch(data, fix.Edits)
			if !ok || !CommentsKept(data, got) {
				t.Errorf("%s of %q: %+v gives %q", fix.Title, data, fix.Edits, got)
			}
		}
	})
}
