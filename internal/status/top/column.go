package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// column is one of a table of jobs.
type column struct {
	head string
	// rank says which columns give way first where the screen is narrow: the highest; 0 stay.
	rank int
	// right stands for figures. A column that grows takes the room that is left, from least on;
	// others are cut to it if need be, and to most in any case.
	right bool
	least int
	most  int
	grows bool
	text  func(s Screen, j Job) string
	// curve is drawn as wide as there is room, in place of a text.
	curve func(j Job) []float64
}

func runningColumns() []column {
	return []column{
		{head: "ID", right: true, text: func(s Screen, j Job) string { return s.printable(j.Label) }},
		{head: "NAME", least: 8, most: 30, text: func(s Screen, j Job) string { return s.printable(j.Name) }},
		{head: "USER", rank: 9, least: 4, text: func(s Screen, j Job) string { return s.printable(j.User) }},
		{head: "NODES", rank: 6, right: true, text: func(_ Screen, j Job) string { return strconv.Itoa(j.NumNodes) }},
		{head: "LEFT", rank: 4, right: true, text: func(_ Screen, j Job) string { return j.left() }},
		{head: "STEP", rank: 2, right: true, text: func(_ Screen, j Job) string { return j.step() }},
		{head: "LOSS", rank: 1, right: true, text: func(_ Screen, j Job) string { return figure(j.newest.Loss) }},
		{head: "CURVE", rank: 3, least: 8, grows: true, curve: func(j Job) []float64 { return values(j.trained, lossOf) }},
		{head: "SPEED", rank: 7, right: true, text: func(_ Screen, j Job) string { return j.speed() }},
		{head: "TOK/S", rank: 8, right: true, text: func(_ Screen, j Job) string { return j.tokens() }},
		{head: "CHECKPOINT", rank: 5, right: true, text: func(s Screen, j Job) string { return j.checkpoint(s) }},
		{head: "RESTARTS", rank: 10, right: true, text: func(_ Screen, j Job) string { return j.restarts() }},
	}
}

func waitingColumns() []column {
	return []column{
		{head: "ID", right: true, text: func(s Screen, j Job) string { return s.printable(j.Label) }},
		{head: "NAME", least: 8, most: 30, text: func(s Screen, j Job) string { return s.printable(j.Name) }},
		{head: "USER", rank: 3, least: 4, text: func(s Screen, j Job) string { return s.printable(j.User) }},
		{head: "NODES", rank: 1, right: true, text: func(_ Screen, j Job) string { return strconv.Itoa(j.NumNodes) }},
		{head: "FOR", rank: 2, right: true, text: func(s Screen, j Job) string {
			if j.Submit.IsZero() {
				return ""
			}
			return span(s.Now.Sub(j.Submit))
		}},
		{head: "WHY IT WAITS", least: 20, grows: true, text: func(s Screen, j Job) string { return s.printable(j.Why) }},
	}
}

// table is columns that were fitted to a screen.
type table struct{ columns []filled }

// filled is a column with its cells and its width.
type filled struct {
	column
	cells  []string
	curves [][]float64
	width  int
}

// gap is between two columns, mark before the first.
const (
	gap  = 2
	mark = 2
)

// fit leaves columns out until the rest fits, and gives the room that is left to those that grow.
func (s Screen) fit(columns []column, jobs []Job) table {
	var t table
	for _, c := range columns {
		if f := s.fill(c, jobs); f.width > 0 {
			f.width = max(f.width, len(c.head))
			t.columns = append(t.columns, f)
		}
	}
	for t.total() > s.Width && !t.shrink(t.total()-s.Width) {
		worst := slices.IndexFunc(t.columns, func(c filled) bool { return c.rank == t.worst() })
		if t.columns[worst].rank == 0 {
			t.shrink(min(t.total()-s.Width, t.spare()))
			break
		}
		t.columns = slices.Delete(t.columns, worst, worst+1)
	}
	t.grow(s.Width)
	return t
}

// fill makes a column's cells. One that is empty has no width, unless it always stays.
func (s Screen) fill(c column, jobs []Job) filled {
	f := filled{column: c}
	for _, j := range jobs {
		if c.curve != nil {
			f.curves = append(f.curves, c.curve(j))
			f.width = max(f.width, min(c.least, len(f.curves[len(f.curves)-1])))
			continue
		}
		text := c.text(s, j)
		f.cells, f.width = append(f.cells, text), max(f.width, ansi.StringWidth(text))
	}
	if c.rank == 0 {
		f.width = max(f.width, 1)
	}
	if c.most > 0 {
		f.width = min(f.width, c.most)
	}
	if c.grows && f.width > 0 {
		f.width = c.least
	}
	return f
}

