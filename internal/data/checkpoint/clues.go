package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// clues returns the beginnings of files that say which others there have to be, and how long they are.
func clues(files []File) []Span {
	var all []Span
	add := func(f File, most int64) { all = append(all, Span{Path: f.Path, Bytes: min(most, f.SizeBytes)}) }
	ranks := map[string]bool{}
	for _, f := range files {
		name, dir := path.Base(f.Path), path.Dir(f.Path)
		switch {
		case name == ".metadata", patterns().index.MatchString(name):
			add(f, 64<<20)
		case name == "latest" && f.SizeBytes <= 4<<10:
			add(f, 4<<10)
		case name == "manifest.json" && dir == ".", name == "metadata.json":
			add(f, 4<<20)
		case strings.HasSuffix(name, "mp_rank_00_model_states.pt"), name == "model_optim_rng.pt":
			if name == "model_optim_rng.pt" {
				dir = path.Dir(dir)
			}
			if !ranks[dir] {
				add(f, 8<<20)
			}
			ranks[dir] = true
		}
	}
	return all
}

var dataName = pattern.New(`__\d{1,9}_\d{1,9}\.distcp`)

// metadataNames are the files that a .metadata of torch.distributed.checkpoint names: it is a pickle, and their names
// are plain in it.
func metadataNames(pickle []byte) []string {
	found := map[string]bool{}
	for _, name := range dataName().FindAll(pickle, -1) {
		found[string(name)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// indexed returns the files that an index of Hugging Face names, and how many bytes their tensors have in all. Others than those
// right beside it are not counted.
func indexed(text []byte) (files []string, tensors int64) {
	var index struct {
		Weights  map[string]string `json:"weight_map"`
		Metadata struct {
			Bytes float64 `json:"total_size"`
		}
	}
	if json.Unmarshal(text, &index) != nil {
		return nil, 0
	}
	found := map[string]bool{}
	for _, name := range index.Weights {
		if name != "" && path.Base(name) == name {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), int64(index.Metadata.Bytes)
}

// pickled is a number above zero that a pickle has under a key. It does not read the pickle, which is a program: a key
// is its text, perhaps kept for later, and then the number, see pickletools of Python.
func pickled(text []byte, key string) (int, bool) {
	for {
		at := bytes.Index(text, []byte(key))
		if at < 0 {
			return 0, false
		}
		text = text[at+len(key):]
		if n, ok := number(kept(text)); ok && n > 0 && n < 1e6 {
			return n, true
		}
	}
}

// kept passes over the instruction by which a pickle keeps a text: BINPUT, LONG_BINPUT or MEMOIZE.
func kept(b []byte) []byte {
	switch {
	case len(b) > 2 && b[0] == 'q':
		return b[2:]
	case len(b) > 5 && b[0] == 'r':
		return b[5:]
	case len(b) > 1 && b[0] == 0x94:
		return b[1:]
	}
	return b
}

// number reads BININT1, BININT2 or BININT.
func number(b []byte) (int, bool) {
	switch {
	case len(b) > 1 && b[0] == 'K':
		return int(b[1]), true
	case len(b) > 2 && b[0] == 'M':
		return int(binary.LittleEndian.Uint16(b[1:])), true
	case len(b) > 4 && b[0] == 'J':
		return int(int32(binary.LittleEndian.Uint32(b[1:]))), true
	}
	return 0, false
}
