package trainlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// general is what is known of lines that no format describes: those that say a step and a loss in whatever order. Lines of one
// kind, a course, are progress once their steps have risen often enough; programs print much else with a number and a loss.
type general struct {
	// Main is the course that is the training's, or knownFormat.
	Main    string   `json:"main,omitempty"`
	Courses []course `json:"courses,omitempty"`
	// Epoch and Epochs are what a line of its own said: "Epoch 2/10". NoStep is none.
	Epoch  int64 `json:"epoch,omitempty"`
	Epochs int64 `json:"epochs,omitempty"`
	Headed bool  `json:"headed,omitempty"` // there was such a line
	Zero   bool  `json:"zero,omitempty"`   // epochs count from 0
	Head   head  `json:"head,omitzero"`
	// Section is how many lines of an evaluation may still come.
	Section int `json:"section,omitempty"`
	// Last is the step that was said last.
	Last int64 `json:"last,omitempty"`
	// Evals are losses of evaluations that came before there was a Main.
	Evals []Sample `json:"evals,omitempty"`
}

// knownFormat is Main where the lines of a format have a loss.
const knownFormat = "known"

// course is one kind of line.
type course struct {
	Key   string `json:"key"`
	Step  int64  `json:"step"` // the last
	Prev  int64  `json:"prev"` // the one before that was another
	Rises int    `json:"rises,omitempty"`
	Falls int    `json:"falls,omitempty"`
	Sure  bool   `json:"sure,omitempty"` // it rises
	// Run is how many lines came since the last of Main.
	Run  int      `json:"run,omitempty"`
	Held []Sample `json:"held,omitempty"` // until it is sure
	// N of M in epoch E is what the last line said; Base is the steps of the epochs before.
	N         int64 `json:"n,omitempty"`
	M         int64 `json:"m,omitempty"`
	E         int64 `json:"e,omitempty"`
	Base      int64 `json:"base,omitempty"`
	Continues bool  `json:"continues,omitempty"` // steps go on over epochs
}

const (
	mostCourses = 8
	mostHeld    = 32 // samples of a course that is not sure
	mostEvals   = 8  // before there is a course
	// sureAfter is how often a step has to rise, moreAfterFall how much more often after each fall.
	sureAfter, moreAfterFall = 2, 3
	// takesOver is after how many lines without one of the main course another one becomes it.
	takesOver = 20
)

// noteKnownLoss notes that a known format said a loss: other lines are then no progress of their own.
func (g *general) noteKnownLoss() {
	g.Main, g.Evals = knownFormat, nil
	for i := range g.Courses {
		g.Courses[i].Run = 0
	}
}

// general reads a line in the words that many programs use.
func (r *Reader) general(u unit) {
	g := &r.state.general
	f := &r.fields
	if r.state.bars.columns.head(u.text) || u.about&aboutHead != 0 && r.sections(u) {
		return
	}
	if at := headAt(u); at >= 0 {
		is := f.read(u.text[at:])
		g.heads(f, is, u.text[at:])
		return
	}
	is := f.read(u.text)
	g.Zero = g.Zero || is.zero
	if g.heads(f, is, u.text) {
		return
	}
	if is.loss < 0 && !is.eval {
		r.readBelowHead(u, is)
		return
	}
	if is.eval {
		r.addEvaluation(u, is)
		return
	}
	if g.inSection(f, is) {
		return
	}
	c, s, ok := g.place(f, is)
	if !ok {
		return
	}
	r.addToCourse(u, c, s)
	if is.second.Known {
		r.sampleOfEvaluation(u, Sample{Format: General, Step: s.Step, Epoch: s.Epoch, Eval: true, Loss: is.second})
	}
}

