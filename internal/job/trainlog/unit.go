package trainlog

import "bytes"

// unit is a line on its way through those who read it, or the part of one that ends with a carriage return.
type unit struct {
	whole  []byte // without colours
	text   []byte // without its origin's prefixes, too
	about  topics
	origin origin
}

// unit reads one.
func (r *Reader) unit(line []byte) {
	if bytes.IndexByte(line, escape) >= 0 {
		r.cleaned = clean(r.cleaned, line)
		line = r.cleaned
	}
	u := unit{whole: line, about: words().scan(line)}
	open := r.state.general.Head.Lines > 0
	if u.about == 0 && r.Pattern == nil && len(r.state.blocks) == 0 && !open {
		return
	}
	u.origin = originOf(line)
	u.text = line[u.origin.prefix:]
	if r.Pattern != nil {
		for _, s := range r.Pattern.match(u) {
			r.sample(u, s)
		}
	} else if u.about&aboutProgress != 0 || open {
		r.samples(u)
	}
	if u.about&^aboutProgress != 0 || len(r.state.blocks) > 0 {
		r.signs(u.behindBar())
	}
}

// behindBar is what stands behind a progress bar, which has no end of line: the traceback of the rank that writes first.
func (u unit) behindBar() unit {
	speed := max(bytes.LastIndex(u.text, []byte("it/s")), bytes.LastIndex(u.text, []byte("s/it")))
	if u.about&aboutBar == 0 || speed < 0 {
		return u
	}
	_, rest, _ := bytes.Cut(u.text[speed:], []byte("]"))
	if spaces(rest) == len(rest) {
		return u
	}
	inner := originOf(rest)
	inner.task = u.origin.task
	u.origin, u.text = inner, rest[inner.prefix:]
	return u
}

// samples reads progress in the known formats: bars, and the line behind them.
func (r *Reader) samples(u unit) {
	last, ok := bar{}, false
	for u.about&aboutBar != 0 {
		of, found := oneBar(u.text)
		if !found {
			break
		}
		r.bar(u, of)
		last, ok, u.text = of, true, bytes.TrimSpace(of.after)
	}
	switch {
	case !ok:
		r.known(u)
	case len(u.text) > 0:
		r.known(u)
		// A line of Trainer's that waits for its bar is of the one that it stands behind.
		if b := &r.state.bars; last.label == "" && last.total > 0 && last.total == b.total {
			r.release()
		}
	}
}

// oneBar reads the bar with which a line begins.
func oneBar(line []byte) (bar, bool) {
	for _, parse := range [...]func([]byte) (bar, bool){parseBar, parseLine, parseLogged} {
		if b, ok := parse(line); ok {
			return b, true
		}
	}
	return bar{}, false
}

// known reads a line that is no bar.
func (r *Reader) known(u unit) {
	s := Sample{Step: NoStep}
	for _, f := range [...]struct {
		about topics
		read  func(line []byte, s *Sample) bool
	}{
		{aboutFSDP, fsdp},
		{aboutIteration, r.state.bars.iteration},
		{aboutTitan, titan},
		{aboutDeepSpeed, deepSpeed},
	} {
		if u.about&f.about == 0 {
			continue
		}
		if f.read(u.text, &s) {
			r.sample(u, s)
			r.evaluation(u, s)
			return
		}
		s = Sample{Step: NoStep}
	}
	if u.about&aboutDict != 0 && dict(u.text, &s) {
		r.dict(u, s)
		return
	}
	r.state.general.below(u.text)
	r.general(u)
}

// sample adds what a line says, with where and when it says so.
func (r *Reader) sample(u unit, s Sample) {
	s.Place, s.Time = r.next, stamp(u.text)
	r.found.Samples = append(r.found.Samples, s)
	if s.Loss.Known && !s.Eval && s.Format != General {
		r.state.general.noteKnownLoss()
	}
}

// evaluation adds what a line says besides of an evaluation.
func (r *Reader) evaluation(u unit, of Sample) {
	if v := r.state.bars.eval; v.Known {
		r.state.bars.eval = Value{}
		r.sample(u, Sample{Format: of.Format, Step: of.Step, Epoch: of.Epoch, Eval: true, Loss: v})
	}
}