// worst is the rank of the column that gives way next.
func (t *table) worst() int {
	rank := 0
	for _, c := range t.columns {
		rank = max(rank, c.rank)
	}
	return rank
}

func (t *table) total() int {
	sum := mark + gap*max(0, len(t.columns)-1)
	for _, c := range t.columns {
		sum += c.width
	}
	return sum
}

// shrink takes from names, which may be cut, if that is enough.
func (t *table) shrink(over int) bool {
	if t.spare() < over {
		return false
	}
	for i, c := range t.columns {
		less := min(over, c.spare())
		t.columns[i].width, over = c.width-less, over-less
	}
	return true
}

func (t *table) spare() int {
	room := 0
	for _, c := range t.columns {
		room += c.spare()
	}
	return room
}

// spare is how much narrower the column can be.
func (c filled) spare() int {
	if c.least == 0 || c.grows {
		return 0
	}
	return max(0, c.width-c.least)
}

// widest is how wide a curve gets.
const widest = 40

func (t *table) grow(width int) {
	for i, c := range t.columns {
		if !c.grows {
			continue
		}
		more := max(0, width-t.total())
		if c.curve != nil {
			more = min(more, max(0, widest-c.width))
		}
		t.columns[i].width += more
	}
}

// heads is the table's first line, row the line of the job of a number.
func (t *table) heads(s Screen) string {
	return t.join(s, func(c filled) string { return c.head })
}

func (t *table) row(s Screen, job int) string {
	return t.join(s, func(c filled) string {
		if c.curve != nil {
			return s.sparkline(c.curves[job], c.width)
		}
		return c.cells[job]
	})
}

func (t *table) join(s Screen, of func(c filled) string) string {
	cells := make([]string, len(t.columns))
	for i, c := range t.columns {
		if c.right {
			cells[i] = s.padLeft(of(c), c.width)
		} else {
			cells[i] = s.pad(of(c), c.width)
		}
	}
	return strings.Join(cells, strings.Repeat(" ", gap))
}

func (j Job) left() string {
	if j.LeftSeconds <= 0 {
		return ""
	}
	return span(seconds(j.LeftSeconds))
}

// step is how far the job is, or what it is at while no line says so.
func (j Job) step() string {
	last := j.newest
	switch {
	case j.State != "RUNNING":
		return strings.ToLower(j.State)
	case j.Kept != nil && j.Kept.Phase == "starting":
		return "starts up"
	case j.Kept != nil && j.Kept.Phase == "returning":
		return "comes back"
	case last.Step < 0:
		return ""
	case last.Steps > 0:
		return fmt.Sprintf("%d/%d", last.Step, last.Steps)
	}
	return strconv.FormatInt(last.Step, 10)
}

// speed is in samples a second, or the time of a step.
func (j Job) speed() string {
	s := j.newest
	switch {
	case s.SamplesPerSecond != nil:
		return figure(s.SamplesPerSecond) + "/s"
	case s.StepSeconds != nil:
		return figure(s.StepSeconds) + "s/step"
	}
	return ""
}

// tokens are those of the job a second, or of one of its GPUs.
func (j Job) tokens() string {
	if s := j.newest; s.TokensPerSecond == nil && s.TokensPerSecondPerGPU != nil {
		return figure(s.TokensPerSecondPerGPU) + "/GPU"
	}
	return figure(j.newest.TokensPerSecond)
}

// checkpoint is the step of the newest one and its age.
func (j Job) checkpoint(s Screen) string {
	if j.Kept == nil || j.Kept.Checkpoint == nil {
		return ""
	}
	c := j.Kept.Checkpoint
	age := span(s.Now.Sub(c.At)) + " ago"
	if c.Step < 0 {
		return age
	}
	return fmt.Sprintf("%d, %s", c.Step, age)
}

func (j Job) restarts() string {
	switch {
	case j.Kept != nil && j.Kept.Restarts > 0:
		return strconv.Itoa(j.Kept.Restarts)
	case j.Kept == nil && j.Attempts > 1:
		return strconv.Itoa(j.Attempts - 1)
	}
	return ""
}
