package trainlog

// dict takes a line of Hugging Face's Trainer, which does not say its step. Trainer's bar does: it is drawn anew right
// behind the line, so the line waits for it.
func (r *Reader) dict(u unit, s Sample) {
	r.release()
	b := &r.state.bars
	b.dicts = true
	if s.Loss.Known && !s.Eval {
		r.state.general.noteKnownLoss()
	}
	s.Place, s.Time = r.next, stamp(u.text)
	if s.Step == NoStep && b.total > 0 {
		b.held = &s
		return
	}
	if other := r.Beside; s.Step == NoStep && other != nil && other.state.bars.total > 0 {
		s.Step, s.Steps = other.state.bars.done, other.state.bars.total
	}
	r.found.Samples = append(r.found.Samples, s)
}

// bar takes a progress bar.
func (r *Reader) bar(u unit, of bar) {
	b := &r.state.bars
	s := Sample{Step: NoStep}
	if b.lightning(of, &s) {
		if of.done == 0 {
			return // an epoch begins, with what was said of the one before
		}
		if b.news(&s) {
			r.sample(u, s)
		}
		r.evaluation(u, s)
		return
	}
	if (of.label != "" || len(of.fields) > 0) && b.inSection(of, &r.state.general) {
		return
	}
	if b.tqdm(of, &s) {
		r.sample(u, s)
		r.evaluation(u, s)
		return
	}
	if of.label != "" || of.total == 0 || len(of.fields) > 0 {
		return
	}
	// The first bar without a label is the training's, unless one is drawn behind a line of Trainer's.
	if b.total == 0 || b.held != nil {
		b.total = of.total
	}
	if of.total != b.total {
		return
	}
	b.done = of.done
	if r.release() || !b.dicts && (r.Beside == nil || !r.Beside.state.bars.dicts) {
		return
	}
	s = Sample{Format: HuggingFace, Step: of.done, Steps: of.total, StepSeconds: of.seconds}
	if b.news(&s) {
		r.sample(u, s)
	}
}

// release lets the line of Trainer's go that waits for the bar, if one does.
func (r *Reader) release() bool {
	b := &r.state.bars
	if b.held == nil {
		return false
	}
	b.held.Step, b.held.Steps = b.done, b.total
	r.found.Samples = append(r.found.Samples, *b.held)
	b.held = nil
	return true
}

// news says whether a bar says anything that was not said yet, and takes a loss from it that is none of this step: Lightning
// draws a bar when a step is done, with the step before's loss, and once more with its own.
func (b *bars) news(s *Sample) bool {
	seen := b.seen
	b.seen = *s
	if s.Step != seen.Step && s.Loss == seen.Loss {
		s.Loss = Value{}
	}
	if !s.Loss.Known && !s.StepSeconds.Known || s.Step == b.told.Step && s.Loss == b.told.Loss {
		return false
	}
	b.told = *s
	return true
}
