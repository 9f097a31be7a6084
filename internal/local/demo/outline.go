package demo

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/say/step"
)

// part is a step of the demo, and about how long it takes on two idle cores.
type part struct {
	name  string
	about time.Duration
	do    func(context.Context) (string, error)
	// fixed says that it takes as long on a slower machine.
	fixed bool
}

// outline lists the parts with their times, before the first one begins.
func outline(parts []part, keep bool) []string {
	end := "take everything down and prove that nothing is left"
	if keep {
		end = "leave the cluster up"
	}
	lines := []string{fmt.Sprintf("A cluster on this machine, in about %s on two idle cores. What comes:", roughly(expected(parts, 1)))}
	for _, p := range append(parts[:len(parts):len(parts)], part{name: end, about: time.Second}) {
		lines = append(lines, fmt.Sprintf("%7s  %s", roughly(p.about), p.name))
	}
	return lines
}

// expected is how long parts take at a pace.
func expected(parts []part, pace float64) (sum time.Duration) {
	for _, p := range parts {
		if p.fixed {
			sum += p.about
		} else {
			sum += time.Duration(float64(p.about) * pace)
		}
	}
	return sum
}

// title is a part's name with the time that it takes and the time that the demo goes on
// after it, both at the pace of the parts before it.
func title(parts []part, i int, done []step.Step) string {
	at := pace(parts[:i], done)
	text := fmt.Sprintf("%s (about %s", parts[i].name, roughly(expected(parts[i:i+1], at)))
	if after := expected(parts[i+1:], at); after > 0 {
		text += fmt.Sprintf(", then %s more", roughly(after))
	}
	return text + ")"
}

// pace is how many times slower than two idle cores this machine is, by the parts that
// are done: at least 1.
func pace(parts []part, done []step.Step) float64 {
	seconds := map[string]float64{}
	for _, s := range done {
		seconds[s.Name] = s.Seconds
	}
	spent := 0.0
	for _, p := range parts {
		spent += seconds[p.name]
	}
	about := expected(parts, 1).Seconds()
	if about < 3 { // too little to judge by
		return 1
	}
	return max(1, spent/about)
}

// roughly is a time to the precision of an estimate: 3 s, 45 s, 4 min.
func roughly(d time.Duration) string {
	s := max(1, d.Seconds())
	switch {
	case s < 10:
		return fmt.Sprintf("%.0f s", s)
	case s < 90:
		return fmt.Sprintf("%.0f s", 5*math.Round(s/5))
	}
	return fmt.Sprintf("%.0f min", s/60)
}

// narrator reports a part and what happens within it in one line, which it renews every
// second: the part's title, the time since it began, and the latest news. It is a
// reporter for many goroutines.
type narrator struct {
	mu sync.Mutex // guards what follows, and lets one goroutine at a time call to
	to step.Reporter
	// name, title and began are those of the part that runs, news what was said last
	// within it and told when.
	name, title, news string
	began, told       time.Time
}

// renewEvery is how often the time since a part began is shown.
const renewEvery = time.Second

// during runs a part.
func (n *narrator) during(name, title string, do func() error) error {
	n.set(name, title)
	defer n.set("", "")
	ended := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() { n.renew(ended) })
	defer renewing.Wait()
	defer close(ended)
	return do()
}

func (n *narrator) set(name, title string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name, n.title, n.news, n.began, n.told = name, title, "", time.Now(), time.Now()
}

// waiting tells what the part waits for.
func (n *narrator) waiting(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.news = what
	n.say()
}

func (n *narrator) renew(ended <-chan struct{}) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			n.again()
		}
	}
}

// again repeats the latest news, unless they have just been told.
func (n *narrator) again() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.told) >= renewEvery {
		n.say()
	}
}

// say tells the latest news. The caller has locked.
func (n *narrator) say() {
	n.told = time.Now()
	n.to.Waiting(n.title, n.news, time.Since(n.began))
}

// Begin implements step.Reporter. A step within the part is news.
func (n *narrator) Begin(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.name {
	case "":
		n.to.Begin(name)
	case name:
		n.to.Begin(n.title)
	default:
		n.news = strconv.Quote(name)
		n.say()
	}
}

// Waiting implements step.Reporter.
func (n *narrator) Waiting(name, what string, since time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.name {
	case "":
		n.to.Waiting(name, what, since)
		return
	case name:
		n.news = what
	default:
		n.news = strconv.Quote(name) + ": " + what
	}
	n.say()
}

// Note implements step.Reporter.
func (n *narrator) Note(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to.Note(line)
}

// Done implements step.Reporter.
func (n *narrator) Done(s step.Step) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.news = ""
	n.to.Done(s)
}

var _ step.Reporter = (*narrator)(nil)
