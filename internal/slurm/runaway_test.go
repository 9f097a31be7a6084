package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEndRunaways(t *testing.T) {
	for file, want := range map[string][]string{
		"sacctmgr-runaway.txt":      {"10003", "10004", "10005", "10006"},
		"sacctmgr-runaway-none.txt": nil,
	} {
		p := &programs{stdout: string(sample(t, "slurm-22.05.8", "sdiag.txt")) + string(sample(t, "slurm-22.05.8", file))}
		got, err := Client{Runner: p}.EndRunaways(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v", file, got, err)
		}
		if diff := cmp.Diff([]string{"sdiag", "sacctmgr --immediate --noheader --parsable2 show runawayjobs format=id"}, p.asked); diff != "" {
			t.Error(diff)
		}
	}
	p := &programs{stderr: "sacctmgr: error: slurm_persist_conn_open_without_init: failed to open persistent connection to host:h:6819: Connection refused"}
	if _, err := (Client{Runner: p}).EndRunaways(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

// TestEndRunaways_waits: nothing is ended while slurmctld still has to tell of ends.
func TestEndRunaways_waits(t *testing.T) {
	for _, version := range []string{"slurm-22.05.8", "slurm-25.11.7"} {
		diag := string(sample(t, version, "sdiag.txt"))
		if n := untold(diag); n != "0" {
			t.Errorf("%s: %q messages wait", version, n)
		}
		for _, diag := range []string{strings.Replace(diag, "DBD Agent queue size: 0", "DBD Agent queue size: 3", 1), "nothing of the kind"} {
			p := &programs{stdout: diag}
			if _, err := (Client{Runner: p}).EndRunaways(t.Context()); err == nil || len(p.asked) != 1 {
				t.Errorf("%s: %v, asked %q", version, err, p.asked)
			}
		}
	}
}
