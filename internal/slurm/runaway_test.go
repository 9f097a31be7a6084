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
		p := &programs{stdout: string(sample(t, "slurm-22.05.8", file))}
		got, err := Client{Runner: p}.EndRunaways(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v", file, got, err)
		}
		if diff := cmp.Diff([]string{"sacctmgr --immediate --noheader --parsable2 show runawayjobs format=id"}, p.asked); diff != "" {
			t.Error(diff)
		}
	}
	p := &programs{stderr: "sacctmgr: error: slurm_persist_conn_open_without_init: failed to open persistent connection to host:h:6819: Connection refused"}
	if _, err := (Client{Runner: p}).EndRunaways(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}