// place finds the course of a line with a loss, and its step.
func (g *general) place(f *fields, is reading) (*course, Sample, bool) {
	s := is.said
	s.Format = General
	at := position{Steps: is.steps, Rank: is.rank}
	word := f.course[:0]
	switch {
	case is.step >= 0:
		at.N, at.M, _ = f.all[is.step].count()
		word = f.lastWords(word, f.all[is.step].key)
	case g.Head.Lines > 0 && !g.Head.Eval && f.all[is.loss].name.rank < lossAside:
		at, word = g.Head.At, append(word, aboveHead...)
		s.Epoch = g.Head.Epoch
	case is.epoch >= 0:
		n, m, ok := f.all[is.epoch].count()
		if !ok {
			return nil, s, false
		}
		at.N, at.M, at.Rank, word = n, m, rankEpoch, append(word, "epoch|"...)
	default:
		return nil, s, false
	}
	if is.step >= 0 {
		g.inEpoch(f, is, &at)
		if at.Headed {
			s.Epoch = Some(float64(at.Epoch))
		}
	}
	c := g.course(f.lastWords(word, f.all[is.loss].key))
	s.Step, s.Steps = c.stepOf(at, g.Zero)
	if at.Headed && s.Steps == 0 {
		s.EpochSteps = max(at.M, is.pair)
	}
	return c, s, true
}

// inEpoch adds which epoch a line is of.
func (g *general) inEpoch(f *fields, is reading, at *position) {
	if is.epoch >= 0 {
		one := &f.all[is.epoch]
		at.Epoch, at.Epochs, at.Headed = one.count()
		if at.Epochs > 0 && g.Zero && one.open != '[' && !bytes.HasPrefix(one.key, []byte("[")) {
			at.Epochs++ // Epoch 0/9 is the first of ten
		}
		at.Total = is.epoch > is.step && is.rank < rankPair && !bytes.HasPrefix(one.key, []byte(" of epoch")) // step=5/1000,epoch=1
		return
	}
	if g.Headed {
		at.Epoch, at.Epochs, at.Headed = g.Epoch, g.Epochs, true
	}
}

// aboveHead begins the key of a course whose steps stand in heads.
const aboveHead = "above|"

// lastWords adds a key's last two words, in small letters: what is the same in each line of a course.
func (f *fields) lastWords(to, text []byte) []byte {
	k := &f.names.key
	k.read(text)
	for back := min(k.n, 2) - 1; back >= 0; back-- {
		to = append(append(to, k.parts[k.n-1-back]...), ' ')
	}
	return append(to, '|')
}

// course finds a course, or makes one in the place of the one that is the least.
func (g *general) course(key []byte) *course {
	for i := range g.Courses {
		if g.Courses[i].Key == string(key) {
			return &g.Courses[i]
		}
	}
	if len(g.Courses) == mostCourses {
		least := -1
		for i, c := range g.Courses {
			if c.Key != g.Main && (least < 0 || c.Rises < g.Courses[least].Rises) {
				least = i
			}
		}
		g.Courses = slices.Delete(g.Courses, least, least+1)
	}
	g.Courses = append(g.Courses, course{Key: string(key), Step: NoStep, Prev: NoStep})
	return &g.Courses[len(g.Courses)-1]
}

// mainCourse is the training's course, or the only one that there is; nil is neither.
func (g *general) mainCourse() *course {
	for i := range g.Courses {
		if g.Courses[i].Key == g.Main || g.Main == "" && len(g.Courses) == 1 {
			return &g.Courses[i]
		}
	}
	return nil
}

// addToCourse adds a sample to a course, and reports it if the course is the training's.
func (r *Reader) addToCourse(u unit, c *course, s Sample) {
	g := &r.state.general
	c.Run++
	c.rises(s.Step)
	if !c.Sure {
		s.Place, s.Time = r.next, stamp(u.text)
		c.Held = hold(c.Held, s, mostHeld)
		if g.Main == "" {
			g.Last = s.Step
		}
		return
	}
	switch {
	case g.Main == c.Key:
	case g.Main == "":
		held := append(c.Held, g.Evals...)
		slices.SortStableFunc(held, func(a, b Sample) int { return cmp.Compare(a.Place.Offset, b.Place.Offset) })
		r.found.Samples, g.Evals = append(r.found.Samples, held...), nil
	case c.Run < takesOver:
		c.Held = nil
		return
	}
	g.Main, c.Held, g.Last = c.Key, nil, s.Step
	for i := range g.Courses {
		g.Courses[i].Run = 0
	}
	r.sample(u, s)
}

