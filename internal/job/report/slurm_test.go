package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// TestRows_of_recorded_accounting compares what is held with Slurm's own seconds, of clusters that muster did not make.
func TestRows_of_recorded_accounting(t *testing.T) {
	for file, delimiter := range map[string]string{
		"slurm-22.05.8/sacct-P.txt": "|", "slurm-23.11.10/sacct-P.txt": "|", "slurm-25.11.7/sacct-P.txt": "|",
		"slurm-field/sacct-one-multiline.txt": "|#", "slurm-field/sacct-fake-line-break.txt": "|#",
	} {
		t.Run(file, func(t *testing.T) {
			output, err := os.ReadFile(filepath.Join("..", "..", "slurm", "testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			held, problems := slurm.ParseHeld(output, delimiter, time.UTC)
			if len(problems) > 0 {
				t.Error(problems)
			}
			jobs := map[int]*report.Job{}
			for _, h := range held {
				if jobs[h.ID] == nil {
					jobs[h.ID] = &report.Job{}
				}
				jobs[h.ID].Runs = append(jobs[h.ID].Runs, h)
			}
			var splits []report.Split
			for _, j := range jobs {
				splits = append(splits, report.Of(*j, zero)...)
			}
			_, total := report.Rows(splits, report.ByJob, report.Window{}, nil)
			if want := nodeSeconds(t, output, delimiter); total.Held.Seconds() != want || want == 0 {
				t.Errorf("%g node-seconds instead of %g", total.Held.Seconds(), want)
			}
			if total.Of[report.Training] != 0 {
				t.Error("there is training of which no log says anything")
			}
		})
	}
}

// TestSpareNode is a job that lost a node and went on with its spare, of which Slurm has two records: its time is theirs, the
// steps between its checkpoint and the node's death are lost, and the rest of it is one training.
func TestSpareNode(t *testing.T) {
	dir := filepath.Join("testdata", "slurm-22.05.8-spare")
	output, err := os.ReadFile(filepath.Join(dir, "sacct-P.txt"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	held, problems := slurm.ParseHeld(output, "|", time.UTC)
	if len(problems) > 0 || len(held) != 2 || held[0].State != "RESIZING" {
		t.Fatalf("%+v, %v", held, problems)
	}
	var r trainlog.Reader
	samples := append(r.Feed(log).Samples, r.End().Samples...)
	now := held[1].End.Add(time.Hour)
	marks := report.MarksOf(samples, now, held, now, time.UTC)
	if len(marks) != 46 || marks[25].Step != 26 || marks[26].Step != 21 {
		t.Fatalf("%d marks: %+v", len(marks), marks)
	}
	splits := report.Of(report.Job{Runs: held, Marks: marks, LogWhole: true}, now)
	rows, total := report.Rows(splits, report.ByJob, report.Window{}, nil)
	if len(rows) != 1 || rows[0].Runs != 2 || rows[0].Interrupted != 1 || rows[0].State != "COMPLETED" {
		t.Errorf("rows %+v", rows)
	}
	if want := nodeSeconds(t, output, "|"); total.Held.Seconds() != want || want != 3*14+2*11 {
		t.Errorf("%g node-seconds instead of %g", total.Held.Seconds(), want)
	}
	// From step 20 to the end of Slurm's record, on three nodes; from the second start to step 21, on two.
	lost, again := 3*held[0].End.Sub(marks[19].At).Seconds(), 2*marks[26].At.Sub(held[1].Start).Seconds()
	for class, want := range map[report.Class]float64{report.Lost: lost, report.Restart: again, report.Unknown: 0, report.Hang: 0, report.Idle: 0} {
		const slack = 3 * 1.0 // Slurm leaves out the parts of seconds
		if got := total.Of[class].Seconds(); got < want-slack || got > want+slack || want == 0 && got != 0 {
			t.Errorf("%s: %g node-seconds, and the log says %g", class.Key(), got, want)
		}
	}
}

// nodeSeconds adds up ElapsedRaw times NNodes in all rows of whole jobs: Slurm's own reckoning.
func nodeSeconds(t *testing.T, output []byte, delimiter string) (sum float64) {
	t.Helper()
	lines := strings.Split(string(bytes.TrimSpace(output)), "\n")
	columns := map[string]int{}
	for i, name := range strings.Split(lines[0], delimiter) {
		columns[name] = i
	}
	for _, line := range lines[1:] {
		f := strings.Split(line, delimiter)
		if len(f) <= columns["NodeList"] || len(f) <= columns["JobIDRaw"] || strings.Contains(f[columns["JobIDRaw"]], ".") {
			continue
		}
		elapsed, err1 := strconv.ParseFloat(f[columns["ElapsedRaw"]], 64)
		nodes, err2 := strconv.ParseFloat(f[columns["NNodes"]], 64)
		if err1 == nil && err2 == nil {
			sum += elapsed * nodes
		}
	}
	return sum
}
