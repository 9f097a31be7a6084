package judge_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

func TestVersions(t *testing.T) {
	all := map[string]verify.Facts{}
	for _, name := range []string{"n-1", "n-2", "n-3", "n-4"} {
		all[name] = sound()
	}
	results, versions := judge.Versions(all)
	for _, r := range results {
		if r.Verdict != verify.Pass {
			t.Errorf("%+v", r)
		}
	}
	if versions["driver"] != "570.148.08" || versions["nccl"] != "2.29.3" || versions["slurm"] != "" {
		t.Errorf("%v", versions)
	}
	odd := sound()
	odd.GPU.Driver, odd.EFA.Installer, odd.Machine.Kernel = verify.Saw("535.54.03"), verify.Saw(""), verify.Unseen[string]("odd")
	all["n-2"] = odd
	results, versions = judge.Versions(all)
	for _, r := range results {
		switch r.Check {
		case "same-driver":
			if r.Verdict != verify.Warn || r.On != "n-2" || r.Found != "535.54.03 on n-2" || r.Want != "570.148.08, as most nodes have" {
				t.Errorf("%+v", r)
			}
		case "same-efa":
			if r.Verdict != verify.Warn || r.Found != "none on n-2" {
				t.Errorf("%+v", r)
			}
		case "same-kernel":
			if r.Verdict != verify.Blind || r.On != "n-2" || r.Found != "6.8.0 on the others" {
				t.Errorf("%+v", r)
			}
		default:
			if r.Verdict != verify.Pass {
				t.Errorf("%+v", r)
			}
		}
	}
	if versions["driver"] != "570.148.08" {
		t.Errorf("%v", versions)
	}
	if results, versions := judge.Versions(nil); len(results)+len(versions) > 0 {
		t.Error(results, versions)
	}
}
