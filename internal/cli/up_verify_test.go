package cli

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
)

func TestGate(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		want []string // nil is none
		err  bool
	}{
		{"bare", []string{"--verify"}, []string{"basic", "host"}, false},
		{"not_given", nil, nil, false},
		{"as_a_switch", []string{"--verify=true"}, []string{"basic", "host"}, false},
		{"switched_off", []string{"--verify=false"}, nil, false},
		{"in_the_order_of_suites_and_once", []string{"--verify=network,basic,network"}, []string{"basic", "network"}, false},
		{"no_suite", []string{"--verify=speed"}, nil, true},
		{"nothing", []string{"--verify="}, nil, true},
		{"without_its_image", []string{"--verify=container"}, nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := (&app{}).up()
			err := c.ParseFlags(row.args)
			got, _ := c.Flags().Lookup("verify").Value.(*gate)
			if (err != nil) != row.err || !slices.Equal(*got, row.want) || (*got == nil) != (row.want == nil) {
				t.Errorf("got %v, %v", *got, err)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	fail := func(check, on string) verify.Result {
		return verify.Result{Check: check, On: on, Verdict: verify.Fail}
	}
	for _, row := range []struct {
		name string
		r    verify.Report
		want string
	}{
		{"checks", verify.Report{Suites: []verify.Suite{
			{Name: "basic", Verdict: verify.Pass, Results: []verify.Result{{Check: "clock", Verdict: verify.Pass}}},
			{Name: "host", Verdict: verify.Fail, Results: []verify.Result{fail("gpu-count", "n1"), {Check: "driver", Verdict: verify.Warn}}},
		}}, "host gpu-count n1"},
		{"blind_where_sight_is_required", verify.Report{Suites: []verify.Suite{
			{Name: "nccl", Verdict: verify.Fail, Results: []verify.Result{{Check: "nccl", Verdict: verify.Blind, Required: true}, {Check: "x", Verdict: verify.Blind}}},
		}}, "nccl nccl"},
		{"a_suite_without_results", verify.Report{Suites: []verify.Suite{{Name: "network", Verdict: verify.Fail}}}, "network"},
		{"many", verify.Report{Suites: []verify.Suite{
			{Name: "host", Verdict: verify.Fail, Results: []verify.Result{fail("a", ""), fail("b", ""), fail("c", ""), fail("d", ""), fail("e", "")}},
		}}, "host a, host b, host c, 2 more"},
		{"cut_off", verify.Report{Error: "wait for nodes: too long"}, "wait for nodes: too long"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := failures(row.r); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
