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

// TestFold has 80 nodes say the same once, and the one that differs by itself.
func TestFold(t *testing.T) {
	ok, bad := verify.Result{Check: "gpu-count", Verdict: verify.Pass, Found: "8 GPUs"}, verify.Result{Check: "gpu-count", Verdict: verify.Fail, Found: "7 GPUs", On: "n-2"}
	var all []verify.Result
	for _, name := range []string{"n-1", "n-3", "n-4"} {
		ok.On = name
		all = append(all, ok)
	}
	mount := func(node string) verify.Result {
		return verify.Result{Check: "mount", On: node + ":/fsx", Verdict: verify.Pass, Found: "lustre"}
	}
	got := judge.Fold(append(all, bad, mount("n-1"), mount("n-2")))
	want := []string{"n-[1,3-4]", "n-2", "n-[1-2]:/fsx"}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, r := range got {
		if r.On != want[i] {
			t.Errorf("%+v, want %s", r, want[i])
		}
	}
	if len(judge.Fold(nil)) != 0 {
		t.Error("of nothing")
	}
}
