package trainlog

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Guess is a line that may be one of progress, and a pattern that reads it.
type Guess struct {
	Line    string `json:"line"`
	Pattern string `json:"pattern"`
}

// Guesses are the lines of an output that are the likeliest to be progress, one of each kind and the best first, where no line is known to be:
// a number in them rises, or they name a step or a loss. Their patterns read them.
func Guesses(output []byte, most int) []Guess {
	kinds := kindsOf(output)
	slices.SortStableFunc(kinds, func(a, b *kind) int { return cmp.Or(cmp.Compare(b.score(), a.score()), cmp.Compare(b.count, a.count)) })
	var all []Guess
	for _, k := range kinds {
		if len(all) == most || k.score() <= 0 {
			break
		}
		if pattern := k.pattern(); pattern != "" {
			all = append(all, Guess{clip([]byte(k.line)), pattern})
		}
	}
	return all
}

// kind is lines that differ in their numbers alone.
type kind struct {
	line    string // the last
	count   int
	numbers []number
	words   bool // it names a step or something that is trained for
	other   bool // it is of an evaluation, a download or the like
}

// number is one of a kind's numbers: what it is called, and how it went from line to line.
type number struct {
	start, end, total    int // in the line; total is where m of "n/m" begins, 0 if there is none
	is                   name
	last                 float64
	whole                bool
	rises, falls, varies int
	aim                  bool // it is called like something that is trained for
}

const (
	mostKinds    = 300
	longestGuess = 400 // bytes of a line
)

// aims are what programs call what they train for, besides a loss.
var aims = []string{"loss", "objective", "nll", "ppl", "perplex", "reward", "score", "error", "cost", "elbo", "energy", "mse", "rmse", "mae", "entropy", "acc", "obj"}

// others are words in lines of something else.
var otherWork = []string{"download", "upload", "loading", "tokeniz", "extract", "checkpoint", "b/s", "examples/s", "files", "nccl", "warn", "error:", "retry"}

func kindsOf(output []byte) []*kind {
	known := map[string]*kind{}
	var all []*kind
	var f fields
	for line := range bytes.FieldsFuncSeq(output, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = clean(nil, line)
		line = bytes.TrimRight(line[originOf(line).prefix:], " \t")
		if len(line) > longestGuess {
			continue
		}
		f.scan(line)
		if f.n == 0 {
			continue
		}
		form := f.form()
		k := known[form]
		if k == nil {
			if len(all) == mostKinds {
				continue
			}
			k = &kind{numbers: make([]number, f.n)}
			known[form] = k
			all = append(all, k)
		}
		k.take(&f)
	}
	return all
}

// form is a line without its numbers.
func (f *fields) form() string {
	var form strings.Builder
	at := 0
	for i := range f.n {
		start, end, _ := f.place(i)
		for _, word := range bytes.Fields(f.line[at:start]) {
			form.Write(word)
			form.WriteByte(' ')
		}
		form.WriteByte('#')
		at = end
	}
	form.Write(f.line[at:])
	return form.String()
}

// place is where a field stands in its line, and where its total does.
func (f *fields) place(i int) (start, end, total int) {
	one := &f.all[i]
	end = len(f.line) - len(one.after)
	if one.total == nil {
		return end - len(one.value), end, 0
	}
	total = end - len(one.total)
	start = bytes.LastIndex(f.line[:total], one.value)
	return start, end, total
}

// take adds a line.
func (k *kind) take(f *fields) {
	k.line = string(f.line)
	lower := strings.ToLower(k.line)
	for i := range f.n {
		n, one := &k.numbers[i], &f.all[i]
		v := one.float()
		_, _, n.whole = one.count()
		switch {
		case k.count == 0:
		case v.Float > n.last:
			n.rises++
			n.varies++
		case v.Float < n.last:
			n.falls++
			n.varies++
		}
		n.last, n.is = v.Float, one.name
		n.start, n.end, n.total = f.place(i)
		words := strings.ToLower(string(one.key))
		n.aim = slices.ContainsFunc(aims, func(a string) bool { return strings.Contains(words, a) })
		k.words = k.words || n.aim || n.is.role == isStep || n.is.role == isEpoch || n.is.role == isLoss
	}
	k.other = f.eval >= 0 || slices.ContainsFunc(otherWork, func(w string) bool { return strings.Contains(lower, w) })
	k.count++
}

// step is the number that counts: -1 is none.
func (k *kind) step() int {
	best, most := -1, 0
	for i, n := range k.numbers {
		worth := 0
		switch {
		case !n.whole || n.falls > n.rises/4 || n.aim:
			continue
		case n.is.role == isStep || n.is.role == isEpoch:
			worth = 4
		}
		if n.rises > 0 {
			worth += 3
		}
		if n.total > 0 {
			worth++
		}
		if worth > most {
			best, most = i, worth
		}
	}
	return best
}

