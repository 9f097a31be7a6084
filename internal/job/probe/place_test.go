package probe

import (
	"strings"
	"testing"
)

// What py-spy 0.4.3 wrote of a process, and what it could.
func TestPlace(t *testing.T) {
	const sleeper = "thread (22135): watchdog;Thread._bootstrap (threading.py:995);waiter (s.py:3) 49\n"
	for _, row := range []struct{ name, raw, want string }{
		{"stands", "thread (22106): MainThread;<module> (s.py:14);asleep (s.py:13);Condition.wait (threading.py:320) 49\n" + sleeper, "Condition.wait (threading.py:320); asleep (s.py:13); <module> (s.py:14)"},
		{"moves", sleeper + "thread (1): MainThread;<module> (s.py:14);wait (s.py:6) 38\nthread (1): MainThread;<module> (s.py:14);wait (s.py:7) 11\n", ""},
		{"seen_too_seldom", "thread (1): MainThread;<module> (s.py:14);wait (s.py:6) 19\n", ""},
		{"no_main_thread", sleeper, ""},
		{"no_count", "thread (1): MainThread;<module> (s.py:14)\n", ""},
		{"no_end", "thread (1): MainThread;x", ""},
		{"too_deep", "thread (1): MainThread;" + strings.Repeat("f (x.py:1);", 1000) + "g (x.py:1) 49\n", ""},
		{"nothing", "py-spy> Sampling process 25 times a second\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := place([]byte(row.raw)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// Which processes lead ranks, and which help them.
func TestRanked(t *testing.T) {
	for _, row := range []struct {
		name string
		all  []seen
		want string
	}{
		{"torchrun", []seen{
			{pid: 1, rank: "0"}, {pid: 2, parent: 1, rank: "0", python: true}, {pid: 3, parent: 2, rank: "4", told: true, python: true},
			{pid: 4, parent: 3, rank: "4", told: true, python: true}, {pid: 5, parent: 4, rank: "4", told: true}, {pid: 6, parent: 2, rank: "5", told: true, python: true},
		}, "-:,-:,4:leader,4:helper,4:helper,5:leader"},
		{"srun", []seen{{pid: 2, parent: 1, rank: "1"}, {pid: 3, parent: 2, rank: "1", python: true}, {pid: 4, parent: 3, rank: "1", python: true}}, "1:,1:leader,1:helper"},
		{"no_python", []seen{{pid: 2, parent: 1, rank: "1"}, {pid: 3, parent: 2, rank: "1"}}, "1:leader,1:leader"},
		{"no_rank", []seen{{pid: 2, parent: 1, python: true}}, "-:"},
		{"a_circle", []seen{{pid: 2, parent: 3, rank: "1"}, {pid: 3, parent: 2, rank: "1"}}, "1:leader,1:leader"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, s := range ranked(row.all) {
				if s.rank == "" {
					s.rank = "-"
				}
				got = append(got, s.rank+":"+string(s.part))
			}
			if strings.Join(got, ",") != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}
