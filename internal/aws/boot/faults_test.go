package boot

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// smiEnded is the error of an nvidia-smi that ends with a code.
func smiEnded(t *testing.T, code int) error {
	t.Helper()
	err := exec.Command("sh", "-c", fmt.Sprintf("exit %d", code)).Run()
	return fmt.Errorf("run nvidia-smi: %w", err)
}

func TestFaults(t *testing.T) {
	for name, row := range map[string]struct {
		out   string
		err   error
		wrong []string
		blind string
	}{
		"well":        {out: "GPU-a, No, No\nGPU-b, No, No\n"},
		"numbers":     {out: "GPU-a, 0, 0\n"},
		"older":       {out: "GPU-a, [N/A], [N/A]\n"},
		"pending":     {out: "GPU-a, No, No\nGPU-b, Yes, No\n", wrong: []string{"GPU-b has a row of memory that waits for a reset to be replaced"}},
		"pending_one": {out: "GPU-a, 1, 0\n", wrong: []string{"GPU-a has a row of memory that waits for a reset to be replaced"}},
		"failed":      {out: "GPU-a, No, Yes\nGPU-b, Yes, Yes\n", wrong: []string{"GPU-a has a row of memory that could not be replaced", "GPU-b has a row of memory that could not be replaced"}},
		"failed_one":  {out: "GPU-a, 0, 1\n", wrong: []string{"GPU-a has a row of memory that could not be replaced"}},
		"lost":        {err: smiEnded(t, 15), wrong: []string{"GPUs are lost: run nvidia-smi: exit status 15"}},
		"no_driver":   {err: smiEnded(t, 9), wrong: []string{"GPUs are lost: run nvidia-smi: exit status 9"}},
		"not_known":   {err: smiEnded(t, 2), blind: "run nvidia-smi: exit status 2"},
		"not_started": {err: errors.New("run nvidia-smi: no memory"), blind: "run nvidia-smi: no memory"},
		"odd_words":   {out: "GPU-a, No\n", blind: "line 1 has 2 values instead of 3: \"GPU-a, No\""},
		"nothing":     {blind: "there are no GPUs in the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answers: map[string]string{"nvidia-smi": row.out}}
			if row.err != nil {
				f.fails = map[string]error{"nvidia-smi": row.err}
			}
			wrong, blind := machineOf(t, f, "").Faults(t.Context())
			if diff := cmp.Diff(row.wrong, wrong); diff != "" || blind != row.blind {
				t.Errorf("blind %q, (-want +got):\n%s", blind, diff)
			}
		})
	}
}

// A look that was ended says that nothing answered; it never says that all is well.
func TestFaults_of_a_silent_driver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if wrong, _ := machineOf(t, &fake{answers: map[string]string{"nvidia-smi": "GPU-a, No, No\n"}}, "").Faults(ctx); len(wrong) != 1 || wrong[0] != "nvidia-smi does not answer" {
		t.Errorf("got %q", wrong)
	}
}

// TestHealth_refuses_faulty_GPUs that are listed like all others. What the driver does not tell is said to be so.
func TestHealth_refuses_faulty_GPUs(t *testing.T) {
	for _, row := range []struct {
		name, kind, out string
		err             error
		detail, wrong   string
	}{
		{"well", "p5.48xlarge", "GPU-a, No, No\n", nil, "", ""},
		{"faulty", "p5.48xlarge", "GPU-d, No, Yes\n", nil, "", "GPU-d has a row of memory that could not be replaced"},
		{"old_driver", "p5.48xlarge", "", errors.New("exit status 2"), "blind: exit status 2", ""},
		{"no_GPUs", "c5.large", "GPU-d, No, Yes\n", nil, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := &fake{answers: map[string]string{"nvidia-smi": row.out}}
			if row.err != nil {
				f.fails = map[string]error{"nvidia-smi": row.err}
			}
			detail, err := machineOf(t, f, "").sound(t.Context(), Wanted{Type: row.kind})
			wrong := ""
			if err != nil {
				wrong = err.Error()
			}
			if detail != row.detail || wrong != row.wrong {
				t.Errorf("got %q, %q", detail, wrong)
			}
		})
	}
}
