package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/status"
)

// overview is the page of the cluster.
func (s Screen) overview() []line {
	lines := s.head()
	keys := s.keys("q quit  j/k choose  Enter job  r look  ? help")
	body, at := s.lists()
	if s.Height > 0 {
		body = s.window(body, at, s.Height-len(lines)-2)
		return append(append(lines, body...), nil, keys)
	}
	return append(lines, body...)
}

// head says how the cluster is.
func (s Screen) head() []line {
	c := s.Look.Cluster
	lines := []line{s.title("muster top  " + s.printable(c.Name) + "  " + c.State)}
	lines = append(lines, s.row("nodes", nodesText(c.Nodes)), s.row("services", servicesText(c.Services)))
	if c.Jobs != nil {
		lines = append(lines, s.row("jobs", c.Jobs.Text("waiting")))
	}
	if s.Look.Cost != nil {
		lines = append(lines, s.row("cost", costText(*s.Look.Cost)))
	}
	if s.Failed != "" {
		lines = append(lines, of(alarm, "! the last look failed: %s", s.printable(s.Failed)))
	}
	most := 3
	if s.Height == 0 || s.Height >= 36 {
		most = 6
	}
	lines = append(lines, s.some(alarm, "! ", c.Look, most)...)
	return append(lines, s.some(plain, "? ", append(append([]string{}, c.Blind...), s.Look.Blind...), most)...)
}

// some are the first of some texts, a line each.
func (s Screen) some(p paint, mark string, texts []string, most int) []line {
	var lines []line
	for i, text := range texts {
		if i == most-1 && len(texts) > most {
			return append(lines, of(p, "%sand %d more: see muster status", mark, len(texts)-i))
		}
		lines = append(lines, of(p, "%s", s.cut(mark+s.printable(text), s.Width)))
	}
	return lines
}

func (s Screen) row(name, text string) line {
	return line{{s.pad(name, 10), faint}, {s.cut(s.printable(text), max(0, s.Width-10)), plain}}
}

// title is the first line, with the time of the look at its end.
func (s Screen) title(text string) line {
	age := s.Now.Sub(s.Look.At)
	when, p := s.Look.At.Local().Format(time.TimeOnly), plain
	if age > Old {
		when, p = "seen "+span(age)+" ago", alarm
	}
	room := max(0, s.Width-ansi.StringWidth(when)-2)
	return line{{s.pad(text, room), strong}, {"  ", plain}, {when, p}}
}

func nodesText(n *status.Nodes) string {
	if n == nil {
		return "unknown"
	}
	var parts []string
	for _, x := range n.States {
		parts = append(parts, fmt.Sprintf("%d %s", x.Count, x.State))
	}
	if len(parts) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", n.Total, strings.Join(parts, ", "))
}

// costText says it as `muster status` does.
func costText(c Cost) string {
	text := fmt.Sprintf("$%.2f an hour for nodes, at the prices on demand of %s", c.USDPerHour, c.Source)
	if c.Unpriced > 0 {
		text += fmt.Sprintf("; the price of %s is unknown", count.Of(c.Unpriced, "node"))
	}
	return text
}

func servicesText(all []status.Service) string {
	var bad []string
	for _, x := range all {
		if x.Phase != status.Ready {
			bad = append(bad, x.Name+" "+x.Phase)
		}
	}
	switch {
	case len(all) == 0:
		return "unknown"
	case len(bad) == 0:
		return fmt.Sprintf("all %d ready", len(all))
	}
	return strings.Join(bad, ", ")
}

// lists are the jobs that run and the queue, and which lines are the chosen job's.
func (s Screen) lists() (lines []line, at int) {
	running, waiting := s.running(), s.waiting()
	add := func(title string, jobs []Job, columns []column, notes func(Job) []string) {
		lines = append(lines, nil)
		if len(jobs) == 0 {
			lines = append(lines, of(faint, "%s", title))
			return
		}
		t := s.fit(columns, jobs)
		lines = append(lines, of(faint, "%s", "  "+t.heads(s)))
		for i, j := range jobs {
			mark, p := "  ", plain
			if j.ID == s.id && s.Height > 0 {
				mark, p, at = "> ", chosen, len(lines)
			}
			lines = append(lines, of(p, "%s", s.pad(mark+t.row(s, i), s.Width)))
			for _, note := range notes(j) {
				lines = append(lines, of(alarm, "%s", s.cut("    ! "+s.printable(note), s.Width)))
			}
		}
	}
	add("no job runs", running, runningColumns(), func(j Job) []string { return troubles(j, s.Now) })
	add("nothing waits", waiting, waitingColumns(), func(Job) []string { return nil })
	return lines, at
}

// window is so many lines of a list, the chosen one among them.
func (s Screen) window(lines []line, at, height int) []line {
	if len(lines) <= height || height < 1 {
		return lines[:min(len(lines), max(0, height))]
	}
	from := max(0, min(at-height/2, len(lines)-height))
	shown := append([]line{}, lines[from:from+height]...)
	if from > 0 && at > from {
		shown[0] = of(faint, "  %s above", count.Of(from+1, "line"))
	}
	if rest := len(lines) - from - height; rest > 0 && at < from+height-1 {
		shown[height-1] = of(faint, "  %s below", count.Of(rest+1, "line"))
	}
	return shown
}

// troubles are what a job that runs needs a look for.
func troubles(j Job, now time.Time) []string {
	if j.GivesWay != "" {
		return []string{j.GivesWay}
	}
	if j.Kept == nil {
		return nil
	}
	h, seems := j.Kept.Hang, "seems to hang for "
	if h == nil {
		h, seems = j.Kept.Slow, "is silent for "
	}
	if h == nil {
		return nil
	}
	text := seems + span(now.Sub(h.Since)) + ": " + h.Why
	return []string{strings.Join(append([]string{text}, h.Ranks...), "; ")}
}
