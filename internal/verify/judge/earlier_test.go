package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

// TestBeside holds what nobody has published against an earlier report, with its name and date, and leaves alone what has a source.
func TestBeside(t *testing.T) {
	result := func(check, on string, n float64, unit string) verify.Result {
		return verify.Result{Check: check, On: on, Verdict: verify.Pass, Why: "measured, and not judged: nobody knows", Value: &verify.Value{Number: n, Unit: unit, Lower: unit == "us"}}
	}
	earlier := judge.Earlier{Name: "accepted.json", Report: verify.Report{Began: time.Date(2026, 11, 2, 3, 4, 0, 0, time.UTC), Suites: []verify.Suite{{Name: verify.Storage, Results: []verify.Result{
		result("storage-write", "/a", 2, "GB/s"), result("storage-write", "/b", 4, "GB/s"), result("storage-stat", "/a", 1000, "ops/s"), result("network-latency", "", 40, "us"),
	}}}}}
	sourced := result("storage-write", "/a", 0.1, "GB/s")
	sourced.Source = "what was bought"
	for _, c := range []struct {
		name  string
		now   verify.Result
		loose string
		want  verify.Verdict
		why   string
	}{
		{"as_before", result("storage-write", "/a", 1.9, "GB/s"), "", verify.Pass, ""},
		{"faster", result("storage-write", "/a", 9, "GB/s"), "", verify.Pass, ""},
		{"slower", result("storage-write", "/b", 3, "GB/s"), "", verify.Warn, "1.3 times worse"},
		{"much_slower", result("storage-write", "/b", 1.9, "GB/s"), "", verify.Fail, "2.1 times worse"},
		{"much_slower_here", result("storage-write", "/b", 1.9, "GB/s"), "one machine", verify.Warn, "one machine"},
		{"later", result("network-latency", "", 100, "us"), "", verify.Fail, "2.5 times worse"},
		{"sooner", result("network-latency", "", 10, "us"), "", verify.Pass, ""},
		{"other_nodes", result("storage-stat", "/c", 990, "ops/s"), "", verify.Pass, ""},
		{"another_mount", result("storage-write", "/c", 1, "GB/s"), "", verify.Pass, "the earlier report has none of it"},
		{"has_a_source", sourced, "", verify.Pass, "measured"},
	} {
		all := []verify.Result{c.now}
		judge.Beside(verify.Storage, all, earlier, c.loose)
		r := all[0]
		if r.Verdict != c.want || !strings.Contains(r.Why, c.why) || c.why == "" && r.Why != "" {
			t.Errorf("%s: %+v", c.name, r)
		}
		if judged := r.Value.Expected > 0; judged != (strings.Contains(r.Source, "accepted.json of 2026-11-02 03:04 UTC")) {
			t.Errorf("%s: source %q", c.name, r.Source)
		}
	}
	all := []verify.Result{result("storage-write", "/a", 1, "GB/s")}
	judge.Beside(verify.Network, all, earlier, "")
	if all[0].Verdict != verify.Pass || !strings.Contains(all[0].Why, "none of it") {
		t.Errorf("another suite: %+v", all[0])
	}
}
