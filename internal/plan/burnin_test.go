package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/plan"
)

func TestNew_burn_in(t *testing.T) {
	two := head + "    - Name: train\n      ComputeResources: [{Name: a, InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 4}, {Name: b, InstanceType: c6i.4xlarge, MinCount: 1, MaxCount: 1}]\n" +
		"    - {Name: cpu, ComputeResources: [{Name: c, InstanceType: c6i.4xlarge, MaxCount: 2}]}\n"
	const several = "Instances: [{InstanceType: c6i.4xlarge}, {InstanceType: m6i.4xlarge}], MinCount: 2, MaxCount: 2"
	spot := strings.Replace(queue("InstanceType: c6i.4xlarge, MinCount: 1, MaxCount: 2"), "Name: q,", "Name: q, CapacityType: SPOT,", 1)
	unknown := head + "    - Name: q\n      ComputeResources: [{Name: a, InstanceType: p5e.48xlarge, MinCount: 2, MaxCount: 2}, {Name: b, InstanceType: c6i.4xlarge, MinCount: 1, MaxCount: 1}]\n"
	for _, row := range []struct {
		name, file, workload string
		prices               map[string]float64
		want                 []plan.BurnIn
	}{
		{"none", two, "Models: []", nil, nil},
		{"of_every_queue", two, "BurnIn: {Minutes: 30}", nil, []plan.BurnIn{
			{Queue: "train", Minutes: 30, Node: plan.Cost{USD: 27.52}, LeastNodes: 3, Least: plan.Cost{USD: 55.38}},
			{Queue: "cpu", Minutes: 30, Node: plan.Cost{USD: 0.34}}}},
		{"of_one_queue", two, "BurnIn: {Queues: [cpu]}", nil, []plan.BurnIn{{Queue: "cpu", Minutes: 15, Node: plan.Cost{USD: 0.17}}}},
		{"the_users_price", queue("InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 2"), "BurnIn: {Minutes: 60}", map[string]float64{"p5.48xlarge": 30},
			[]plan.BurnIn{{Queue: "q", Minutes: 60, Node: plan.Cost{USD: 30}, LeastNodes: 2, Least: plan.Cost{USD: 60}}}},
		{"the_dearest_of_several", queue(several), "BurnIn: {Minutes: 60}", nil,
			[]plan.BurnIn{{Queue: "q", Minutes: 60, Node: plan.Cost{USD: 0.768}, LeastNodes: 2, Least: plan.Cost{USD: 1.536}}}},
		{"spot_is_no_dearer_than_on_demand", spot, "BurnIn: {Minutes: 60}", nil,
			[]plan.BurnIn{{Queue: "q", Minutes: 60, Node: plan.Cost{USD: 0.68}, LeastNodes: 1, Least: plan.Cost{USD: 0.68}}}},
		{"spot_of_the_user", spot, "BurnIn: {Minutes: 60}", map[string]float64{"c6i.4xlarge": 0.3},
			[]plan.BurnIn{{Queue: "q", Minutes: 60, Node: plan.Cost{USD: 0.3}, LeastNodes: 1, Least: plan.Cost{USD: 0.3}}}},
		{"a_price_that_nobody_knows", unknown, "BurnIn: {Minutes: 60}", nil, []plan.BurnIn{{Queue: "q", Minutes: 60,
			Node: plan.Cost{Missing: []string{"1 × p5e.48xlarge"}}, LeastNodes: 3, Least: plan.Cost{USD: 0.68, Missing: []string{"2 × p5e.48xlarge"}}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := ask(t, row.file, row.workload)
			q.Prices = row.prices
			e := answer(t, q)
			if diff := cmp.Diff(row.want, e.BurnIn); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), `"burn_in"`) != (row.want != nil) {
				t.Errorf("the field burn_in is there, or is not: %s", data)
			}
		})
	}
}

// TestNew_burn_in_never_changes_the_rest holds that it is beside what the cluster costs.
func TestNew_burn_in_never_changes_the_rest(t *testing.T) {
	file := queue("InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 4")
	with, without := answer(t, ask(t, file, "BurnIn: {Minutes: 240}")), answer(t, ask(t, file, "Models: []"))
	with.BurnIn = nil
	a, err := json.Marshal(with)
	b, other := json.Marshal(without)
	if err != nil || other != nil || string(a) != string(b) {
		t.Errorf("got %s, %v\nwant %s, %v", a, err, b, other)
	}
}
