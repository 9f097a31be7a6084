package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
)

func TestFitnessOf(t *testing.T) {
	bad := verify.Result{Check: "gpu-dcgm", On: "n1", Verdict: verify.Fail, Found: "1 failed test", Why: "DCGM says so", Evidence: []string{"memory on GPU 3"}}
	full := verify.Result{Check: "storage-measured", On: "n1", Verdict: verify.Fail, Found: "full", Why: "write /scratch/.x-7f3a"}
	old := verify.Result{Check: "gpu-driver", On: "n1", Verdict: verify.Fail, Found: "470.1"}
	dark := verify.Result{Check: "efa-devices", On: "n1", Verdict: verify.Blind, Why: "no right"}
	fast := verify.Result{Check: "storage-read", On: "n1:/scratch", Verdict: verify.Pass, Value: &verify.Value{Number: 12.3456, Unit: "GB/s"}}
	files := verify.Result{Check: "storage-stat", Verdict: verify.Pass, Value: &verify.Value{Number: 367012.7, Unit: "ops/s"}}
	r := verify.Report{Seconds: 61.4, Suites: []verify.Suite{
		{Name: verify.GPU, Verdict: verify.Fail, Results: []verify.Result{bad, old}}, {Name: verify.EFA, Verdict: verify.Blind, Results: []verify.Result{dark}},
		{Name: verify.NCCL, Verdict: verify.Skip}, {Name: verify.Storage, Verdict: verify.Pass, Results: []verify.Result{fast, files}},
	}}
	f := verify.FitnessOf(r, []verify.Result{bad, full})
	for what, pair := range map[string][2]string{
		"unfit":    {f.Unfit, "gpu-dcgm: 1 failed test; storage-measured: full"}, // without what differs from machine to machine
		"evidence": {strings.Join(f.Evidence, "|"), "gpu-dcgm on n1: 1 failed test: DCGM says so|memory on GPU 3|storage-measured on n1: full: write /scratch/.x-7f3a"},
		"warn":     {f.Warn, "gpu-driver: 470.1"},
		"blind":    {f.Blind, "efa-devices: no right"},
		"said":     {f.Said, "unfit after 61 s: gpu, storage, storage-read 12.35 GB/s, storage-stat 367013 ops/s"},
		"line":     {f.Line(), f.Said + "; worth a look: gpu-driver: 470.1"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
		}
	}
	var many []verify.Result
	for i := range 30 {
		many = append(many, verify.Result{Check: fmt.Sprintf("c%d", i), Verdict: verify.Fail}, verify.Result{Check: fmt.Sprintf("c%d", i), Verdict: verify.Fail})
	}
	if f = verify.FitnessOf(verify.Report{Error: "the budget of 1m is spent"}, many); !strings.HasSuffix(f.Unfit, "c11; 18 more") || len(f.Evidence) > 20 ||
		f.Blind != "it did not come to its end: the budget of 1m is spent" || f.Said != "nothing could be looked at in 0 s" {
		t.Errorf("%+v", f)
	}
}

// TestFitness_says what was proven, and no more.
func TestFitness_says(t *testing.T) {
	pass := verify.Suite{Name: verify.Storage, Results: []verify.Result{{Check: "storage-bytes", Verdict: verify.Pass}}}
	cut := verify.Suite{Name: verify.NCCL, Results: []verify.Result{{Check: "nccl", Verdict: verify.Blind, Why: "the budget is spent"}}}
	skip := verify.Suite{Name: verify.GPU, Results: []verify.Result{{Check: "gpu-count", Verdict: verify.Skip}}}
	for want, suites := range map[string][]verify.Suite{
		"fit after 7 s: storage":                                {pass, skip},
		"nothing failed, and not all was seen, in 7 s: storage": {pass, cut},
		"nothing could be looked at in 7 s":                     {cut, skip},
		"no suite applies to this machine":                      {skip},
	} {
		if got := verify.FitnessOf(verify.Report{Seconds: 7, Suites: suites}, nil).Said; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
