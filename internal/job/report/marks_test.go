package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestMarksOf(t *testing.T) {
	jakarta := time.FixedZone("WIB", 7*3600)
	one := []slurm.Held{run("COMPLETED", 0, 30, 1000)}
	two := append(one, run("COMPLETED", 1100, 1130, 2000))
	cases := map[string]struct {
		log     string
		written float64
		runs    []slurm.Held
		want    string
	}{
		"times_of_utc": {
			"2026-11-23 00:01:40 I [train.py:103] Batch 1 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001\n" +
				"2026-11-23 00:01:50 I [train.py:103] Batch 2 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001\n", 900, two, "1 at 100, 2 at 110, "},
		"times_of_where_the_head_node_is": {"[titan] 2026-11-23 07:01:40,500 - root - INFO - step: 10  loss: 10.7  memory: 30.99GiB(32.62%)  tps: 7,034\n", 900, two, "10 at 100.5, "},
		"evaluations": {"[titan] 2026-11-23 00:01:40 - root - INFO - step: 10  loss: 10.7  memory: 30.99GiB(32.62%)  tps: 7,034\n" +
			"[titan] 2026-11-23 00:03:20 - root - INFO - validate step: 10  loss: 10.6  memory: 30.99GiB(32.62%)  tps: 7,034\n", 900, two, "10 at 100, evaluation at 200, "},
		"times_of_another_day": {"2026-11-21 00:01:40 I [train.py:103] Batch 1 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001\n", 900, one, ""},
		"no_times_but_what_a_step_takes": {
			" iteration 10/ 100 | consumed samples: 1 | elapsed time per iteration (ms): 1000.0 | lm loss: 1.0E+01 |\n" +
				" iteration 20/ 100 | consumed samples: 1 | elapsed time per iteration (ms): 2000.0 | lm loss: 1.0E+01 |\n", 900, one, "10 at 880 estimated, 20 at 900 estimated, "},
		"no_times_and_two_runs": {" iteration 10/ 100 | consumed samples: 1 | elapsed time per iteration (ms): 1000.0 | lm loss: 1.0E+01 |\n", 900, two, ""},
		"no_times_at_all":       {"Batch 1 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001\nBatch 2 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001\n", 900, one, ""},
		"longer_than_the_run": {
			" iteration 10/ 100 | elapsed time per iteration (ms): 1000.0 | lm loss: 1.0E+01 |\n iteration 1000/ 100 | elapsed time per iteration (ms): 2000.0 | lm loss: 1.0E+01 |\n",
			900, one, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var r trainlog.Reader
			samples := append(r.Feed([]byte(c.log)).Samples, r.End().Samples...)
			got := ""
			for _, m := range report.MarksOf(samples, at(c.written), c.runs, at(5000), time.UTC, jakarta) {
				if m.Eval {
					got += fmt.Sprintf("evaluation at %g, ", m.At.Sub(zero).Seconds())
					continue
				}
				got += fmt.Sprintf("%d at %g", m.Step, m.At.Sub(zero).Seconds())
				if m.Estimated {
					got += " estimated"
				}
				got += ", "
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, samples)
			}
		})
	}
}
