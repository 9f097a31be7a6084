package judge_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

func TestMountsApart(t *testing.T) {
	good := verify.Mount{Dir: "/fsx", Source: "10.0.0.1@tcp:/abcd"}
	other, stale, hidden := good, good, good
	other.Source, stale.Blind, hidden.Blind = "10.0.0.9@tcp:/wxyz", "ask for its size: stale NFS file handle", "ask for its size: permission denied"
	for name, row := range map[string]struct {
		third verify.Mount
		check string
		want  verify.Verdict
	}{
		"good":         {good, "mount-source", ""},
		"other_source": {other, "mount-source", verify.Fail},
		"stale":        {stale, "mount-answers", verify.Fail},
		"hidden":       {hidden, "mount-answers", ""},
	} {
		all := judge.Apart([]string{"/fsx"}, map[string][]verify.Mount{"n1": {good}, "n2": {good}, "n3": {row.third}, "n4": nil})
		if got := verdictOf(all, row.check, "n3"); got != row.want {
			t.Errorf("%s: %q, not %q: %+v", name, got, row.want, all)
		}
		if len(all) > 1 {
			t.Errorf("%s: others are named, too: %+v", name, all)
		}
	}
	if all := judge.Apart([]string{"/fsx"}, map[string][]verify.Mount{"n1": {good}, "n2": {other}}); len(all) > 0 {
		t.Errorf("of two nodes nobody knows which is right: %+v", all)
	}
}