// rises takes in a step. Ranks that say the same step one after the other, or the one before, are no fall.
func (c *course) rises(step int64) {
	switch {
	case step > c.Step:
		if c.Step != NoStep {
			c.Rises++
		}
		c.Prev, c.Step = c.Step, step
	case step < c.Step && step != c.Prev:
		c.Rises, c.Prev, c.Step = 0, NoStep, step
		c.Falls = min(c.Falls+1, 10)
		c.Held = nil
	}
	c.Sure = c.Sure || c.Rises >= sureAfter+moreAfterFall*c.Falls
}

// addEvaluation adds the loss of an evaluation that belongs to the training's course.
func (r *Reader) addEvaluation(u unit, is reading) {
	g, f := &r.state.general, &r.fields
	if is.batches {
		return
	}
	s := Sample{Format: General, Step: g.Last, Epoch: is.said.Epoch, Eval: true, Loss: is.said.Loss}
	switch {
	case is.step >= 0 && is.rank >= rankBatch:
		c := g.mainCourse()
		n, m, _ := f.all[is.step].count()
		if c == nil || m == 0 || n != c.N || m != c.M {
			return // it counts the batches of the evaluation
		}
		s.Step = c.Step
	case is.step >= 0:
		s.Step, _, _ = f.all[is.step].count()
	case g.Head.Lines > 0 && g.Head.Eval && g.Head.At.Rank < rankBatch:
		s.Step = g.Head.At.N
	case g.Head.Lines > 0 && !g.Head.Eval && strings.HasPrefix(g.Main, aboveHead):
		if c := g.mainCourse(); c != nil {
			of := *c
			s.Step, _ = of.stepOf(g.Head.At, g.Zero)
		}
	case g.Main == "" && len(g.Courses) == 0:
		return
	}
	r.sampleOfEvaluation(u, s)
}

// sampleOfEvaluation adds the loss of an evaluation, or keeps it until there is a course.
func (r *Reader) sampleOfEvaluation(u unit, s Sample) {
	g := &r.state.general
	switch g.Main {
	case knownFormat:
	case "":
		s.Place, s.Time = r.next, stamp(u.text)
		g.Evals = hold(g.Evals, s, mostEvals)
	default:
		r.sample(u, s)
	}
}

// readBelowHead reads what stands in other lines below the line with the step.
func (r *Reader) readBelowHead(u unit, is reading) {
	g := &r.state.general
	indented := spaces(u.text) > 0 || r.fields.n == 1 // a line that says nothing else: "LR: 0.0003"
	if g.Head.Lines == 0 || !is.other || g.Head.Eval || !indented || is.step >= 0 && is.rank != rankBatch {
		return
	}
	i := slices.IndexFunc(g.Courses, func(c course) bool {
		return c.Key == g.Main || g.Main == "" && strings.HasPrefix(c.Key, aboveHead)
	})
	if i < 0 || !strings.HasPrefix(g.Courses[i].Key, aboveHead) {
		return
	}
	c := &g.Courses[i]
	s := is.said
	s.Format = General
	s.Step, s.Steps = c.stepOf(g.Head.At, g.Zero)
	if c.Sure {
		r.sample(u, s)
		return
	}
	s.Place, s.Time = r.next, stamp(u.text)
	c.Held = hold(c.Held, s, mostHeld)
}

// hold keeps a sample, and the last ones of those before.
func hold(held []Sample, s Sample, most int) []Sample {
	held = append(held, s)
	return slices.Delete(held, 0, max(0, len(held)-most))
}

// Pending reports whether lines came that are progress if another one or two of their kind follow.
func (r *Reader) Pending() bool {
	return slices.ContainsFunc(r.state.general.Courses, func(c course) bool { return !c.Sure && c.Falls == 0 && c.Run <= sureAfter+1 })
}

// copy is what another reader may know; nil is nothing.
func (g *general) copy() *general {
	if g == nil || g.Main == "" && len(g.Courses) == 0 && !g.Headed && !g.Zero && g.Head == (head{}) && len(g.Evals) == 0 && g.Section == 0 {
		return nil
	}
	other := *g
	other.Courses, other.Evals = slices.Clone(g.Courses), slices.Clone(g.Evals)
	for i := range other.Courses {
		other.Courses[i].Held = slices.Clone(other.Courses[i].Held)
	}
	return &other
}
