package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestCancelOfAnArray holds that an array has ended when its last task has, which need not be
// the one that has the array's number.
func TestCancelOfAnArray(t *testing.T) {
	row := func(id, task, state string) string {
		return "JobId=" + id + " ArrayJobId=9 ArrayTaskId=" + task + " JobName=a" + jobRow + "JobState=" + state + " Requeue=1 NodeList=n\n"
	}
	for name, c := range map[string]struct{ other, want string }{
		"all_ended": {row("10", "1", "FAILED"), "job 9 had ended: COMPLETED\n"},
		"one_runs":  {row("10", "1", "RUNNING"), "job 9 is cancelled\n"},
		"one_waits": {row("10", "1", "PENDING"), "job 9 is cancelled\n"},
	} {
		t.Run(name, func(t *testing.T) {
			own := row("9", "3", "COMPLETED")
			s := slurm.Client{Runner: answers{"show job 9": own, "show job": own + c.other, "scancel 9": ""}}
			var said strings.Builder
			if err := (&app{out: io.Discard, err: &said}).cancelJobs(t.Context(), s, []string{"9"}); err != nil {
				t.Error(err)
			}
			if said.String() != c.want {
				t.Errorf("it says %q, want %q", said.String(), c.want)
			}
		})
	}
}
