package trainlog

import "bytes"

// role is what a number in a line is.
type role uint8

const (
	noRole role = iota
	isStep
	isSteps
	isEpoch
	isLoss
	isEvalLoss
	isRate // the learning rate
	isNorm // the gradient's
	isSamples
	isTokens
	isTokensPerGPU
	isFLOPs
	isMFU
	isSeconds // that a step takes
	isTime    // the same, if other fields of the line say so
	isStepsPerSecond
	isData // the time for data, beside which isTime is a step's
	isTrain
	isProgress
)

// name is what the text before a number says of it.
type name struct {
	role  role
	rank  uint8 // the lower, the better, of numbers of one role
	ms    bool
	says  bool // there are words
	bare  bool // it is val alone
	train bool // one of them is train, or begins so
	span  bool // it is a time that passed or is left, and not a step's
}

// names remembers what texts before numbers say: in a log they are few, and come again in each line.
type names struct {
	key   key
	known [256]struct {
		text [40]byte
		n    uint8 // its length; 0 is none
		name name
	}
}

// lookUp reads the text before a number.
func (all *names) lookUp(text []byte) name {
	if len(text) == 0 {
		return name{}
	}
	if len(text) > len(all.known[0].text) {
		return all.key.nameOf(text)
	}
	hash := uint32(2166136261)
	for _, b := range text {
		hash = (hash ^ uint32(b)) * 16777619
	}
	one := &all.known[(hash^hash>>15)%uint32(len(all.known))]
	if int(one.n) == len(text) && string(one.text[:one.n]) == string(text) {
		return one.name
	}
	one.n, one.name = uint8(copy(one.text[:], text)), all.key.nameOf(text)
	return one.name
}

// The ranks of what counts steps.
const (
	rankGlobal = iota // steps of the optimizer, over epochs
	rankStep
	rankIteration
	rankBatch
	rankPair  // 1/5005 without a word
	rankAlone // [100] at the beginning of a line
	rankMicro // a part of a step: micro_step
	rankEpoch
)

// mostParts is how many words of a key are looked at, the last ones.
const mostParts = 10

// key is the words before a number, in small letters: "elapsed time per iteration (ms): " has elapsed, time, per, iteration.
type key struct {
	buffer [96]byte
	parts  [mostParts][]byte
	n      int
	ms     bool
}

// nameOf reads a text.
func (k *key) nameOf(text []byte) name {
	k.read(text)
	if k.n == 0 {
		return name{}
	}
	is := k.name()
	is.ms, is.says, is.train = k.ms || k.has("ms"), true, k.hasAny("train")
	is.span = k.hasAny("eta", "elapsed", "remain", "total", "left", "uptime")
	return is
}

func (k *key) read(text []byte) {
	k.n, k.ms = 0, false
	text = bytes.TrimRight(text, " \t:='\"[({<>~")
	if n := len(text); n > 0 && text[n-1] == ')' {
		if open := bytes.LastIndexByte(text, '('); open > 0 {
			k.ms = bytes.Equal(text[open:], []byte("(ms)"))
			if bytes.HasSuffix(text, []byte("/sec)")) || bytes.HasSuffix(text, []byte("/s)")) {
				text = text[open+1 : n-1] // Speed (samples/sec)
			} else {
				text = bytes.TrimRight(text[:open], " \t")
			}
		}
	}
	text = text[max(0, len(text)-len(k.buffer)):]
	from := -1
	for i := range len(text) + 1 {
		b := byte(' ')
		if i < len(text) {
			b = text[i]
		}
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		word := 'a' <= b && b <= 'z' || isDigit(b) && from >= 0
		switch {
		case word && from < 0:
			from = i
		case !word && from >= 0:
			k.add(k.buffer[from:i])
			from = -1
		}
		if i < len(text) {
			k.buffer[i] = b
		}
	}
}

func (k *key) add(part []byte) {
	if k.n == mostParts {
		copy(k.parts[:], k.parts[1:])
		k.n--
	}
	k.parts[k.n] = part
	k.n++
}

// at is a word, counted from the end.
func (k *key) at(back int) string {
	if back >= k.n {
		return ""
	}
	return string(k.parts[k.n-1-back])
}

func (k *key) last(word string) bool { return k.n > 0 && string(k.parts[k.n-1]) == word }

func (k *key) has(word string) bool {
	for _, p := range k.parts[:k.n] {
		if string(p) == word {
			return true
		}
	}
	return false
}

// hasAny reports whether a word begins like one of these.
func (k *key) hasAny(words ...string) bool {
	for _, p := range k.parts[:k.n] {
		for _, w := range words {
			if len(p) >= len(w) && string(p[:len(w)]) == w {
				return true
			}
		}
	}
	return false
}

// name is what the words say.
func (k *key) name() name {
	if is := k.loss(); is.role != noRole {
		return is
	}
	if k.last("lr") { // behind the unit of the number before: "img/s train.lr : 0.1"
		return k.rate()
	}
	if is := k.speed(); is.role != noRole {
		return is
	}
	switch k.at(0) {
	case "step", "globalstep", "update", "updates", "iteration", "iterations", "iter", "iters", "it", "itr", "itrs", "nupdates", "batch", "minibatch", "idx", "steps":
		if is := k.step(); is.role != noRole {
			return is
		}
	case "timesteps":
		if k.at(1) == "total" { // Stable-Baselines3 has seen so many
			return name{role: isStep, rank: rankBatch}
		}
	case "epoch", "epochs", "ep":
		of := k.n == 2 && k.at(1) == "of" // Step 100/500 of epoch 1/10
		if k.other("max", "total", "num", "number", "per", "every", "n", "of", "best", "warmup") && !of {
			return name{}
		}
		return name{role: isEpoch}
	case "rate":
		if k.at(1) == "learning" {
			return k.rate()
		}
	case "train", "training":
		return name{role: isTrain}
	case "norm", "gnorm", "gradnorm":
		if k.last("norm") && k.n > 1 && !k.hasAny("grad") {
			return name{role: isNorm, rank: 1}
		}
		return name{role: isNorm}
	case "data":
		return name{role: isData}
	case "progress", "training_progress":
		return name{role: isProgress}
	}
	if k.has("lr") && !k.other("max", "min", "base", "initial", "peak", "final", "init") { // lr-Adam/group0
		return name{role: isRate, rank: 1}
	}
	return k.time()
}

