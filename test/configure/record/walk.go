package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// builtin are Chef's own resources and those of the cookbooks that it brings.
var builtin = []string{
	"append_if_no_line", "bash", "chef_handler", "chef_sleep", "cookbook_file", "cron", "delete_lines", "directory", "execute", "file", "group",
	"hostname", "kernel_module", "link", "mdadm", "mount", "nfs_export", "ohai", "package", "remote_directory", "remote_file", "replace_or_add",
	"ruby_block", "service", "sysctl", "template", "user",
}

// walk follows recipes, resources and methods, each block once.
type walk struct {
	root       string
	kinds      map[string]bool
	custom     map[string][]string // files of the cookbook's own resources
	attributes map[string]string
	methods    map[string]source // of libraries, by name
	seen       map[string]bool
	found      []item
	err        error
}

func newWalk(root string) *walk {
	w := &walk{root: root, kinds: map[string]bool{}, custom: map[string][]string{}, attributes: map[string]string{}, methods: map[string]source{}, seen: map[string]bool{}}
	for _, k := range builtin {
		w.kinds[k] = true
	}
	w.readAttributes()
	for _, path := range w.files("resources/*.rb", "resources/*/*.rb") {
		name := filepath.Base(filepath.Dir(path))
		if name == "resources" {
			name = strings.TrimSuffix(filepath.Base(path), ".rb")
		}
		w.kinds[name] = true
		w.custom[name] = append(w.custom[name], path)
	}
	for _, path := range w.files("libraries/*.rb") {
		s := w.parse(path)
		for block := range s.blocks {
			if name, ok := strings.CutPrefix(block, "def "); ok {
				w.methods[name] = s
			}
		}
	}
	return w
}

// files are those of ParallelCluster's own cookbooks.
func (w *walk) files(patterns ...string) []string {
	var all []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(w.root, "cookbooks", "aws-parallelcluster-*", p))
		if err != nil {
			w.err = err
		}
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(p string) bool {
		return strings.Contains(p, "aws-parallelcluster-tests/") || strings.Contains(p, "aws-parallelcluster-awsbatch/")
	})
}

var attributeLine = regexp.MustCompile(`(?m)^ *default((?:\[['"][\w-]+['"]\])+) = (".*"|'.*'|[\d_]+)$`)

// readAttributes reads the attributes that are plain texts and numbers, those of which
// they are made first.
func (w *walk) readAttributes() {
	for range 3 {
		for _, path := range w.files("attributes/*.rb") {
			text, err := os.ReadFile(path)
			if err != nil {
				w.err = err
				return
			}
			p := &parser{values: w.attributes}
			for _, m := range attributeLine.FindAllStringSubmatch(string(text), -1) {
				if v := p.text(m[2]); !strings.Contains(v, "<") {
					w.attributes[attributeName(m[1])] = v
				}
			}
		}
	}
}

func (w *walk) parse(path string) source {
	text, err := os.ReadFile(path)
	if err != nil && w.err == nil {
		w.err = err
	}
	return parse(path, string(text), w.kinds, w.attributes)
}

// recipe follows one of the cookbook's recipes.
func (w *walk) recipe(name string) {
	cookbook, recipe, _ := strings.Cut(name, "::")
	found := w.files("recipes/"+recipe+".rb", "recipes/*/"+recipe+".rb")
	found = slices.DeleteFunc(found, func(p string) bool { return !strings.Contains(p, "/"+cookbook+"/") })
	switch {
	case strings.HasSuffix(cookbook, "-awsbatch") || recipe == "mock_munge_key":
		return
	case len(found) != 1:
		w.err = fmt.Errorf("recipe %s is in %d files", name, len(found))
		return
	}
	w.block(w.parse(found[0]), strings.TrimPrefix(name, "aws-parallelcluster-"), "", nil)
}

// block follows what a block of a file has. Its partials are where its actions and
// methods may be, too.
func (w *walk) block(s source, place, block string, partials []source) {
	id := s.path + " " + block
	for _, p := range partials {
		id += " " + p.path // what a partial has depends on who uses it
	}
	if w.seen[id] {
		return
	}
	w.seen[id] = true
	all := append([]source{s}, partials...)
	for _, e := range s.blocks[block] {
		switch {
		case e.include != "":
			w.recipe(e.include)
		case e.word != "":
			w.word(s, place, e.word, partials)
		default:
			w.resource(place, e, all)
		}
	}
}

// named puts in what methods return.
func named(text string, all []source) string {
	for _, s := range all {
		for method, value := range s.returns {
			if text == method {
				return value
			}
			text = strings.ReplaceAll(text, "<"+method+">", value)
		}
	}
	return text
}

// word follows a method, or an action that another one runs.
func (w *walk) word(s source, place, word string, partials []source) {
	action, isAction := strings.CutPrefix(word, "action_")
	for _, p := range append([]source{s}, partials...) {
		if isAction && p.blocks["action "+action] != nil {
			w.block(p, short(p.path)+" "+action, "action "+action, partials)
			return
		}
		if p.blocks["def "+word] != nil {
			w.block(p, place, "def "+word, partials)
			return
		}
	}
	if lib, ok := w.methods[word]; ok && lib.path != s.path {
		w.block(lib, short(lib.path)+" "+word, "def "+word, nil)
	}
}

// resource notes one of Chef's, and follows one of the cookbook's own.
func (w *walk) resource(place string, e *entry, all []source) {
	e.place = place
	found := e.item
	found.name, found.detail = named(e.name, all), named(e.detail, all)
	w.found = append(w.found, found)
	if e.from != "" || e.kind == "remote_directory" {
		w.settings(e)
	}
	for _, path := range w.custom[e.kind] {
		s := w.parse(path)
		partials := w.partials(s)
		actions := e.actions
		if actions == nil {
			actions = []string{firstOf(append([]source{s}, partials...))}
		}
		for _, a := range actions {
			for _, p := range append([]source{s}, partials...) {
				if p.blocks["action "+a] != nil {
					w.block(p, short(p.path)+" "+a, "action "+a, append([]source{s}, partials...))
					break
				}
			}
		}
	}
}

func firstOf(all []source) string {
	for _, s := range all {
		if s.first != "" {
			return s.first
		}
	}
	return "run"
}

// partials are the files that a resource's file uses.
func (w *walk) partials(s source) []source {
	var all []source
	for _, name := range s.uses {
		dir, file := filepath.Split(name)
		for _, f := range []string{file, "_" + file} {
			path := filepath.Join(filepath.Dir(s.path), dir, f+".rb")
			if _, err := os.Stat(path); err == nil {
				all = append(all, w.parse(path))
				break
			}
		}
	}
	return all
}

// short is a file as people name it: environment/nfs/nfs_ubuntu20.
func short(path string) string {
	_, rest, _ := strings.Cut(path, "/aws-parallelcluster-")
	rest = strings.NewReplacer("/resources/", "/", "/libraries/", "/", "/partial/", "/").Replace(strings.TrimSuffix(rest, ".rb"))
	return rest
}
