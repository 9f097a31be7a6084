package report

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestInterval says how often to save, and how sure that is: with what a save and interruptions took.
func TestInterval(t *testing.T) {
	begin := time.Unix(1795880000, 0)
	run := func(state string, saves int) Split {
		s := Split{Run: slurm.Held{Run: slurm.Run{State: state}}}
		at := begin
		for range saves {
			s.Spans = append(s.Spans, Span{at, at.Add(950 * time.Second), Training},
				Span{at.Add(950 * time.Second), at.Add(1000 * time.Second), Checkpoint})
			at = at.Add(1000 * time.Second)
		}
		return s
	}
	for _, tt := range []struct {
		name   string
		jobs   int
		splits []Split
		want   string
	}{
		{"no_interruption", 1, []Split{run("COMPLETED", 4)}, ""},
		{"no_save", 1, []Split{run("NODE_FAIL", 0)}, ""},
		{"several_jobs", 2, []Split{run("NODE_FAIL", 4)}, ""},
		{
			"once", 1, []Split{run("NODE_FAIL", 9), run("COMPLETED", 9)},
			"; with 50 s for a save and 1 interruption in 5 h, least is lost with one every 22 min (Young), which is a guess: one interruption says little of when the next one comes",
		},
		{
			"twice", 1, []Split{run("NODE_FAIL", 9), run("REQUEUED", 9)},
			"; with 50 s for a save and 2 interruptions in 5 h, least is lost with one every 16 min (Young)",
		},
	} {
		if got := interval(Row{Jobs: tt.jobs}, tt.splits); got != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
