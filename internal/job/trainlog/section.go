package trainlog

import "bytes"

// A section is what stands below a line that says no number but that an evaluation begins, until one says that training does:
//
//	 > EVALUATION
//	***** Running Evaluation *****
//	2021-01-01 00:00:10,123 - INFO - allennlp.training.gradient_descent_trainer - Validating
//
// What counts steps in it counts those of the evaluation.

// sectionLines is how many lines and bars of an evaluation may stand in a section.
const sectionLines = 500

// sections takes a line that begins a section, or ends one.
func (r *Reader) sections(u unit) bool {
	g := &r.state.general
	text := bytes.TrimRight(u.text, " *=-#>.:[]")
	if n := bytes.LastIndex(text, []byte(" (")); n >= 0 { // > TRAINING (2024-01-01 00:00:00)
		text = text[:n]
	}
	from := len(text)
	for from > 0 && isLetter(text[from-1]) {
		from--
	}
	word := text[from:]
	before := bytes.TrimSuffix(bytes.TrimRight(text[:from], " "), []byte("Running"))
	before = bytes.TrimRight(before, " ")
	if n := len(before); n > 0 && bytes.IndexByte([]byte("-*=#>:]"), before[n-1]) < 0 {
		return false
	}
	switch {
	case isEval(word):
		if g.Main != "" || r.state.bars.plain.total > 0 {
			g.Section, g.Head = sectionLines, head{}
		}
		return true
	case len(word) == len("training") && foldEqual(word, "training"):
		g.Section = 0
		return true
	}
	return false
}

// inSection reports whether a bar is one of an evaluation: it is none if it goes on where the training's was.
func (b *bars) inSection(of bar, g *general) bool {
	if g.Section == 0 {
		return false
	}
	g.Section--
	if of.total == b.plain.total {
		g.Section = 0
	}
	return g.Section > 0
}

// inSection reports whether a line with a step is one of an evaluation: it is none if its step goes on where the training's was.
func (g *general) inSection(f *fields, is reading) bool {
	if g.Section == 0 {
		return false
	}
	g.Section--
	c := g.mainCourse()
	if c == nil || is.epoch >= 0 {
		g.Section = 0
	}
	if is.step >= 0 && g.Section > 0 {
		if n, m, _ := f.all[is.step].count(); m == c.M && (n > c.N || m > 0) {
			g.Section = 0
		}
	}
	return g.Section > 0
}
