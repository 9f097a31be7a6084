package trainlog_test

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Prefixes say who wrote a line, and are no part of it.
func TestOrigins(t *testing.T) {
	const none = trainlog.NoRank
	for _, row := range []struct {
		name, prefix          string
		rank, task, localRank int
		stays                 bool // it is part of the text
	}{
		{"none", "", none, none, none, false},
		{"srun", "3: ", none, 3, none, false},
		{"srun_padded", "  13: ", none, 13, none, false},
		{"mpirun", "[1,3]<stdout>:", none, 3, none, false},
		{"mpirun_stderr", "[1,12]<stderr>: ", none, 12, none, false},
		{"torch", "[rank5]: ", 5, none, none, false},
		{"torch_of_c", "[rank5]:", 5, none, none, false},
		{"torchrun", "[default3]:", none, none, 3, false},
		{"a_role_of_torchrun", "[trainer3]:", none, none, 3, false},
		{"all", "1: [default3]:[rank11]: ", 11, 1, 3, false},
		{"in_the_text", "[E1218 x.cpp:629] [Rank 7] ", 7, none, none, true},
		{"a_group_in_the_text", "[PG ID 0 PG GUID 0(default_pg) Rank 6] ", 6, none, none, true},
		{"a_year", "2026: ", none, 2026, none, false},
		{"too_long", "12345678: ", none, none, none, true},
		{"a_number_in_brackets", "[12]: ", none, none, none, true},
		{"a_name", "[rank]: ", none, none, none, true},
		{"a_host", "node-3: ", none, none, none, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			const text = "No space left on device"
			found := read(row.prefix + text + "\n").Signs
			if len(found) != 1 {
				t.Fatalf("got %+v", found)
			}
			s, want := found[0], text
			if row.stays {
				want = row.prefix + text
			}
			if s.Text != want || s.Rank != row.rank || s.Task != row.task || s.LocalRank != row.localRank {
				t.Errorf("got %q, rank %d, task %d, local rank %d", s.Text, s.Rank, s.Task, s.LocalRank)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2025-06-17 16:24:52 I":                  "2025-06-17T16:24:52Z",
		"[2026-11-20T20:48:19.372] error":        "2026-11-20T20:48:19.372Z",
		"[2023-10-31 08:58:33,237] [INFO]":       "2023-10-31T08:58:33.237Z",
		"time : 2026-06-08_19:04:45":             "2026-06-08T19:04:45Z",
		"[2026-05-27 07:58:10.261551] iteration": "2026-05-27T07:58:10.261551Z",
		"[titan] 2025-06-04 08:51:48,074 - root": "2025-06-04T08:51:48.074Z",
		"12025-06-17 16:24:52 a longer number":   "",
		"2025-13-17 16:24:52 no month":           "",
		"2025-02-30 16:24:52 no day":             "",
		"2025-06-17 24:24:52 no hour":            "",
		"2025-06-1x 16:24:52 no number":          "",
		"2025-06-17 16:24":                       "",
		"2025-06-17x16:24:52":                    "",
	} {
		found := read(text + " No space left on device\n").Signs
		if len(found) != 1 {
			t.Fatalf("%s: got %+v", text, found)
		}
		got := ""
		if at := found[0].Time; !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
