package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data"
)

func TestDataLine(t *testing.T) {
	const gib = 1 << 30
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var line dataLine
	for _, row := range []struct {
		name  string
		after time.Duration
		step  data.Step
		want  string
	}{
		{"at_first", 0, data.Step{Phase: "send", OfFiles: 2, OfBytes: 2 * gib}, "send: 0 of 2 files, 0 B of 2.0 GiB so far"},
		{"under_way", time.Second, data.Step{Phase: "send", Bytes: gib / 4, OfFiles: 4, OfBytes: 4 * gib}, "send: 0 of 4 files, 256 MiB of 4.0 GiB so far, 256 MiB/s"},
		{"counted", 2 * time.Second, data.Step{Phase: "send", Files: 1, Bytes: gib / 2, OfFiles: 4, OfBytes: 4 * gib, Counted: true}, "send: 1 of 4 files, 512 MiB of 4.0 GiB, 256 MiB/s, 14 s left"},
		{"some_goes_again", 3 * time.Second, data.Step{Phase: "send", Files: 1, Bytes: gib / 4, OfFiles: 4, OfBytes: 4 * gib, Counted: true}, "send: 1 of 4 files, 256 MiB of 4.0 GiB, 205 MiB/s, 18 s left"},
		{"another_phase", 4 * time.Second, data.Step{Phase: "compare", Files: 1000}, "compare: 1000 files, 0 B"},
		{"one_file", 5 * time.Second, data.Step{Phase: "compare", Files: 1, OfFiles: 1, Counted: true}, "compare: 1 of 1 file, 0 B of 0 B"},
		{"no_phase", 6 * time.Second, data.Step{Files: 2}, "2 files, 0 B"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := line.text(row.step, begin.Add(row.after)); got != row.want {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
		})
	}
}

// TestDataLine_first holds that a line that comes late has a pace, too.
func TestDataLine_first(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	line := dataLine{pace: pace{at: begin}}
	got := line.text(data.Step{Phase: "send", Bytes: 100 << 20, OfFiles: 1, OfBytes: 300 << 20, Counted: true}, begin.Add(10*time.Second))
	if want := "send: 0 of 1 file, 100 MiB of 300 MiB, 10 MiB/s, 20 s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWatchData(t *testing.T) {
	for _, row := range []struct {
		name  string
		quiet bool
		want  string
	}{
		{"says_what_was_noted", false, "muster: the server is away: \\x1b[2J\n"},
		{"quiet", true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			var p data.Progress
			stop := (&app{err: &out, quiet: row.quiet}).watchData(&p)
			p.Note("the server is away: %s", "\x1b[2J")
			stop()
			stop()
			if out.String() != row.want {
				t.Errorf("got %q, want %q", out.String(), row.want)
			}
		})
	}
}
