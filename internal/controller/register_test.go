package controller_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Nodes register with each slurmctld that takes another's place: at once, and when it
// no longer trusts what it read.
func TestRegister(t *testing.T) {
	var process atomic.Int32
	process.Store(7)
	var asked []int32
	refuse := true
	playWith(t, func(s *scene) {
		s.config.Slurmctld = func() int { return int(process.Load()) }
		s.config.Trust = 90 * time.Second
		s.config.EndRunaways = func(context.Context) ([]string, error) { return nil, nil }
		s.config.Register = func(context.Context) error {
			if refuse {
				refuse = false
				return errors.New("not now")
			}
			asked = append(asked, process.Load())
			return nil
		}
	}, func(t *testing.T, s *scene) {
		<-time.After(20 * time.Second)
		for _, p := range []int32{8, 0, 8, 9} { // 0 is none for now
			process.Store(p)
			<-time.After(20 * time.Second)
		}
		<-time.After(5 * time.Minute)
		s.stop()
		s.start(t)
		<-time.After(2 * time.Minute)
	}, "q-dy-r-1")
	if want := []int32{8, 9, 9, 9}; !slices.Equal(asked, want) {
		t.Errorf("nodes were asked to register with %v, want %v", asked, want)
	}
}

// TestSettleAccounts: what each new slurmctld does not know ends in the accounting, once it
// can be asked, and what keeps it from answering keeps nothing else. Nodes may register by themselves.
func TestSettleAccounts(t *testing.T) {
	var process atomic.Int32
	process.Store(7)
	var answers atomic.Int32
	playWith(t, func(s *scene) {
		s.config.Slurmctld = func() int { return int(process.Load()) }
		s.config.Trust = 90 * time.Second
		s.config.EndRunaways = func(context.Context) ([]string, error) {
			switch answers.Add(1) {
			case 1:
				return nil, errors.New("connection refused")
			case 2:
				return []string{"3", "4"}, nil
			}
			return nil, nil
		}
	}, func(t *testing.T, s *scene) {
		for _, want := range []int32{1, 2, 2, 2} {
			<-time.After(50 * time.Second)
			if got := answers.Load(); got != want {
				t.Errorf("asked %d times, want %d", got, want)
			}
		}
		process.Store(8)
		<-time.After(5 * time.Minute)
	}, "q-dy-r-1")
	if answers.Load() != 3 {
		t.Errorf("asked %d times in all", answers.Load())
	}
}
