package checkpoint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// dcp: torch.distributed.checkpoint. Each rank writes __RANK_N.distcp; when all did, the coordinator writes .metadata,
// which names them, under another name and renames it
// (https://github.com/pytorch/pytorch/blob/main/torch/distributed/checkpoint/filesystem.py, FileSystemWriter.finish).
// A rank with nothing to write may leave no file, so a gap between their numbers says nothing.
func (p *part) dcp() {
	if !p.any(patterns().data) && !(p.has(".metadata") && len(metadataNames(p.begin(".metadata"))) > 0) {
		return
	}
	p.layout = "torch distributed checkpoint"
	if !p.has(".metadata") {
		p.torn = path.Join(p.dir, ".metadata") + ", which is written last, is not there"
		return
	}
	p.seals = append(p.seals, ".metadata")
	text := p.begin(".metadata")
	names, all := metadataNames(text), int64(len(text)) == p.names[".metadata"].SizeBytes
	for _, name := range names {
		if !p.has(name) {
			p.torn = fmt.Sprintf("%s, which .metadata names, is not there", path.Join(p.dir, name))
			return
		}
	}
	switch {
	case all && cutPickle(text):
		p.torn = path.Join(p.dir, ".metadata") + " is a pickle without an end"
	case all && len(text) > 0 && len(names) == 0 && p.hasData():
		p.torn = path.Join(p.dir, ".metadata") + " names none of its files"
	}
	p.long(lengths(text))
}

// hasData reports whether a rank has written something.
func (p *part) hasData() bool {
	for name, f := range p.names {
		if f.SizeBytes > 0 && patterns().data.MatchString(name) {
			return true
		}
	}
	return false
}

// long holds that each file has as many bytes at least.
func (p *part) long(ends map[string]int64) {
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		switch f, ok := p.file(name); {
		case !ok && name == path.Base(name):
			p.torn = first(p.torn, fmt.Sprintf("%s, which .metadata names, is not there", path.Join(p.dir, name)))
		case ok && f.SizeBytes < ends[name]:
			p.torn = first(p.torn, fmt.Sprintf("%s has %d bytes, and .metadata says %d", path.Join(p.dir, name), f.SizeBytes, ends[name]))
		case ok:
			p.checked = append(p.checked, name)
		}
	}
}

// cut is a path below a directory.
func cut(p, dir string) (string, bool) {
	if dir == "." {
		return p, true
	}
	return strings.CutPrefix(p, dir+"/")
}

// numbers are the numbers in a name.
func numbers(name string) []int {
	var all []int
	for text := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(text)
		if err != nil || n > 1e6 {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// deepSpeed: DeepSpeed. Each rank writes its states, with no last file but "latest" beside the directory, which is
// written when all did (https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/engine.py,
// save_checkpoint). The model's states say how many ranks there are.
func (p *part) deepSpeed() {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(p.names)), patterns().states.MatchString) {
		return
	}
	p.layout = "DeepSpeed"
	pointer, nested := p.nestedPointer()
	if nested {
		p.leads(pointer)
	}
	if !p.Named && !nested {
		p.slow = first(p.slow, "the latest beside it does not name it yet")
	}
	if p.all {
		p.states()
	}
}

// nestedPointer is the pointer beside the directory if that is a part of a checkpoint, as with Hugging Face's Trainer and Lightning.
func (p *part) nestedPointer() (File, bool) {
	up := path.Join(path.Dir(p.dir), "latest")
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Path == up })
	if p.dir == "." || i < 0 {
		return File{}, false
	}
	return p.Files[i], true
}

// leads holds that such a pointer names a directory that is there: DeepSpeed loads no other.
func (p *part) leads(pointer File) {
	text, read := p.Begins[pointer.Path]
	name := path.Base(strings.TrimSpace(string(text)))
	dir := path.Join(path.Dir(pointer.Path), name) + "/"
	switch {
	case pointer.SizeBytes == 0:
		p.torn = first(p.torn, pointer.Path+" has 0 bytes")
	case read && int64(len(text)) == pointer.SizeBytes && !slices.ContainsFunc(p.Files, func(f File) bool { return strings.HasPrefix(f.Path, dir) }):
		p.torn = first(p.torn, fmt.Sprintf("%s names %s, which is not there", pointer.Path, name))
	}
}

