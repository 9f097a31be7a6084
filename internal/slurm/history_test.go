package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseHistory(t *testing.T) {
	runs, problems := ParseHistory(sample(t, "slurm-22.05.8", "sacct-P.txt"), "|", time.UTC)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.Label+" "+r.State+" "+r.ExitCode.String())
	}
	want := []string{"1 COMPLETED 0:0", "2 FAILED 13:0", "3_0 COMPLETED 0:0", "3_1 FAILED 1:0", "3_2 FAILED 2:0",
		"6 TIMEOUT 0:0", "7 REQUEUED 0:0", "8 CANCELLED 0:0", "9 NODE_FAIL 0:0", "11 CANCELLED 0:0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := runs[7]; r.CancelledBy != "0" || !r.Ended() {
		t.Errorf("job 8: %+v", r)
	}
	if diff := cmp.Diff(Run{
		ID: 7, Label: "7", Name: "llama3-70b", UID: -1, Partition: "gpu", State: "REQUEUED", NumNodes: 2, NodeList: "p5e-st-[1-2]",
		Submit: at(t, "2026-11-20T20:34:26Z"), Start: at(t, "2026-11-20T20:34:27Z"), End: at(t, "2026-11-20T20:34:36Z"),
		Elapsed: 9 * time.Second, TRES: "billing=2,cpu=2,gres/gpu=16,node=2",
	}, runs[6]); diff != "" {
		t.Error(diff)
	}
	if r := runs[9]; r.NodeList != "" || !r.Start.IsZero() {
		t.Errorf("a job that never ran: %+v", r)
	}
}

func TestParseHistoryOfAllVersions(t *testing.T) {
	for version, want := range map[string]int{"22.05.8": 10, "23.11.10": 11, "25.11.7": 22} {
		runs, problems := ParseHistory(sample(t, "slurm-"+version, "sacct-P.txt"), "|", time.UTC)
		if len(problems) > 0 || len(runs) != want {
			t.Errorf("%s: got %d runs, want %d; problems %v", version, len(runs), want, problems)
		}
	}
}

func TestParseHistoryFromTheField(t *testing.T) {
	cases := map[string]struct {
		file, delimiter string
		runs, problems  int
	}{
		"line_break_in_a_value": {"sacct-one-multiline.txt", "|#", 2, 0},
		"fake_line_break":       {"sacct-fake-line-break.txt", "|#", 2, 0},
		"broken_row":            {"sacct-output-with-invalid-lines.txt", "|", 0, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			runs, problems := ParseHistory(sample(t, "slurm-field", c.file), c.delimiter, time.UTC)
			if len(runs) != c.runs || len(problems) != c.problems {
				t.Errorf("got %d runs, problems %v; want %d and %d", len(runs), problems, c.runs, c.problems)
			}
		})
	}
}

func TestParseHistoryBrokenRows(t *testing.T) {
	const header = "JobIDRaw|JobID|State\n"
	cases := map[string]struct {
		body           string
		runs, problems int
	}{
		"empty":              {"", 0, 0},
		"too_long":           {"1|1|COMPLETED|x\n2|2|COMPLETED\n", 1, 1},
		"cut_off":            {"1|1|COMPLETED\n2|2", 1, 1},
		"broken_before_good": {"1|1\n2|2|COMPLETED\n", 1, 1},
		"no_state":           {"1|1|\n", 0, 1},
		"steps":              {"1|1|COMPLETED\n1.batch|1.batch|COMPLETED\n1.0|1.0|FAILED\n", 1, 0},
		"truncated_state":    {"1|1|OUT_OF_ME+\n", 1, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			runs, problems := ParseHistory([]byte(header+c.body), "|", time.UTC)
			if len(runs) != c.runs || len(problems) != c.problems {
				t.Errorf("got %v, problems %v; want %d and %d", runs, problems, c.runs, c.problems)
			}
		})
	}
}

func FuzzParseHistory(f *testing.F) {
	f.Add(sample(f, "slurm-22.05.8", "sacct-P.txt"))
	f.Add(sample(f, "slurm-field", "sacct-output-with-invalid-lines.txt"))
	f.Fuzz(func(t *testing.T, output []byte) {
		runs, problems := ParseHistory(output, "|", time.UTC)
		if len(runs)+len(problems) > strings.Count(string(output), "\n")+1 {
			t.Errorf("%d runs and %d problems from %d lines", len(runs), len(problems), strings.Count(string(output), "\n"))
		}
	})
}
