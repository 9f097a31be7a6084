package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// schedule runs packages, those first that take longest, and keeps what became of them.
type schedule struct {
	options
	queue    []tested
	expected map[string]float64 // seconds by directory, on two quiet cores

	mu      sync.Mutex // guards what follows, and the lines that are printed
	began   time.Time
	running map[string]*packageRun
	done    []*packageRun
}

// unknownSeconds is what a package is expected to take that has not been recorded yet.
const unknownSeconds = 2

func newSchedule(packages []tested, seconds map[string]float64, o options) *schedule {
	s := &schedule{options: o, queue: slices.Clone(packages), expected: map[string]float64{}, running: map[string]*packageRun{}}
	for _, p := range packages {
		s.expected[p.dir] = unknownSeconds
		if known, ok := seconds[mode(o.soak)+" "+p.dir]; ok {
			s.expected[p.dir] = known
		}
	}
	slices.SortStableFunc(s.queue, func(a, b tested) int { return cmp.Compare(s.expected[b.dir], s.expected[a.dir]) })
	return s
}

// silence is how long no package may end before a line says what is still running.
const silence = 20 * time.Second

// start runs all packages to their end.
func (s *schedule) start(ctx context.Context, programs string) {
	s.began = time.Now()
	next := make(chan tested)
	var workers sync.WaitGroup
	for range s.parallel {
		workers.Go(func() {
			for p := range next {
				s.runPackage(ctx, p, programs)
			}
		})
	}
	quit := make(chan struct{})
	var ticker sync.WaitGroup
	ticker.Go(func() { s.reportSilence(quit) })
	for _, p := range s.queue {
		if ctx.Err() != nil {
			break
		}
		next <- p
	}
	close(next)
	workers.Wait()
	close(quit)
	ticker.Wait()
}

// runPackage runs one package and prints how it ended.
func (s *schedule) runPackage(ctx context.Context, p tested, programs string) {
	r := newPackageRun(p)
	s.mu.Lock()
	s.running[p.dir] = r
	s.mu.Unlock()
	r.run(ctx, programs, s.options)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, p.dir)
	if ctx.Err() != nil {
		return // it was ended with us, and proves nothing
	}
	s.done = append(s.done, r)
	fmt.Printf("%3d/%d  %-4s  %-34s %8s  %4d tests  %s\n", len(s.done), len(s.queue), r.outcome(), p.dir, length(r.took), r.passed+len(r.failures), s.timeLeft())
	for _, f := range r.failures {
		fmt.Printf("--- FAIL: %s %s\n%s", p.dir, f.name, f.output)
	}
}

// reportSilence says, when nothing has ended for a while, what is running.
func (s *schedule) reportSilence(quit chan struct{}) {
	last, lastDone := time.Now(), 0
	for {
		select {
		case <-quit:
			return
		case <-time.After(time.Second):
		}
		s.mu.Lock()
		if lastDone != len(s.done) {
			last, lastDone = time.Now(), len(s.done)
		}
		if time.Since(last) >= silence {
			last = time.Now()
			for _, dir := range slices.Sorted(maps.Keys(s.running)) {
				fmt.Printf("         ...   %-34s %8s  %s\n", dir, length(time.Since(s.running[dir].began)), s.running[dir].runningTests())
			}
			fmt.Printf("         %s\n", s.timeLeft())
		}
		s.mu.Unlock()
	}
}

// timeLeft says how long the packages that have not ended will still take. It is never less than what is left of the one that takes
// longest.
func (s *schedule) timeLeft() string {
	spent, busy, left, longest := 0.0, 0.0, 0.0, 0.0
	ended := map[string]bool{}
	for _, r := range s.done {
		ended[r.dir] = true
		spent += s.expected[r.dir]
		busy += r.took.Seconds()
	}
	for _, p := range s.queue {
		if ended[p.dir] {
			continue
		}
		remains := s.expected[p.dir]
		if r := s.running[p.dir]; r != nil {
			ran := time.Since(r.began).Seconds()
			spent += min(ran, remains)
			busy += ran
			remains = max(remains-ran, 1)
		}
		left += remains
		longest = max(longest, remains)
	}
	if left == 0 {
		return ""
	}
	// How fast it goes here, against the recorded times.
	pace := min(max(busy/max(spent, 1), 0.5), 10)
	return "about " + length(time.Duration(max(left/float64(s.parallel), longest)*pace*float64(time.Second))) + " to go"
}

// failed reports whether a test failed, or none passed, which proves nothing.
func (s *schedule) failed() bool {
	return slices.ContainsFunc(s.done, func(r *packageRun) bool { return len(r.failures) > 0 }) ||
		!slices.ContainsFunc(s.done, func(r *packageRun) bool { return r.passed > 0 })
}

// verdict prints what was skipped and why, what failed, and the counts as the last line.
func (s *schedule) verdict(took time.Duration, stopped error) {
	passed, failed, skipped := 0, 0, 0
	why := map[string]int{}
	for _, r := range s.done {
		passed += r.passed
		failed += len(r.failures)
		skipped += len(r.skipped)
		for _, reason := range r.skipped {
			why[reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		fmt.Printf("skipped %d: %s\n", why[reason], reason)
	}
	for _, r := range s.done {
		for _, f := range r.failures {
			fmt.Printf("failed: %s %s\n", r.dir, f.name)
		}
	}
	word := "PASS"
	switch {
	case failed == 0 && stopped != nil:
		word = "STOPPED"
	case s.failed():
		word = "FAIL"
	}
	fmt.Printf("make %s: %d packages of %d in %s\n", mode(s.soak), len(s.done), len(s.queue), length(took))
	fmt.Printf("%s: %d passed, %d failed, %d skipped\n", word, passed, failed, skipped)
}

// mode is the name of the make target.
func mode(soak bool) string {
	if soak {
		return "soak"
	}
	return "test"
}

// length is a duration for people.
func length(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d:%02d min", int(d.Minutes()), int(d.Seconds())%60)
}
