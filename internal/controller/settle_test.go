package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A node that died while nobody looked is set down before Settle returns.
func TestSettle(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(1, time.Hour)
		s.runs(t, j)
		s.stop()
		s.place.Kill("q-dy-r-1")
		silent := errors.New("no answer")
		s.slurm.silence(silent)
		s.start(t)
		answer := make(chan error, 1)
		go func() { answer <- s.now.Settle(t.Context()) }()
		<-time.After(10 * time.Second)
		synctest.Wait()
		select {
		case err := <-answer:
			t.Fatalf("it returned while Slurm did not answer: %v", err)
		default:
		}
		s.slurm.silence(nil)
		if err := <-answer; err != nil {
			t.Fatal(err)
		}
		if n := s.count(t, "set down q-dy-r-1"); n != 1 {
			t.Errorf("the lost node was set down %d times: %v", n, s.events(t))
		}
	}, "q-dy-r-1")
}

func TestSettle_ends_with_its_context(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.stop()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := s.now.Settle(ctx); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	}, "q-dy-r-1")
}

// slurmctld died when it knew that a job has a node and no more that the node is off.
func TestRun_gives_up_a_node_that_is_never_asked_for(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.slurm.forgetful = true
		j := s.slurm.submit(1, time.Minute)
		<-time.After(20 * time.Second)
		if n := s.count(t, "set down q-dy-r-1"); n != 0 {
			t.Error("it was given up at once")
		}
		s.jobIs(t, j, "COMPLETED", 4*time.Minute)
	}, "q-dy-r-1")
}
