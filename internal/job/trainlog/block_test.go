package trainlog_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// An exception is the first line below a traceback that looks like one.
func TestExceptions(t *testing.T) {
	const begin = "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\n    main()\n"
	for _, row := range []struct{ name, line, want string }{
		{"plain", "ValueError: no", "ValueError"},
		{"alone", "KeyboardInterrupt", "KeyboardInterrupt"},
		{"of_a_module", "torch.cuda.OutOfMemoryError: CUDA out", "torch.cuda.OutOfMemoryError"},
		{"hidden", "torch._C._LinAlgError: singular", "torch._C._LinAlgError"},
		{"in_small_letters", "socket.timeout: timed out", "socket.timeout"},
		{"of_c", "struct.error: unpack", "struct.error"},
		{"behind_srun", "srun: error: n1: task 1: Killed\nValueError: no", "ValueError"},
		{"behind_slurmstepd", "slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-23T14:00:00 ***\nValueError: no", "ValueError"},
		{"behind_a_warning", "WARNING: all log messages\nwandb: run\nValueError: no", "ValueError"},
		{"behind_progress", "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\nValueError: no", "ValueError"},
		{"behind_a_file", "train.py: done\nValueError: no", "ValueError"},
		{"behind_another_rank", "3: ValueError: of rank 3\nTypeError: no", "TypeError"},
		{"of_another_traceback", begin + "ValueError: no", "ValueError"},
		{"cut_off", "", ""},
		{"too_late", strings.Repeat("x y\n", 5000) + "ValueError: no", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []trainlog.Sign
			for _, s := range read(begin + row.line + "\n").Signs {
				if s.Kind == trainlog.Exception {
					got = append(got, s)
				}
			}
			if len(got) != 1 || got[0].Name != row.want {
				t.Errorf("got %+v, want %s", got, row.want)
			}
		})
	}
}
