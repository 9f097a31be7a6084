package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// megatron: Megatron-LM. Its distributed checkpoint is one of torch with metadata.json after it
// (https://github.com/NVIDIA/Megatron-LM/blob/core_v0.16.1/megatron/core/dist_checkpointing/serialization.py, save). Its legacy
// one has a directory mp_rank_TENSOR[_PIPELINE[_EXPERT]] for each rank, and no last file but the tracker outside.
func (p *part) megatron() {
	backends := p.backends()
	if p.has("common.pt") || backends.Sharded != "" || p.commonInside() {
		p.distributed(backends)
		return
	}
	ranks := p.ranks()
	if len(ranks) == 0 {
		return
	}
	p.layout = "Megatron"
	if !p.Named {
		p.slow = first(p.slow, "its tracker file does not name it yet")
	}
	if p.all {
		p.grid(ranks)
	}
}

// backends is what metadata.json says of how Megatron-LM wrote a checkpoint (core/dist_checkpointing/core.py, CheckpointingConfig).
type backends struct {
	Sharded string `json:"sharded_backend"` // torch_dist; older versions write zarr, whose tensors are directories
	Common  string `json:"common_backend"`  // torch; newer versions do not say it
}

func (p *part) backends() backends {
	var said backends
	if json.Unmarshal(p.begin("metadata.json"), &said) != nil {
		return backends{}
	}
	return said
}

// distributed holds that there is all of a checkpoint that is written as .metadata and metadata.json say.
func (p *part) distributed(said backends) {
	p.layout = "Megatron"
	if !p.has("metadata.json") {
		p.torn = first(p.torn, path.Join(p.dir, "metadata.json")+", which is written last, is not there")
		return
	}
	p.seals = append(p.seals, "metadata.json")
	switch {
	case !p.has(".metadata") && said.Sharded != "zarr":
		p.torn = first(p.torn, path.Join(p.dir, ".metadata")+" is not there")
	case !p.has("common.pt") && p.needsCommon(said):
		p.torn = first(p.torn, path.Join(p.dir, "common.pt")+", which is written first, is not there")
	}
}

// needsCommon reports whether what is no tensor has to be in common.pt: Megatron Core up to 0.16.1 at least writes it there first, and
// says so in metadata.json. A version that does not say it may have it inside, which a .metadata that is not known whole does not tell.
func (p *part) needsCommon(said backends) bool {
	switch {
	case p.commonInside():
		return false
	case said.Common == "torch":
		return true
	}
	all := int64(len(p.begin(".metadata"))) == p.names[".metadata"].SizeBytes
	return said.Common == "" && all && (said.Sharded == "torch_dist" || said.Sharded == "zarr")
}

// commonInside reports whether what is no tensor is among the tensors, as newer versions have it
// (https://github.com/NVIDIA/Megatron-LM/blob/d98e8a64/megatron/core/dist_checkpointing/serialization.py, load_common_state_dict).
func (p *part) commonInside() bool {
	return bytes.Contains(p.begin(".metadata"), []byte("common_state/shard_"))
}

// ranks are the directories of ranks right in a directory, with the files of each.
func (p *part) ranks() map[string][]string {
	ranks := map[string][]string{}
	for _, f := range p.Files {
		if rel, ok := cut(f.Path, p.dir); ok && strings.HasPrefix(rel, "mp_rank_") && strings.Count(rel, "/") == 1 {
			rank, name := path.Split(rel)
			ranks[strings.TrimSuffix(rank, "/")] = append(ranks[strings.TrimSuffix(rank, "/")], name)
		}
	}
	return ranks
}

// grid holds that there is each rank, and that each has model_optim_rng.pt.
func (p *part) grid(ranks map[string][]string) {
	var sizes []int
	var parallel string
	for _, name := range slices.Sorted(maps.Keys(ranks)) {
		parallel = name
		for i, n := range numbers(name) {
			if i == len(sizes) {
				sizes = append(sizes, 0)
			}
			sizes[i] = max(sizes[i], n+1)
		}
	}
	head := p.begin(path.Join(parallel, "model_optim_rng.pt"))
	for _, name := range slices.Sorted(maps.Keys(ranks)) {
		if b := p.begin(path.Join(name, "model_optim_rng.pt")); b != nil {
			head = b
		}
	}
	said := 0
	for i, key := range []string{"tensor_model_parallel_size", "pipeline_model_parallel_size"} {
		if n, ok := pickled(head, key); ok {
			said++
			if i < len(sizes) {
				sizes[i] = max(sizes[i], n)
			}
		}
	}
	if said == 2 && len(sizes) < 3 { // how many ranks there are of experts it does not say
		for rank, files := range ranks {
			for _, name := range files {
				p.counted = append(p.counted, kindOf(path.Join(p.dir, rank, name)))
			}
		}
	}
	want := 1
	for _, n := range sizes {
		want *= n
	}
	if len(ranks) < want {
		p.torn = first(p.torn, fmt.Sprintf("%d of the directories of %d ranks are there", len(ranks), want))
	}
	p.equal(ranks)
}

// equal holds that all ranks have a model, and all or none an optimizer of their own.
func (p *part) equal(ranks map[string][]string) {
	every := []string{"model_optim_rng.pt"}
	for _, files := range ranks {
		if len(every) == 1 && slices.Contains(files, "distrib_optim.pt") {
			every = append(every, "distrib_optim.pt")
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		for _, name := range every {
			if !slices.Contains(ranks[rank], name) {
				p.torn = first(p.torn, path.Join(p.dir, rank, name)+" is not there")
			}
		}
	}
}
