//go:build linux

package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify/load"
)

// greeted is what nodes answered.
type greeted struct {
	// there are the nodes that answered at all.
	there map[string]bool
	// clocks are how far a node's clock is ahead of ours at the most exact look, with how exact that is.
	clocks  map[string]clock
	unknown map[string]map[string]string
	// unseen are the head node's marks that a node does not see, with why.
	unseen map[string]map[string]string
}

// clock is a difference to ours. It is right within Within either way: half of the time that question and answer took.
type clock struct{ Ahead, Within time.Duration }

const (
	greetings  = 5 // the quickest answer counts
	greetWait  = 60 * time.Second
	answerWait = 20 * time.Second
)

// greet asks all nodes for their clocks, whether they know names, and whether they see marks.
func (r *run) greet(ctx context.Context, names []string, marks map[string]string) (greeted, error) {
	g := greeted{there: map[string]bool{}, clocks: map[string]clock{}, unknown: map[string]map[string]string{}, unseen: map[string]map[string]string{}}
	s, err := r.begin(ctx, stepOptions{args: r.muster("hello"), input: true, limit: greetWait})
	if err != nil {
		return g, err
	}
	answers := make(chan heardAt)
	go s.read(answers)
	g.await(r.alloc.nodes, -1, time.Now(), answers, answerWait)
	for turn := range greetings {
		question := load.Greeting{Turn: turn}
		if turn == greetings-1 {
			question.Names, question.Marks = names, marks
		}
		text, err := json.Marshal(question)
		if err != nil {
			return g, err
		}
		asked := time.Now()
		if _, err := s.in.Write(append(text, '\n')); err != nil {
			break // its end says why
		}
		g.await(r.alloc.nodes, turn, asked, answers, answerWait)
	}
	_ = s.in.Close()
	for range answers { // to its end
	}
	if err = s.end(); err != nil && len(g.there) == len(r.alloc.nodes) {
		err = nil // all have answered
	}
	return g, err
}

// heardAt is a line of a step, and when it came.
type heardAt struct {
	hello load.Hello
	at    time.Time
}

// read gives what a step prints, to its end.
func (s *step) read(to chan<- heardAt) {
	defer close(to)
	lines := bufio.NewScanner(s.out)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		at := time.Now()
		var h load.Hello
		if json.Unmarshal(lines.Bytes(), &h) == nil {
			to <- heardAt{h, at}
		}
	}
}

// await takes answers until all nodes have given theirs of a turn, or the wait is over.
func (g *greeted) await(nodes []string, turn int, asked time.Time, answers <-chan heardAt, wait time.Duration) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for missing := len(nodes); missing > 0; {
		select {
		case a, ok := <-answers:
			if !ok {
				return
			}
			if a.hello.Turn == turn {
				missing--
				g.take(a, asked)
			}
		case <-over.C:
			return
		}
	}
}

// take notes an answer: the quickest one says the clock best.
func (g *greeted) take(a heardAt, asked time.Time) {
	node := a.hello.Node
	g.there[node] = true
	if a.hello.Turn < 0 {
		return
	}
	for name, why := range a.hello.Unknown {
		if g.unknown[node] == nil {
			g.unknown[node] = map[string]string{}
		}
		g.unknown[node][name] = why
	}
	if len(a.hello.Unseen) > 0 {
		g.unseen[node] = a.hello.Unseen
	}
	took := a.at.Sub(asked)
	c := clock{Ahead: a.hello.Now.Sub(asked.Round(0)) - took/2, Within: took / 2}
	if best, ok := g.clocks[node]; !ok || c.Within < best.Within {
		g.clocks[node] = c
	}
}

var errSilent = errors.New("it did not answer")

// String says no more than is known: where the answer took longer than the clock is off, how far that is at most.
func (c clock) String() string {
	switch {
	case c.Ahead.Abs() <= c.Within:
		return "within " + count.Brief(c.Ahead.Abs()+c.Within)
	case c.Ahead < 0:
		return count.Brief(-c.Ahead) + " behind"
	}
	return count.Brief(c.Ahead) + " ahead"
}
