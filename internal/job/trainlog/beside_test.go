package trainlog_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Trainer writes its lines to one stream and its bar to the other, which a job may have in two files.
func TestBeside(t *testing.T) {
	var out, err trainlog.Reader
	out.Beside, err.Beside = &err, &out
	const line = "{'loss': '0.9', 'grad_norm': '2.5', 'learning_rate': '4e-05', 'epoch': '0.4'}\n"
	bar := func(text string) []trainlog.Sample { return err.Feed([]byte("\r" + text + "\r")).Samples }

	if got := out.Feed([]byte(line)).Samples; len(got) != 1 || got[0].Step != trainlog.NoStep {
		t.Errorf("before any bar: %+v", got)
	}
	if got := bar(" 22%|#  | 14/64 [00:00<00:01, 2.00it/s]"); len(got) != 1 || got[0].Step != 14 || got[0].Steps != 64 || got[0].StepSeconds != some(0.5) {
		t.Errorf("a bar: %+v", got)
	}
	if got := bar(" 50%|#  | 16/32 [00:00<00:01, 2.00it/s]"); got != nil {
		t.Errorf("an evaluation's bar: %+v", got)
	}
	if got := out.Feed([]byte(line)).Samples; len(got) != 1 || got[0].Step != 14 || got[0].Steps != 64 || got[0].Loss != some(0.9) {
		t.Errorf("behind a bar: %+v", got)
	}
}

// A bar alone is none of a training: programs draw them for much else.
func TestBarsOfOthers(t *testing.T) {
	for _, log := range []string{
		"\r 22%|#  | 14/64 [00:00<00:01, 2.00it/s]\n",
		"\rMap: 22%|#  | 14/64 [00:00<00:01, 2.00it/s]\n",
		"\rValidation: 22%|#  | 14/64 [00:00<00:01, 2.00it/s, loss=3]\n",
		"\rTesting DataLoader 0: 22%|#  | 14/64 [00:00<00:01, 2.00it/s, loss=3]\n",
		"\r 22%|#  | 14/64 [00:00<00:01, 2.00it/s, files=3]\n",
		"\r 0%|  | 0/64 [00:00<?, ?it/s, loss=3]\n",
	} {
		if got := read(log).Samples; got != nil {
			t.Errorf("%q: %+v", log, got)
		}
	}
	if got := read("\rEpoch 999999999: 22%|#  | 14/999999999999 [00:00<00:01, 2.00it/s, loss=3]\n").Samples; len(got) != 1 || got[0].Step != 14 {
		t.Errorf("an epoch that cannot be: %+v", got)
	}
}
