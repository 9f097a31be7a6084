package trainlog

import "bytes"

// isEval reports whether a word says that a line is of an evaluation.
func isEval(word []byte) bool {
	if len(word) < 3 || len(word) > 11 {
		return false
	}
	var lower [11]byte
	for i, b := range word {
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		lower[i] = b
	}
	return evalWord(lower[:len(word)])
}

func evalWord(word []byte) bool {
	switch string(word) {
	case "val", "valid", "validation", "validate", "validating", "eval", "evaluation", "evaluating", "evaluate", "test", "testing", "dev", "infer",
		"inference", "predict", "predicting", "sanity":
		return true
	}
	return false
}

// The ranks of losses: the one that is trained for comes first.
const (
	lossPlain = iota
	lossTotal
	lossSome  // nll_loss, box_loss
	lossAside // z_loss, aux_loss
)

// loss reads what a loss is called: loss, lm loss, train/loss, loss/train/total, CrossEntropyLoss, val_loss.
func (k *key) loss() name {
	at := -1
	for i, p := range k.parts[:k.n] {
		if bytes.HasSuffix(p, []byte("loss")) || string(p) == "xent" {
			at = i
		}
	}
	if at < 0 {
		if k.n == 1 && (k.last("val") || k.last("valid")) {
			return name{role: isEvalLoss, rank: lossAside, bare: true} // "loss train: 2.1, val: 2.2"
		}
		return name{}
	}
	rank := lossPlain
	if string(k.parts[at]) != "loss" {
		rank = lossTotal
	}
	eval := false
	for i, p := range k.parts[:k.n] {
		if i == at {
			continue
		}
		switch string(p) {
		case "scale", "scaling", "scaler", "weight", "weights", "coef", "coeff", "fn", "func", "function", "type", "ratio", "delta", "best", "min", "minimum", "lowest",
			"prev", "previous", "target", "threshold", "std", "var", "variance", "mask", "spike", "spikes", "window", "change", "improvement", "count", "nan":
			return name{}
		case "z", "aux", "auxiliary", "balance", "balancing", "router", "moe", "entropy", "kl", "reg", "vq", "gate":
			rank = max(rank, lossAside)
		case "train", "training", "total", "lm", "ce", "avg", "average", "mean", "running", "batch", "step", "reduced", "global", "smoothed", "current", "tr", "cur", "epoch", "overall":
			rank = max(rank, lossTotal)
		default:
			if evalWord(p) {
				eval = true
				continue
			}
			if i > at || i == at-1 {
				rank = max(rank, lossSome)
			}
		}
	}
	if k.n-1-at > 3 || k.other("of", "no", "from", "by", "without") {
		return name{} // "loss" stands in a sentence
	}
	if eval {
		return name{role: isEvalLoss, rank: uint8(rank)}
	}
	return name{role: isLoss, rank: uint8(rank)}
}

// isLossName reports whether a field of a bar is a loss: gpt_loss, avr_loss.
func isLossName(text []byte) bool {
	var k key
	return k.nameOf(text).role == isLoss
}