// aim is the number that is trained for: -1 is none that one could tell.
func (k *kind) aim(step int) int {
	best, most := -1, 0
	for i, n := range k.numbers {
		worth := 0
		switch {
		case i == step || n.is.role == isRate || n.is.role >= isSamples && n.is.role != isTrain:
			continue
		case n.is.role == isLoss:
			worth = 5
		case n.aim:
			worth = 4
		case !n.whole && n.varies > 0 && !n.is.says:
			worth = 1
		}
		if worth > most {
			best, most = i, worth
		}
	}
	return best
}

func (k *kind) score() int {
	step := k.step()
	if k.other || step < 0 || !k.words && k.numbers[step].rises < 2 {
		return 0
	}
	score := min(k.count, 3) + 3*min(k.numbers[step].rises, 2)
	if k.words {
		score += 4
	}
	if aim := k.aim(step); aim >= 0 {
		score += 2
		if k.numbers[aim].aim {
			score += 4
		}
	}
	return score
}

// pattern is an expression that finds the step and what is trained for in the line; empty if there is none that does.
func (k *kind) pattern() string {
	step := k.step()
	groups := map[int]string{step: `(?P<step>\d+)`}
	if aim := k.aim(step); aim >= 0 {
		groups[aim] = `(?P<loss>\S+)`
		if end := k.numbers[aim].end; end < len(k.line) && strings.IndexByte(" \t,;%])", k.line[end]) < 0 {
			groups[aim] = `(?P<loss>[\w.+-]+)`
		}
	}
	for _, before := range []func(from, to int) string{k.near, k.all} {
		var exp strings.Builder
		at := 0
		for i, n := range k.numbers {
			if groups[i] == "" {
				continue
			}
			if at > 0 {
				exp.WriteString(".*?")
			}
			exp.WriteString(before(at, n.start) + groups[i])
			if i == step && n.total > 0 {
				exp.WriteString(` */ *(?P<steps>\d+)`)
			}
			at = n.end
		}
		if text := exp.String(); k.reads(text, step) {
			return text
		}
	}
	return ""
}

// near is what stands right before a number, as an expression.
func (k *kind) near(from, to int) string {
	text := k.line[from:to]
	if cut := strings.LastIndexAny(text, ",|;{}\t"); cut >= 0 && strings.ContainsFunc(text[cut:], func(r rune) bool { return isLetter(byte(r)) }) {
		text = text[cut+1:]
	} else if from == 0 && len(text) < 20 {
		if strings.TrimSpace(text) == "" {
			return "^ *"
		}
		return "^" + literal(text)
	}
	const enough = 24
	if len(text) > enough {
		text = text[len(text)-enough:]
		if cut := strings.IndexAny(text, " ]"); cut >= 0 {
			text = text[cut+1:]
		}
	}
	if cut := strings.LastIndexAny(text, "0123456789"); cut >= 0 && strings.TrimLeft(text[cut+1:], " :.") != "" {
		text = text[cut+1:]
	}
	if words := strings.TrimLeft(text, " "); words != "" {
		text = words
	}
	return literal(text)
}

// all is all that stands before a number.
func (k *kind) all(from, to int) string {
	numbers := regexp.MustCompile(`\d[\d.:eE+-]*`)
	var exp strings.Builder
	at := from
	for _, place := range numbers.FindAllStringIndex(k.line[from:to], -1) {
		exp.WriteString(literal(k.line[at:from+place[0]]) + `\S+?`)
		at = from + place[1]
	}
	text := exp.String() + literal(k.line[at:to])
	if from == 0 {
		text = "^" + text
	}
	return text
}

// literal is an expression for a text in which blanks may be of any number. It has no quotes, in which the shell and #MUSTER lines hold it.
func literal(text string) string {
	blanks := regexp.MustCompile(`[ \t]+`)
	text = blanks.ReplaceAllString(regexp.QuoteMeta(text), " +")
	if rest, ok := strings.CutSuffix(text, " +"); ok && rest != "" {
		text = rest + " *"
	}
	return strings.Map(func(r rune) rune {
		if r == '\'' || r == '"' || r > '~' {
			return '.'
		}
		return r
	}, text)
}

// reads reports whether an expression finds the step of the line.
func (k *kind) reads(text string, step int) bool {
	p, err := Compile(text)
	if err != nil {
		return false
	}
	found := p.read([]byte(k.line))
	return len(found) > 0 && float64(found[0].Step) == k.numbers[step].last
}
