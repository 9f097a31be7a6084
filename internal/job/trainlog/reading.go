package trainlog

import "bytes"

// reading is what one line says in words that many programs use: a step, a loss, a speed.
type reading struct {
	step  int // indexes of fields; -1 is none
	rank  uint8
	epoch int
	loss  int
	steps int64
	pair  int64 // m of a pair without a word
	// batches says that there is a pair that counts something else: "Test: [ 10/196]".
	batches bool
	eval    bool   // the loss is an evaluation's
	other   bool   // it says something else that is worth seeing
	said    Sample // all but the step
	second  Value  // the loss of an evaluation in a line that has the training's, too
	zero    bool   // epochs count from 0
	bare    bool   // second is called val alone
}

// read reads a line.
func (f *fields) read(line []byte) reading {
	f.scan(line)
	r := reading{step: -1, epoch: -1, loss: -1, said: Sample{Step: NoStep}}
	var rank [isProgress + 1]uint8
	times, data := -1, false
	f.lossOfStep()
	for i := range f.n {
		one := &f.all[i]
		if one.open == '(' && !one.name.says && one.shut == ')' && !(i > 0 && i-1 == r.epoch && string(one.key) == "](") { // ===> Epoch[1](2/5)
			if times == i-1 && i > 0 {
				data = true // 0.331 ( 0.402) is a meter of one step and its mean
			}
			continue
		}
		is := f.nameOf(one)
		if is.role == isStep && one.open == '[' && one.shut == ',' && f.closesPair(i+1) {
			r.epoch = i // "step": [0, 10]
			continue
		}
		if is.role == noRole || is.role >= isTrain || is.role == isEvalLoss && (one.total != nil || one.open == '[') {
			is = f.byUnit(i, &r)
		}
		switch is.role {
		case noRole:
			continue
		case isStep, isEpoch:
			f.counts(i, is, &r)
			continue
		case isSteps:
			r.steps, _, _ = one.count()
			continue
		case isData:
			data = true
			continue
		case isTime:
			times = i
			continue
		}
		if rank[is.role] != 0 && rank[is.role] <= is.rank+1 {
			continue
		}
		if v := one.float(); v.Known && r.take(is, v, one) {
			rank[is.role] = is.rank + 1
			if is.role == isLoss {
				r.loss = i
			}
		}
	}
	if times >= 0 {
		one := &f.all[times]
		whole := data && bytes.HasPrefix(bytes.TrimSpace(one.key), []byte("train_")) // espnet's iter_time waits for data
		if v := one.float(); whole || !r.said.StepSeconds.Known && (data || bytes.HasPrefix(one.unit(), []byte("ms"))) {
			r.take(name{role: isSeconds, ms: one.name.ms}, v, one)
		}
	}
	f.finish(&r)
	return r
}

// lossOfStep reads "Train loss 100 6.0 Grad Norm 1.2", whose first number is a step: Tacotron 2, WaveGlow and others after them.
func (f *fields) lossOfStep() {
	if f.n < 2 || f.all[0].name.role != isLoss && f.all[0].name.role != isEvalLoss {
		return
	}
	first, second := &f.all[0], &f.all[1]
	if second.name.says || first.open == ':' || first.open == '=' || len(bytes.Trim(second.key, " :")) > 0 {
		return
	}
	if len(bytes.Trim(second.value, "0123456789")) == 0 {
		return // two counts
	}
	if _, _, ok := first.count(); ok {
		first.name, second.name = name{role: isStep, rank: rankIteration, says: true}, first.name
	}
}

// nameOf is what stands before a number. Of a speed in brackets its unit may say more: 1234.5 TFLOPS (154.3 TFLOPS per rank).
func (f *fields) nameOf(one *field) name {
	if one.name.role == isFLOPs && one.open == '(' {
		if is := f.names.lookUp(one.unit()); is.role == isFLOPs {
			return is
		}
	}
	return one.name
}

// byUnit reads a number by what stands behind it, or by where it stands.
func (f *fields) byUnit(i int, r *reading) name {
	one := &f.all[i]
	unit := one.unit()
	word, _, _ := bytes.Cut(unit, []byte(" "))
	for _, text := range [...][]byte{word, unit} {
		switch is := f.names.lookUp(text); is.role {
		case isSeconds:
			if !one.name.span {
				return is
			}
		case isSamples, isTokens, isTokensPerGPU, isFLOPs, isMFU, isStepsPerSecond:
			return is
		}
	}
	if string(word) == "/s" {
		return name{role: isSamples} // timm, OpenCLIP
	}
	n, total, ok := one.count()
	switch {
	case !ok:
	case total > 0 && n <= total && (!one.name.says || one.name.role >= isTrain || countsOf(word)):
		if f.pairFollows(i) && (one.name.role == isTrain || one.open == '[' && !one.name.says && r.epoch < 0) {
			return name{role: isEpoch} // Train: [0/300][0/1251], [0/25][10/50]
		}
		r.pair = total
		r.zero = r.zero || n == 0 && i > 0 && r.epoch == i-1 && one.open == '[' && f.all[i-1].open == '[' // Train: [1/300][0/1251]
		return name{role: isStep, rank: rankPair}
	case total > 0 && one.open == '[':
		r.batches = true
	case one.name.role == isTrain && f.pairFollows(i):
		r.zero = true
		return name{role: isEpoch} // Train: 0 [   0/1251 (  0%)]
	case one.open == '[' && (one.shut == ']' || one.shut == '|') && f.begins(one):
		return name{role: isStep, rank: rankAlone}
	case one.shut == ',' && f.closesPair(i+1) && (one.open == '[' && f.begins(one) || one.open == '(' && f.afterDash(one)):
		r.epoch = i // [1,  2000] loss: 2.196
	case f.closesPair(i) && i > 0 && r.epoch == i-1 && f.all[i-1].shut == ',':
		return name{role: isStep, rank: rankBatch}
	case bytes.HasPrefix(one.after, []byte("/Unknown ")) && i == 0:
		return name{role: isStep, rank: rankPair} // Keras, in its first epoch
	case i == 0 && one.shut == '|' && len(bytes.TrimLeft(one.key, " ")) == 0 && one.open == 0:
		return name{role: isStep, rank: rankAlone} // 100 | loss 4.33 | lr 3.0e-04
	case bytes.HasPrefix(one.after, []byte("epoch:")):
		return name{role: isEpoch} // espnet: 1epoch:train:1-100batch
	case bytes.HasPrefix(one.after, []byte("batch:")):
		return name{role: isStep, rank: rankBatch}
	}
	return name{}
}

