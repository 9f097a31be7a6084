package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// switchboard is what Slurm is told of addresses.
type switchboard struct {
	told  []string
	fails bool
}

func (s *switchboard) SetAddresses(_ context.Context, names, addresses []string) error {
	s.told = append(s.told, fmt.Sprint(names, addresses))
	if s.fails {
		return errors.New("no answer")
	}
	return nil
}

// TestTellSlurm holds that Slurm hears of addresses without waiting for a round, and
// that its silence is logged.
func TestTellSlurm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		board := &switchboard{}
		c := New(Config{Addresses: board, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go c.tellAddresses(ctx)
		for _, step := range []struct {
			addresses map[string]string
			fails     bool
			want      []string
			logged    bool
		}{
			{nil, false, nil, false},
			{map[string]string{"b": "10.0.0.2", "a": "10.0.0.1"}, false, []string{"[a b] [10.0.0.1 10.0.0.2]"}, false},
			{map[string]string{"c": "10.0.0.3"}, true, []string{"[c] [10.0.0.3]"}, true},
		} {
			board.told, board.fails = nil, step.fails
			c.tellSlurm(step.addresses)
			synctest.Wait()
			if !slices.Equal(board.told, step.want) {
				t.Errorf("%v: told %q, want %q", step.addresses, board.told, step.want)
			}
			if got := strings.Contains(log.String(), "tell Slurm the addresses of 1 node: no answer"); got != step.logged || !got && log.Len() > 0 {
				t.Errorf("%v: logged %q", step.addresses, log.String())
			}
		}
		stop()
		synctest.Wait()
	})
}

// TestController_without_addresses_tells_nothing: a place can have names of its own.
func TestController_without_addresses_tells_nothing(t *testing.T) {
	c := New(Config{})
	c.tellSlurm(map[string]string{"a": "10.0.0.1"})
	if len(c.toTell) > 0 {
		t.Errorf("%v waits for a place that takes no addresses", c.toTell)
	}
}

func TestNote_logs_a_problem_once_and_its_end(t *testing.T) {
	var log strings.Builder
	c := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, err := range []error{nil, errors.New("one"), errors.New("one"), errors.New("two"), nil, nil} {
		c.note(err)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		_, message, _ := strings.Cut(strings.TrimSpace(line), " level=")
		got = append(got, message)
	}
	want := []string{`WARN msg="round failed" error=one`, `WARN msg="round failed" error=two`, `INFO msg="rounds succeed again"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
