package trainlog

import "bytes"

// head is a line that says a step, and the loss stands in the lines below it:
//
//	[batch=1/4800]:
//		 Train loss/train/total: 6.0000
//		 Train throughput/tokens_per_sec: 12345.6
//
// or the row of a table:
//
//	|    iterations           | 2           |
//	|    total_timesteps      | 4096        |
//	| train/                  |             |
//	|    loss                 | 6.0         |
type head struct {
	At    position `json:"at,omitzero"`
	Epoch Value    `json:"epoch"`
	Eval  bool     `json:"eval,omitempty"`
	Row   bool     `json:"row,omitempty"` // of a table
	// Lines is how many lines may still belong to it.
	Lines int `json:"lines,omitempty"`
}

// headLines is how many lines below a head may belong to it.
const headLines = 200

// position is how far a line says that a training is: n of m in an epoch.
type position struct {
	N, M          int64
	Rank          uint8
	Epoch, Epochs int64
	Steps         int64
	// Headed says that the epoch is known, Total that M counts over epochs.
	Headed, Total bool
}

// headAt is where a head in brackets begins, behind what a logger puts before it; -1 is nowhere.
func headAt(u unit) int {
	if u.about&aboutHead == 0 {
		return -1
	}
	for _, word := range [...]string{"[epoch=", "[step=", "[batch=", "[Eval batch="} {
		if at := bytes.Index(u.text, []byte(word)); at >= 0 {
			end := bytes.TrimRight(u.text, " :")
			if end[len(end)-1] == ']' || word[1] == 'E' {
				return at
			}
		}
	}
	return -1
}

// heads takes a line that says a step or an epoch, and nothing else.
func (g *general) heads(f *fields, is reading, text []byte) bool {
	output := bytes.HasSuffix(bytes.TrimRight(text, " "), []byte("output:")) // TensorFlow's Model Garden: train | step: 100 | steps/sec: 2.1 | output:
	if is.loss >= 0 || is.said.Loss.Known || is.other && !output || f.n > 4 {
		return false
	}
	text = bytes.TrimRight(bytes.Trim(text, " \t=-*#[]|"), ": ")
	if is.step >= 0 {
		return g.headStep(f, is, output || len(text) <= 100)
	}
	if is.epoch < 0 || f.n > 1 || len(text) > 40 || f.eval >= 0 {
		return false
	}
	one := &f.all[is.epoch]
	n, m, ok := one.count()
	if !ok || len(bytes.Trim(one.after, " :=-*#[]./")) > 0 || len(bytes.Trim(one.key, " :=-*#[]")) > len("epoch")+10 {
		return false
	}
	g.Epoch, g.Epochs, g.Headed, g.Section = n, m, true, 0
	g.Head = head{At: position{N: n, M: m, Rank: rankEpoch}, Epoch: Some(float64(n)), Lines: headLines}
	return true
}

// headStep takes one whose step stands at the end, or that is known otherwise to say nothing else.
func (g *general) headStep(f *fields, is reading, short bool) bool {
	last := &f.all[f.n-1]
	rest, output := bytes.CutSuffix(bytes.TrimSpace(last.after), []byte("| output:"))
	rest = bytes.TrimSuffix(rest, []byte("done.")) // AReaL
	counts := output || f.n-1 == is.step || f.n-1 == is.epoch || last.name.role == isStep || last.name.role == isSteps
	plain := len(bytes.Trim(rest, " \t=-*#[]:|")) == 0 && short && counts || len(f.line) > 0 && f.line[0] == '[' || bytes.Contains(f.line, []byte(testingNet))
	if !plain || is.rank > rankBatch {
		return false
	}
	row := f.line[0] == '|'
	if row && g.Head.Row && g.Head.Lines > 0 && is.rank != g.Head.At.Rank {
		return true // a row before says the step
	}
	at := position{Rank: is.rank}
	at.N, at.M, _ = f.all[is.step].count()
	g.inEpoch(f, is, &at)
	g.Head = head{At: at, Eval: f.eval >= 0 || g.Section > 0, Row: row, Lines: headLines}
	if at.Headed {
		g.Head.Epoch = Some(float64(at.Epoch))
	}
	return true
}

// testingNet is in the head of an evaluation of Caffe's: "Iteration 100, Testing net (#0)".
const testingNet = ", Testing net (#"

// below counts a line that may belong to a head. A line of dashes ends a table.
func (g *general) below(line []byte) {
	switch {
	case g.Head.Lines == 0:
	case g.Head.Row && len(bytes.Trim(line, "+-= ")) == 0:
		g.Head = head{}
	default:
		g.Head.Lines--
	}
}

// stepOf is the step of a position, over epochs, and how many there will be.
func (c *course) stepOf(at position, fromZero bool) (step, steps int64) {
	defer func() { c.N, c.M, c.E = at.N, at.M, at.Epoch }()
	switch {
	case at.Rank == rankGlobal || at.Rank == rankEpoch || at.Total:
		return at.N, max(at.M, at.Steps)
	case !at.Headed:
		return c.counted(at)
	}
	if !c.Continues && c.N > 0 && at.Epoch > c.E && at.N > c.N && at.M == c.M {
		c.Continues = true // the count went on over the end of an epoch
	}
	switch {
	case c.Continues:
		return at.N, max(at.M, at.Steps)
	case at.M > 0:
		first := int64(1)
		if fromZero {
			first = 0
		}
		past := max(0, at.Epoch-first)
		return over(past, at.M, at.N), max(at.Steps, over(at.Epochs, at.M, 0))
	}
	if at.Epoch > c.E && at.N < c.N {
		c.goOn(c.N)
	}
	return c.Base + at.N, at.Steps
}

// counted is the step where no line says the epoch: a count that begins anew at its end goes on.
func (c *course) counted(at position) (step, steps int64) {
	stride := max(1, c.Step-c.Prev)
	if at.M > 0 && at.M == c.M && at.N < c.N && c.N+stride >= c.M {
		c.goOn(c.M)
	}
	if c.Base > 0 {
		return c.Base + at.N, at.Steps
	}
	return at.N, max(at.M, at.Steps)
}

// goOn counts on behind the steps of an epoch. Numbers that cannot be are left out.
func (c *course) goOn(steps int64) {
	if c.Base < 1<<50 {
		c.Base += steps
	}
}