// countsOf reports whether a unit counts steps: "200/ 2983 batches".
func countsOf(unit []byte) bool {
	switch string(unit) {
	case "batches", "batch", "steps", "step", "iters", "iter", "it", "iterations", "updates":
		return true
	}
	return false
}

// pairFollows reports whether the next number is one of "n/m" in brackets.
func (f *fields) pairFollows(i int) bool {
	return i+1 < f.n && f.all[i+1].open == '[' && f.all[i+1].total != nil
}

// begins reports whether a bracket stands where a line begins, or what a logger puts before it ends.
func (f *fields) begins(one *field) bool {
	before := bytes.TrimRight(f.line[:len(f.line)-len(one.after)-len(one.value)], " \t0123456789")
	before = bytes.TrimRight(bytes.TrimSuffix(before, []byte("[")), " \t")
	return len(before) == 0 || before[len(before)-1] == ']' || before[len(before)-1] == ':'
}

// closesPair reports whether a bracket closes behind a number that another one stands before.
func (f *fields) closesPair(i int) bool {
	return i < f.n && f.all[i].open == ',' && (f.all[i].shut == ']' || f.all[i].shut == ')')
}

// afterDash reports whether a bracket stands behind what a logger puts before it: "LOG Mon Jan  1 00:00:01 2024 - (0, 10)".
func (f *fields) afterDash(one *field) bool {
	before := f.line[:len(f.line)-len(one.after)-len(one.value)]
	return bytes.HasSuffix(before, []byte(" - (")) || len(before) == 1
}

// counts takes a step or an epoch, the best that the line has.
func (f *fields) counts(i int, is name, r *reading) {
	n, total, ok := f.all[i].count()
	switch {
	case is.rank == rankMicro && total > 0: // Micro Step 1/4 is a part of a step
	case is.role == isEpoch && r.epoch < 0:
		if ok && f.all[i].open == '[' && f.all[i].total == nil && bytes.HasSuffix(bytes.TrimRight(f.all[i].key, " ["), []byte(":")) {
			r.zero = true // Epoch: [0][   1/5005]
		}
		r.epoch = i
		r.zero = r.zero || ok && n == 0
	case is.role == isStep && ok && (r.step < 0 || is.rank < r.rank):
		r.step, r.rank = i, is.rank
	}
}

// take takes one value.
func (r *reading) take(is name, v Value, one *field) bool {
	to := valueIn(is.role, &r.said)
	switch is.role {
	case isEvalLoss:
		r.second, r.bare = v, is.bare
		return true
	case isMFU:
		if v.Float > 1 || len(one.after) > 0 && one.after[0] == '%' {
			v = v.over(100)
		}
	case isFLOPs:
		const tera, most = 1e12, 1e6 // no GPU has more TFLOPs
		if v.Float > most {
			v = v.over(tera)
		}
	case isSeconds:
		unit := one.unit()
		switch {
		case is.ms || bytes.HasPrefix(unit, []byte("ms")):
			v = v.over(1000)
		case bytes.HasPrefix(unit, []byte("us")), bytes.HasPrefix(unit, []byte("min")):
			return false
		}
	case isStepsPerSecond:
		if !(v.Float > 0) {
			return false
		}
		v = Some(1 / v.Float)
	}
	if to == nil {
		return false
	}
	r.other = r.other || is.role != isLoss
	*to = v
	return true
}

// valueIn is where a value goes.
func valueIn(of role, s *Sample) *Value {
	switch of {
	case isLoss:
		return &s.Loss
	case isRate:
		return &s.LearningRate
	case isNorm:
		return &s.GradNorm
	case isSamples:
		return &s.SamplesPerSecond
	case isTokens:
		return &s.TokensPerSecond
	case isTokensPerGPU:
		return &s.TokensPerSecondPerGPU
	case isFLOPs:
		return &s.TFLOPsPerGPU
	case isMFU:
		return &s.MFU
	case isSeconds, isStepsPerSecond:
		return &s.StepSeconds
	}
	return nil
}

// finish decides whose loss it is.
func (f *fields) finish(r *reading) {
	if r.epoch >= 0 {
		if v := f.all[r.epoch].float(); v.Known {
			r.said.Epoch = v
		}
	}
	ofTraining := r.loss >= 0 && f.all[r.loss].name.train
	switch {
	case f.eval < 0 || ofTraining:
	case r.loss >= 0 && len(f.line)-len(f.all[r.loss].after) > f.eval:
		r.eval = true
	}
	if r.bare && (r.loss < 0 || !f.all[r.loss].name.train) {
		r.second = Value{} // "Loss: 1.9, Val: 0.3" is an accuracy
	}
	switch {
	case r.loss < 0 && r.second.Known:
		r.eval, r.said.Loss, r.second = true, r.second, Value{}
	case r.eval:
		if r.second.Known {
			r.said.Loss = r.second
		}
		r.second = Value{}
	}
}