// states holds that there are the states of all ranks.
func (p *part) states() {
	data, model, optim := 0, 0, false
	modelByData := false
	var head []byte
	for name := range p.names {
		m := patterns().states.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if b := p.begin(name); b != nil {
			head = b
		}
		n := numbers(m[2])
		if n == nil {
			return
		}
		model = max(model, n[0]+1)
		if n = numbers(m[1]); m[1] != "" && n != nil {
			data = max(data, n[0]+1)
			modelByData = modelByData || m[3] == "model"
		}
		optim = optim || m[3] == "optim"
	}
	ranks, ranksSaid := pickled(head, "dp_world_size")
	parallel, parallelSaid := pickled(head, "mp_world_size")
	if ranksSaid && parallelSaid {
		p.count(patterns().states)
	}
	p.complete(max(data, ranks), max(model, parallel), optim, modelByData)
}

func (p *part) complete(data, model int, optim, modelByData bool) {
	have := map[[3]string]bool{}
	for name := range p.names {
		if m := patterns().states.FindStringSubmatch(name); m != nil {
			have[[3]string{strings.TrimLeft(m[1], "0"), strings.TrimLeft(m[2], "0"), m[3]}] = true
		}
	}
	text := func(n int) string { return strings.TrimLeft(strconv.Itoa(n), "0") }
	for m := range model { // the first that is missing ends it: there may be very many
		if !modelByData && !have[[3]string{"", text(m), "model"}] {
			p.torn = first(p.torn, fmt.Sprintf("the model's states of rank %d are not there", m))
			return
		}
		for d := range data {
			of := [3]string{text(d), text(m), "model"}
			if modelByData && !have[of] {
				p.torn = first(p.torn, fmt.Sprintf("the model's states of rank %d (%d of model parallel) are not there", d, m))
				return
			}
			of[2] = "optim"
			if (optim || modelByData) && !have[of] {
				p.torn = first(p.torn, fmt.Sprintf("the optimizer's states of rank %d (%d of model parallel) are not there", d, m))
				return
			}
		}
	}
}

// shards: weights in several files with an index that names them, as of Hugging Face; the index is written after them.
func (p *part) shards() {
	for name := range p.names {
		if !patterns().index.MatchString(name) {
			continue
		}
		p.layout = first(p.layout, "Hugging Face")
		shards, tensors := indexed(p.begin(name))
		for _, shard := range shards {
			if !p.has(shard) {
				p.torn = first(p.torn, fmt.Sprintf("%s, which %s names, is not there", path.Join(p.dir, shard), name))
			}
		}
		p.sum(name, shards, tensors)
	}
	p.allOf()
}

// sum compares shards with the bytes of all tensors in them, as their index says: with the headers of files they are more. What
// each shard says of itself comes first, since indexes count tensors that share their bytes once or twice
// (https://github.com/huggingface/huggingface_hub/blob/main/src/huggingface_hub/serialization/_base.py).
func (p *part) sum(index string, shards []string, tensors int64) {
	all, said := int64(0), true
	for _, shard := range shards {
		c, read := p.Contents[path.Join(p.dir, shard)]
		if !read {
			return // it may be a symbolic link
		}
		all, said = all+p.names[shard].SizeBytes, said && (c.Checked || c.Torn != "")
	}
	if !said && all < tensors {
		p.torn = first(p.torn, fmt.Sprintf("the shards of %s have %d bytes, and it says %d", path.Join(p.dir, index), all, tensors))
	}
}

func (p *part) file(rel string) (File, bool) {
	if f, ok := p.names[rel]; ok {
		return f, true
	}
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Path == path.Join(p.dir, rel) })
	if i < 0 {
		return File{}, false
	}
	return p.Files[i], true
}
