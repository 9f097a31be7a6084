package checkpoint

import "strings"

// olmo: OLMo-core. It takes a directory as a checkpoint of a training only with train/rank0.pt, model_and_optim/.metadata and
// .metadata.json (https://github.com/allenai/OLMo-core/blob/main/src/olmo_core/train/checkpoint.py, dir_is_checkpoint). One of the
// weights alone has no other state: whether it is of these others of its run say.
func (p *part) olmo() {
	if _, ok := p.file("model_and_optim/.metadata"); p.dir != "." || !ok || p.has(".metadata") {
		return
	}
	zero, ranks := false, false
	for _, f := range p.Files {
		zero = zero || f.Path == "train/rank0.pt"
		ranks = ranks || strings.HasPrefix(f.Path, "train/rank")
	}
	switch {
	case !zero && ranks && p.all:
		p.torn = first(p.torn, "train/rank0.pt is not there")
	case !zero:
		p.slow = first(p.slow, "train/rank0.pt is not there yet")
	case !p.has(".metadata.json"):
		p.slow = first(p.slow, ".metadata.json is not there yet")
	}
}
