package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// odd are lines that no reader knows as progress.
func odd(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "round %d objective %.2f\n", i+1, 2.5-float64(i)/10)
	}
	return out.String()
}

const (
	knownLine = "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n"
	oddLine   = "round 12 objective 1.40"
	oddRead   = `^round *(?P<step>\d+).*?objective *(?P<loss>\S+)`
)

func TestReadUnread(t *testing.T) {
	for _, row := range []struct {
		name, out, err, pattern string
		lines                   int // that are shown; -1 is nothing to tell
		matches                 bool
	}{
		{"nothing_written", "", "", "", -1, false},
		{"progress", odd(12) + knownLine, "", "", -1, false},
		{"progress_in_the_other_file", odd(12), knownLine, "", -1, false},
		{"unknown_lines", odd(12), "", "", 1, false},
		{"unknown_lines_in_the_other_file", "hello\n", odd(12), "", 1, false},
		{"no_numbers", "hello\nworld\n", "", "", 0, false},
		{"progress_that_begins", "step 1 loss 2.5\nstep 2 loss 2.4\n", "", "", -1, false},
		{"pattern_that_matches", odd(12), "", oddRead, -1, false},
		{"pattern_that_does_not", odd(12) + knownLine, "", `turn (?P<step>\d+)`, 2, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			j := slurm.Job{ID: 7, StdOut: filepath.Join(dir, "out"), StdErr: filepath.Join(dir, "err"), UID: os.Getuid()}
			for path, text := range map[string]string{j.StdOut: row.out, j.StdErr: row.err} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := job.ReadUnread(j, row.pattern)
			switch {
			case err != nil:
				t.Fatal(err)
			case row.lines < 0:
				if got != nil {
					t.Errorf("tells %+v", got)
				}
				return
			case got == nil || len(got.Lines) != row.lines || (got.Pattern != "") != row.matches:
				t.Fatalf("tells %+v", got)
			}
			if row.lines > 0 && (got.Lines[0].Line != oddLine || got.Lines[0].Pattern != oddRead) {
				t.Errorf("guesses %+v", got.Lines)
			}
		})
	}
}

// Who follows a job is told once, after two minutes of output.
func TestUnheard(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	none := func() string { return "" }
	for _, row := range []struct {
		name    string
		pattern string
		hear    func(u *job.Unheard)
		after   time.Duration
		told    bool
	}{
		{"silence", "", func(u *job.Unheard) {}, time.Hour, false},
		{"too_early", "", func(u *job.Unheard) { u.Hear("out", []byte(odd(12)), begin) }, job.UnreadAfter - 1, false},
		{"unknown_lines", "", func(u *job.Unheard) { u.Hear("out", []byte(odd(12)), begin) }, job.UnreadAfter, true},
		{"progress", "", func(u *job.Unheard) { u.Hear("out", []byte(odd(12)+knownLine), begin) }, job.UnreadAfter, false},
		{"progress_in_pieces", "", func(u *job.Unheard) {
			for _, b := range []byte(knownLine) {
				u.Hear("err", []byte{b}, begin)
			}
		}, job.UnreadAfter, false},
		{"progress_that_begins", "", func(u *job.Unheard) { u.Hear("out", []byte("step 1 loss 2\n"), begin) }, job.UnreadAfter, false},
		{"much", "", func(u *job.Unheard) {
			u.Hear("out", []byte(strings.Repeat("x\n", 1<<20)+odd(12)), begin)
		}, job.UnreadAfter, true},
		{"read_by_the_pattern", oddRead, func(u *job.Unheard) { u.Hear("out", []byte(odd(12)), begin) }, job.UnreadAfter, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var u job.Unheard
			row.hear(&u)
			pattern := func() string { return row.pattern }
			got := u.Tell(begin.Add(row.after), pattern)
			if (got != nil) != row.told || row.told && (len(got.Lines) != 1 || got.Lines[0].Line != oddLine) {
				t.Errorf("tells %+v", got)
			}
			if row.told && u.Tell(begin.Add(2*row.after), none) != nil {
				t.Error("tells it again")
			}
		})
	}
}
