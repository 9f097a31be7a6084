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
		"well":        {out: "0, No, No\n1, No, No\n"},
		"older":       {out: "0, [N/A], [N/A]\n"},
		"pending":     {out: "0, No, No\n1, Yes, No\n", wrong: []string{"GPU 1 has a row of memory that waits for a reset to be replaced"}},
		"failed":      {out: "0, No, Yes\n1, Yes, Yes\n", wrong: []string{"GPU 0 has a row of memory that could not be replaced", "GPU 1 has a row of memory that could not be replaced"}},
		"lost":        {err: smiEnded(t, 15), wrong: []string{"GPUs are lost: run nvidia-smi: exit status 15"}},
		"no_driver":   {err: smiEnded(t, 9), wrong: []string{"GPUs are lost: run nvidia-smi: exit status 9"}},
		"not_known":   {err: smiEnded(t, 2), blind: "run nvidia-smi: exit status 2"},
		"not_started": {err: errors.New("run nvidia-smi: no memory"), blind: "run nvidia-smi: no memory"},
		"odd_words":   {out: "Failed to initialize\n0, No\n"},
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
	if wrong, _ := machineOf(t, &fake{answers: map[string]string{"nvidia-smi": "0, No, No\n"}}, "").Faults(ctx); len(wrong) != 1 || wrong[0] != "nvidia-smi does not answer" {
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
		{"well", "p5.48xlarge", "0, No, No\n", nil, "", ""},
		{"faulty", "p5.48xlarge", "3, No, Yes\n", nil, "", "GPU 3 has a row of memory that could not be replaced"},
		{"old_driver", "p5.48xlarge", "", errors.New("exit status 2"), "blind: exit status 2", ""},
		{"no_GPUs", "c5.large", "3, No, Yes\n", nil, "", ""},
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
