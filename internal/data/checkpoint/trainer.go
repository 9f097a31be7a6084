package checkpoint

import (
	"fmt"
	"path"
	"slices"
)

// trainer: the Trainer of Hugging Face's transformers writes weights, optimizer, scheduler and random states, and then
// trainer_state.json (https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py,
// _save_checkpoint).
func (p *part) trainer() {
	ours := p.has("training_args.bin") && p.any(patterns().trainer)
	switch {
	case p.has("trainer_state.json"):
		p.layout, p.seals = "Hugging Face", append(p.seals, "trainer_state.json")
	case ours:
		p.layout, p.torn = "Hugging Face", first(p.torn, "trainer_state.json, which is written last, is not there")
		return
	case p.has("training_args.bin"):
		p.layout, p.slow = "Hugging Face", first(p.slow, "trainer_state.json is not there yet")
		return
	default:
		return
	}
	if p.all {
		p.trained()
	}
}

// trained holds that there is what the Trainer needs to go on.
func (p *part) trained() {
	deep := p.under("global_step")
	switch {
	case !p.any(patterns().weights) && !p.under("pytorch_model") && !deep:
		p.torn = first(p.torn, "there are no weights")
	case deep && !p.has("latest"):
		p.torn = first(p.torn, "latest, which names the states of DeepSpeed, is not there")
	case !p.any(patterns().trainer) && !deep: // the weights alone were to be saved
	case !p.has("optimizer.pt") && !p.has("optimizer.bin") && !p.under("optimizer") && !deep:
		p.torn = first(p.torn, "optimizer.pt is not there")
	case !p.has("scheduler.pt") && !deep:
		p.torn = first(p.torn, "scheduler.pt is not there")
	case !p.has("training_args.bin"):
		p.torn = first(p.torn, "training_args.bin is not there")
	case !p.under("rng_state"):
		p.torn = first(p.torn, "rng_state.pth is not there")
	default:
		p.judgeRandomStates()
	}
}

// judgeRandomStates holds that the random states of ranks have no gap between them: each rank writes rng_state_RANK.pth, a single one rng_state.pth
// (https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py, _save_rng_state).
func (p *part) judgeRandomStates() {
	var ranks []int
	for name := range p.names {
		if m := patterns().random.FindStringSubmatch(name); m != nil {
			ranks = append(ranks, numbers(m[1])...)
		}
	}
	if len(ranks) == 0 {
		return
	}
	slices.Sort(ranks)
	from := 0
	if ranks[0]%len(ranks) == 0 {
		from = ranks[0] // with save_on_each_node, a node has those of its own ranks
	}
	for i, n := range ranks {
		if n != from+i {
			p.torn = first(p.torn, path.Join(p.dir, fmt.Sprintf("rng_state_%d.pth", from+i))+" is not there")
			return
		}
	}
}
