package batch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
)

// TestAsked_without_enforcement: where slurm.conf holds jobs to no account and no QoS,
// Slurm takes any, and the job is not stopped.
func TestAsked_without_enforcement(t *testing.T) {
	for _, c := range []struct{ enforce, account, qos string }{
		{"none", "info", "info"}, {"associations", "error", "info"}, {"limits", "error", "info"}, {"qos", "error", "error"}, {"all", "error", "error"},
	} {
		facts := factsOfFile(t, "testdata/cluster.yaml")
		facts.Asked = asked(c.enforce)
		for option, want := range map[string]string{"--account=nobody": c.account, "--qos=high": c.qos} {
			got := ""
			for _, d := range batch.Check("s", []byte("#!/bin/bash\n#SBATCH "+option+"\nsrun true\n"), nil, facts).All() {
				if slices.Contains([]string{"script/account", "script/qos", "script/unenforced"}, d.Code) {
					got += d.Severity.String()
				}
			}
			if got != want {
				t.Errorf("%s with AccountingStorageEnforce=%s: %q, want %q", option, c.enforce, got, want)
			}
		}
	}
}

// TestUnasked: one line says what nobody could look up, and none if the cluster told.
func TestUnasked(t *testing.T) {
	script := []byte("#!/bin/bash\n#SBATCH --reservation=a --licenses=b --account=c\nsrun true\n")
	facts := factsOfFile(t, "testdata/cluster.yaml")
	blind := func() (n int) {
		for _, d := range batch.Check("s", script, nil, facts).All() {
			if d.Code == "script/unasked" {
				n++
				for _, o := range []string{"--reservation=a", "--licenses=b", "--account=c"} {
					if !strings.Contains(d.Message, o) {
						t.Errorf("%q lacks %s", d.Message, o)
					}
				}
			}
		}
		return n
	}
	if n := blind(); n != 1 {
		t.Errorf("%d lines", n)
	}
	facts.Asked = asked("none")
	if n := blind(); n != 0 {
		t.Errorf("%d lines of a cluster that was asked", n)
	}
}
