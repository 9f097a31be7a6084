package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// await calls Await as PrologSlurmctld does and returns where its answer comes.
func (s *scene) await(ctx context.Context, nodes ...string) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- s.now.Await(ctx, nodes) }()
	synctest.Wait()
	return answer
}

// answered waits for the answer to an await.
func answered(t *testing.T, answer <-chan error, limit time.Duration) (err error) {
	t.Helper()
	select {
	case err = <-answer:
	case <-time.After(limit):
		t.Fatalf("no answer within %s", limit)
	}
	return err
}

func TestAwait_ends_when_the_nodes_are_up(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		j := s.slurm.submit(2, time.Minute)
		within(t, 5*time.Second, "allocated", func() bool { return s.slurm.job(j).State == "RUNNING" })
		answer := s.await(t.Context(), "q-dy-r-1", "q-dy-r-2")
		select {
		case err := <-answer:
			t.Fatalf("answered %v before the nodes were up", err)
		default:
		}
		if err := answered(t, answer, 10*time.Second); err != nil {
			t.Error(err)
		}
		for _, n := range []string{"q-dy-r-1", "q-dy-r-2"} {
			if s.slurm.state(n).PoweringUp() {
				t.Errorf("%s is %s", n, s.slurm.state(n))
			}
		}
		if err := answered(t, s.await(t.Context(), "q-dy-r-2"), time.Second); err != nil {
			t.Errorf("of nodes that are up: %v", err)
		}
	}, "q-dy-r-1", "q-dy-r-2")
}

func TestAwait_ends_with_its_caller(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		s.slurm.submit(1, time.Minute)
		<-time.After(5 * time.Second)
		gone := errors.New("scancel")
		ctx, cancel := context.WithCancelCause(t.Context())
		answer := s.await(ctx, "q-dy-r-1")
		cancel(gone)
		if err := answered(t, answer, time.Second); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	}, "q-dy-r-1")
}

func TestAwait_ends_when_a_node_is_given_up(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		s.slurm.submit(1, time.Minute)
		<-time.After(5 * time.Second)
		answer := s.await(t.Context(), "q-dy-r-1")
		s.place.Fail("q-dy-r-1", errors.New("no capacity"))
		s.place.Kill("q-dy-r-1")
		if err := answered(t, answer, 10*time.Second); err != nil {
			t.Error(err)
		}
	}, "q-dy-r-1")
}

// Slurm does not start a job again while its prolog runs, nor power up a node
// for a job that has not begun: a prolog must not wait for that.
func TestAwait_ends_when_nobody_wants_the_node_any_more(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		s.place.Fail("q-dy-r-1", errors.New("no capacity"))
		s.stop() // and nobody sees it down
		s.slurm.submit(1, time.Minute)
		<-time.After(5 * time.Second)
		answer := s.await(t.Context(), "q-dy-r-1")
		<-time.After(resumeTimeout)
		s.slurm.mu.Lock()
		for _, j := range s.slurm.jobs {
			j.State = "CANCELLED"
		}
		s.slurm.mu.Unlock()
		if err := s.slurm.UpdateNodes(t.Context(), []string{"q-dy-r-1"}, "POWER_DOWN", ""); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		before := s.now
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = before.Run(ctx) }()
		if err := answered(t, answer, 10*time.Second); err != nil {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
	}, "q-dy-r-1")
}
