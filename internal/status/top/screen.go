package top

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Screen is what the user has before him: the last look, and where in it he is.
type Screen struct {
	// Width and Height are in cells. Height 0 is as high as it takes.
	Width, Height int
	// Colour and Unicode say what the terminal can show.
	Colour, Unicode bool
	// Now is the time, Look what was seen last, nil at first. Failed is why the newest look
	// saw nothing, Since when a look began that is not over.
	Now    time.Time
	Look   *Look
	Failed string
	Since  time.Time

	// id is the chosen job, at its place in the list.
	id, at     int
	page, help bool
}

// Every is how long it is from one look to the next. What is older than Old is said to be.
const (
	Every = 2 * time.Second
	Old   = 3 * Every
)

// Wish is what a key asks of others.
type Wish int

// The wishes: nothing, the end, the end as by a signal, and a look at once.
const (
	Nothing Wish = iota
	Quit
	Stop
	LookNow
)

// Page is the ID of the job whose page is shown, 0 if none is.
func (s Screen) Page() int {
	if s.page {
		return s.id
	}
	return 0
}

// Seen takes a look in.
func (s Screen) Seen(l Look) Screen {
	l.Jobs = slices.Clone(l.Jobs)
	for i, j := range l.Jobs {
		l.Jobs[i] = j.read()
	}
	s.Look, s.Failed, s.Since = &l, "", time.Time{}
	return s.settle()
}

// settle finds the chosen job in what was seen: itself, or what is in its place.
func (s Screen) settle() Screen {
	jobs := s.jobs()
	if at := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == s.id }); at >= 0 {
		s.at = at
		return s
	}
	if s.page && s.id != 0 {
		return s // its page says that it is gone
	}
	s.at, s.id = max(0, min(s.at, len(jobs)-1)), 0
	if len(jobs) > 0 {
		s.id = jobs[s.at].ID
	}
	return s
}

// jobs are all jobs in the order in which they are shown: those that run, then the queue.
func (s Screen) jobs() []Job {
	if s.Look == nil {
		return nil
	}
	return slices.Concat(s.running(), s.waiting())
}

func (s Screen) running() []Job { return s.those(false) }
func (s Screen) waiting() []Job { return s.those(true) }

func (s Screen) those(waits bool) []Job {
	var some []Job
	for _, j := range s.Look.Jobs {
		if j.waits() == waits {
			some = append(some, j)
		}
	}
	return some
}

// Key takes a key in, by the name that bubbletea gives it.
func (s Screen) Key(key string) (Screen, Wish) {
	switch key {
	case "q":
		return s, Quit
	case "ctrl+c":
		return s, Stop
	case "r":
		return s, LookNow
	case "?", "h":
		s.help = !s.help
		return s, Nothing
	case "esc", "backspace", "left":
		s.page, s.help = s.page && s.help, false
		return s.settle(), Nothing
	case "enter", "right":
		if s.id != 0 && !s.page {
			s.page, s.help = true, false
			return s, LookNow // it has the end of the job's output
		}
		return s, Nothing
	}
	return s.choose(key), Nothing
}

// choose moves to another job.
func (s Screen) choose(key string) Screen {
	jobs := s.jobs()
	if len(jobs) == 0 {
		return s
	}
	switch key {
	case "down", "j":
		s.at++
	case "up", "k":
		s.at--
	case "home", "g":
		s.at = 0
	case "end", "G", "shift+g":
		s.at = len(jobs) - 1
	default:
		return s
	}
	s.at = max(0, min(s.at, len(jobs)-1))
	s.id = jobs[s.at].ID
	return s
}

// Frame is what the screen shows.
func (s Screen) Frame() string {
	var lines []line
	switch {
	case s.Width < 1:
		return ""
	case s.help:
		lines = s.helpLines()
	case s.Look == nil:
		lines = s.blank()
	case s.page:
		lines = s.pageLines()
	default:
		lines = s.overview()
	}
	if s.Height > 0 {
		lines = lines[:min(len(lines), s.Height)]
	}
	text := make([]string, len(lines))
	for i, l := range lines {
		text[i] = l.write(s.Width, s.Colour)
	}
	return strings.Join(text, "\n")
}

// blank is the screen before there is anything to show.
func (s Screen) blank() []line {
	lines := []line{of(strong, "muster top"), nil}
	switch {
	case s.Failed != "":
		lines = append(lines, of(alarm, "the cluster cannot be looked at:"))
		lines = append(lines, s.broken(s.Failed)...)
	case s.Since.IsZero():
		lines = append(lines, of(plain, "no look yet"))
	default:
		lines = append(lines, of(plain, "looking at the cluster for %s", span(s.Now.Sub(s.Since))))
	}
	return append(lines, nil, s.keys("q quit"))
}

// broken is a text in as many lines as it takes.
func (s Screen) broken(text string) []line {
	var lines []line
	for _, part := range strings.Split(ansi.Wrap(s.printable(text), s.Width, ""), "\n") {
		lines = append(lines, of(plain, "%s", part))
	}
	return lines
}

// keys is the line at the foot.
func (s Screen) keys(text string) line { return of(faint, "%s", text) }

func (s Screen) helpLines() []line {
	lines := []line{of(strong, "muster top: keys"), nil}
	for _, row := range [][2]string{
		{"j k", "the next job, the one before (arrows do it, too)"},
		{"g G", "the first job, the last"},
		{"Enter", "the page of the job: curves, runs, output"},
		{"Esc", "back to all jobs"},
		{"r", "look at once; else every 2 s"},
		{"?", "this page, and back"},
		{"q", "quit"},
	} {
		lines = append(lines, line{{s.pad(row[0], 7), strong}, {row[1], plain}})
	}
	return lines
}