// other reports whether a word before the last is one of these.
func (k *key) other(words ...string) bool {
	for _, p := range k.parts[:k.n-1] {
		for _, w := range words {
			if string(p) == w {
				return true
			}
		}
	}
	return false
}

func (k *key) rate() name {
	if k.other("max", "min", "base", "initial", "peak", "final", "init") {
		return name{}
	}
	return name{role: isRate}
}

// step reads "step", "global_step", "num_updates", "batch_idx"; "time per iteration", "max steps" and "skipped iterations" are none.
func (k *key) step() name {
	if k.other("max", "total") && k.other("step", "steps", "train", "training", "max", "total") && k.at(0) != "batch" {
		if k.other("time", "skipped", "loss", "in", "by", "s") {
			return name{}
		}
		return name{role: isSteps}
	}
	if k.other("number", "warmup", "every", "per", "skipped", "remaining", "nan", "save", "log", "logging", "accum", "accumulation", "eta", "time", "best",
		"ms", "s", "sec", "secs", "seconds", "tokens", "samples", "interval", "of", "last", "from", "resume", "resuming") {
		return name{}
	}
	is := name{role: isStep, rank: rankStep}
	switch k.at(0) {
	case "update", "updates", "nupdates", "globalstep":
		is.rank = rankGlobal
	case "iteration", "iterations", "iter", "iters", "it", "itr", "itrs":
		is.rank = rankIteration
	case "batch", "minibatch":
		is.rank = rankBatch
	case "idx":
		if k.at(1) != "batch" {
			return name{}
		}
		is.rank = rankBatch
	default:
		if k.at(1) == "global" {
			is.rank = rankGlobal
		}
	}
	if k.other("num") && is.rank != rankGlobal {
		return name{}
	}
	if k.hasAny("micro") {
		is.rank = rankMicro
	}
	return is
}

// The ranks of floating-point operations a second.
const (
	flopsPerGPU = iota
	flopsTera
	flopsAny
)

// speed reads tokens and samples a second, and how a GPU is used.
func (k *key) speed() name {
	perGPU := k.perGPU()
	switch {
	case k.hasAny("mfu"):
		return name{role: isMFU}
	case k.hasAny("tflop", "flop"):
		return k.flops()
	case k.last("wps"):
		return name{role: isTokens}
	case k.last("ups"):
		return name{role: isStepsPerSecond}
	case k.last("tgs") || k.at(0) == "tps" && perGPU:
		return name{role: isTokensPerGPU}
	case k.last("tps"):
		return name{role: isTokens}
	case !k.perSecond():
		return name{}
	case k.hasAny("tok"):
		if perGPU {
			return name{role: isTokensPerGPU}
		}
		return name{role: isTokens}
	case perGPU:
		return name{}
	case k.hasAny("sample", "img", "image", "seq", "sentence", "example"):
		return name{role: isSamples}
	case k.hasAny("step", "it", "update", "batch"):
		return name{role: isStepsPerSecond}
	}
	return name{}
}

// perGPU reports whether a word says that a speed is one GPU's.
func (k *key) perGPU() bool {
	return k.hasAny("gpu", "device", "chip", "core", "card") || k.last("tgs")
}

// flops reads what stands before TFLOPs, or before a number that is none of millions of millions.
func (k *key) flops() name {
	switch {
	case k.hasAny("util"):
		return name{role: isMFU}
	case k.perGPU() || k.has("rank"):
		return name{role: isFLOPs, rank: flopsPerGPU}
	case k.hasAny("tflop"):
		return name{role: isFLOPs, rank: flopsTera}
	}
	return name{role: isFLOPs, rank: flopsAny}
}

// perSecond reports whether the words end like "tok/s", "samples_per_sec", "tokens per second per GPU" and "tokens/s/device".
func (k *key) perSecond() bool {
	for i, p := range k.parts[:k.n] {
		switch string(p) {
		case "s", "sec", "second", "persec", "persecond":
			if i > 0 {
				return string(k.parts[i-1]) != "ms" && string(k.parts[i-1]) != "elapsed"
			}
		}
	}
	return false
}

// time reads how long a step takes.
func (k *key) time() name {
	has := func(words ...string) bool { return k.hasAny(words...) }
	counts := has("step", "iter", "batch", "it")
	switch {
	case k.last("seconds") && k.n <= 2, k.last("dt"), k.n == 1 && k.last("ms"), counts && k.n == 2 && k.has("s"):
		return name{role: isSeconds}
	case has("eta", "remain", "total", "data", "load", "val", "eval", "save", "max", "forward", "backward", "fwd", "bwd", "last"):
		if has("data", "load", "forward") {
			return name{role: isData}
		}
	case k.at(1) == "time": // Composer's time/batch counts
	case k.perGPU() && k.perSecond(): // device/batches_per_second is a speed, divided by the number of GPUs
	case counts && k.n >= 3 && k.at(1) == "s" && k.at(2) == "timing": // veRL
		return name{role: isSeconds}
	case counts && has("time", "ms", "sec", "duration", "elapsed", "took"):
		return name{role: isSeconds}
	case k.last("time"):
		return name{role: isTime}
	}
	return name{}
}
