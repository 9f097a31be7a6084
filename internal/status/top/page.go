package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/say/count"
)

// pageLines are the page of the chosen job.
func (s Screen) pageLines() []line {
	keys := s.keys("Esc back  r look  ? help  q quit")
	at := slices.IndexFunc(s.Look.Jobs, func(j Job) bool { return j.ID == s.id })
	if at < 0 {
		return []line{s.title(fmt.Sprintf("job %d", s.id)), nil, of(plain, "it has ended: muster job show %d says how", s.id), nil, keys}
	}
	j := s.Look.Jobs[at]
	lines := []line{s.title("job " + s.printable(j.Label) + "  " + s.printable(j.Name) + "  " + strings.ToLower(j.State))}
	for _, row := range s.facts(j) {
		if row[1] != "" {
			lines = append(lines, s.row(row[0], row[1]))
		}
	}
	for _, text := range troubles(j, s.Now) {
		lines = append(lines, of(alarm, "! %s", s.printable(text)))
	}
	lines = append(lines, s.rounds(j)...)
	lines = append(lines, s.curves(j, s.Height-len(lines)-leastLog)...)
	lines = append(lines, s.output(j, s.Height-len(lines)-2)...)
	return append(lines, nil, keys)
}

// leastLog is how many lines are left for the job's output.
const leastLog = 7

func (s Screen) facts(j Job) [][2]string {
	facts := [][2]string{{"user", j.User}, {"waits", j.Why}, {"nodes", count.Of(j.NumNodes, "node") + " of " + j.Partition + ": " + j.NodeList}}
	if j.waits() {
		facts[2][1] = count.Of(j.NumNodes, "node") + " of " + j.Partition
		return facts
	}
	facts = append(facts, [2]string{"time", s.timeText(j)}, [2]string{"progress", progressText(j)})
	if k := j.Kept; k != nil {
		facts = append(facts, [2]string{"phase", k.Phase}, [2]string{"restarts", strconv.Itoa(k.Restarts)})
		if c := k.Checkpoint; c != nil {
			facts = append(facts, [2]string{"saved", fmt.Sprintf("%s, %s ago", c.Dir, span(s.Now.Sub(c.At)))})
		}
		for _, c := range k.Torn {
			facts = append(facts, [2]string{"torn", c.Dir + ": " + c.Torn})
		}
	}
	return facts
}

func (s Screen) timeText(j Job) string {
	parts := []string{"runs for " + span(s.Now.Sub(j.Start))}
	if left := j.left(); left != "" {
		parts = append(parts, left+" left of its limit")
	}
	if j.Kept != nil && !j.Kept.ExpectedEnd.IsZero() {
		parts = append(parts, "done in about "+span(j.Kept.ExpectedEnd.Sub(s.Now)))
	}
	return strings.Join(parts, ", ")
}

func progressText(j Job) string {
	last := j.newest
	if len(j.trained) == 0 {
		return "no line of progress seen"
	}
	var parts []string
	for _, x := range []struct{ name, text string }{
		{"step ", j.step()}, {"loss ", figure(last.Loss)}, {"", j.speed()}, {"tokens/s ", figure(last.TokensPerSecond)},
		{"tokens/s of one GPU ", figure(last.TokensPerSecondPerGPU)}, {"TFLOP/s of one GPU ", figure(last.TFLOPs)},
		{"learning rate ", figure(last.LearningRate)}, {"gradient ", figure(last.GradNorm)},
	} {
		if x.text != "" {
			parts = append(parts, x.name+x.text)
		}
	}
	return strings.Join(parts, ", ")
}

// shownRounds is how many runs are told.
const shownRounds = 4

// rounds are the runs that have ended, and what followed.
func (s Screen) rounds(j Job) []line {
	if j.Kept == nil || len(j.Kept.Rounds) == 0 {
		return nil
	}
	all := j.Kept.Rounds
	lines := []line{nil, of(faint, "runs that ended")}
	for i := max(0, len(all)-shownRounds); i < len(all); i++ {
		lines = append(lines, of(plain, "%s", s.cut(s.printable(roundText(i+1, all[i])), s.Width)))
	}
	return lines
}

func roundText(n int, r client.JobRound) string {
	text := fmt.Sprintf("%d  %s", n, r.End.Local().Format(time.TimeOnly))
	if r.Why != "" {
		text += "  " + r.Why
	} else {
		text += "  " + strings.ToLower(r.State)
	}
	if r.AtFault != "" {
		text += " (" + r.AtFault + ")"
	}
	switch r.Action {
	case "elsewhere", "here":
		text += "; went on " + r.Action
	case "stop":
		text += "; stopped"
	}
	if r.Because != "" {
		text += ": " + r.Because
	}
	return text
}

// chartHeight is how high a curve is at the most, leastChart at the least.
const (
	chartHeight = 10
	leastChart  = 3
	axis        = 9
)

// curves are those of loss and speed, as far as there is room.
func (s Screen) curves(j Job, room int) []line {
	all := j.trained
	var lines []line
	wanted := []struct {
		name string
		of   func(client.JobSample) *float64
	}{{"loss", lossOf}, {"samples/s", rateOf}, {"tokens/s", tokensOf}, {"tokens/s of one GPU", shareOf}}
	if s.Height == 0 {
		room = 3 * (chartHeight + 2)
	}
	for _, w := range wanted {
		v := values(all, w.of)
		height := min(chartHeight, room-2)
		if room >= 4*leastChart+2 && w.name == "loss" {
			height = min(chartHeight, room/2)
		}
		if len(v) < 2 || height < leastChart {
			continue
		}
		drawn := s.drawn(w.name, v, height)
		lines, room = append(lines, drawn...), room-len(drawn)
	}
	return lines
}

// drawn is a curve with its bounds beside it.
func (s Screen) drawn(name string, v []float64, height int) []line {
	low, high := bounds(v)
	lines := []line{nil, of(faint, "%s", name)}
	for i, row := range s.chart(v, max(1, s.Width-axis-1), height) {
		label := ""
		switch i {
		case 0:
			label = number(high)
		case height - 1:
			label = number(low)
		}
		lines = append(lines, of(plain, "%s %s", s.padLeft(label, axis), row))
	}
	return lines
}

// output is the end of the job's output.
func (s Screen) output(j Job, room int) []line {
	if len(j.Log) == 0 || room < 3 && s.Height > 0 {
		return nil
	}
	lines := []line{nil, of(faint, "%s", s.cut(s.printable(j.Stdout), s.Width))}
	text := j.Log
	if s.Height > 0 {
		text = text[max(0, len(text)-(room-2)):]
	}
	for _, t := range text {
		lines = append(lines, of(plain, "%s", s.cut(s.printable(t), s.Width)))
	}
	return lines
}
