package controller_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRun_replaces_what_does_not_come_up(t *testing.T) {
	var asked atomic.Value // the ID of an instance
	console := func(s *scene) {
		s.config.Console = func(_ context.Context, id string) (string, error) {
			asked.Store(id)
			return strings.Repeat("line\n", 99) + "Kernel panic - not syncing", nil
		}
	}
	playWith(t, console, func(t *testing.T, s *scene) {
		s.slurm.slow("q-dy-r-1", true)
		j := s.slurm.submit(1, time.Second)
		within(t, limits.Boot+10*time.Second, "launched again", func() bool { return s.place.Started() == 2 })
		text, err := os.ReadFile(s.file)
		if err != nil || asked.Load() != "i-1" || strings.Count(string(text), `"line"`) != 19 || !strings.Contains(string(text), `"Kernel panic - not syncing"]`) {
			t.Errorf("the console of %q was asked for, and events have\n%s", asked.Load(), text)
		}
		<-time.After(resumeTimeout)
		s.slurm.slow("q-dy-r-1", false)
		s.jobIs(t, j, "COMPLETED", 3*time.Minute)
	}, "q-dy-r-1")
}

func TestRun_says_that_a_console_could_not_be_read(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		want string
	}{
		"refused": {errors.New("read the console of i-1: UnsupportedOperation: not of this type"), "read the console of i-1: UnsupportedOperation: not of this type"},
		"empty":   {nil, "its console is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			console := func(s *scene) {
				s.config.Console = func(context.Context, string) (string, error) { return "", row.err }
			}
			playWith(t, console, func(t *testing.T, s *scene) {
				s.slurm.slow("q-dy-r-1", true)
				s.slurm.submit(1, time.Second)
				within(t, limits.Boot+10*time.Second, "launched again", func() bool { return s.place.Started() == 2 })
				text, err := os.ReadFile(s.file)
				if want := `"reason":"why a machine did not answer is not known: ` + row.want + `"`; err != nil || !strings.Contains(string(text), want) {
					t.Errorf("events lack %s:\n%s", want, text)
				}
			}, "q-dy-r-1")
		})
	}
}
