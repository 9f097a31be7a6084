package checkpoint_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

func whole(steps ...int64) []checkpoint.Known {
	var all []checkpoint.Known
	for _, n := range steps {
		all = append(all, checkpoint.Known{Dir: fmt.Sprintf("run/checkpoint-%d", n), Step: n, Whole: true})
	}
	return all
}

func TestExpire(t *testing.T) {
	torn, named := whole(40, 30, 20, 10), whole(40, 30, 20, 10)
	torn[0].Whole, torn[3].Whole = false, false
	named[3].Named = true
	final := append(whole(20, 10), checkpoint.Known{Dir: "run/checkpoint-final", Step: checkpoint.NoStep, Whole: true})
	two := append(whole(20, 10), checkpoint.Known{Dir: "other/checkpoint-5", Step: 5, Whole: true}, checkpoint.Known{Dir: "other/checkpoint-4", Step: 4, Whole: true})
	for _, c := range []struct {
		name   string
		all    []checkpoint.Known
		policy checkpoint.Policy
		want   []string
	}{
		{"all_stay", whole(10, 20, 30), checkpoint.Policy{}, nil},
		{"every_alone_is_no_limit", whole(10, 20, 30), checkpoint.Policy{Every: 20}, nil},
		{"the_newest_stay", whole(10, 9, 100, 20), checkpoint.Policy{Last: 2}, []string{"run/checkpoint-9", "run/checkpoint-10"}},
		{"milestones_stay", whole(10, 20, 30, 40, 50), checkpoint.Policy{Last: 1, Every: 20}, []string{"run/checkpoint-10", "run/checkpoint-30"}},
		{"fewer_than_asked", whole(10, 20), checkpoint.Policy{Last: 3}, nil},
		{"torn_ones_do_not_count", torn, checkpoint.Policy{Last: 1}, []string{"run/checkpoint-10", "run/checkpoint-20"}},
		{"a_named_one_stays", named, checkpoint.Policy{Last: 1}, []string{"run/checkpoint-20", "run/checkpoint-30"}},
		{"one_without_a_step_stays", final, checkpoint.Policy{Last: 1}, []string{"run/checkpoint-10"}},
		{"each_run_for_itself", two, checkpoint.Policy{Last: 1}, []string{"other/checkpoint-4", "run/checkpoint-10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, g := range checkpoint.Expire(c.all, c.policy) {
				got = append(got, g.Dir)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if g := checkpoint.Expire(whole(1, 2, 3), checkpoint.Policy{Last: 2}); g[0].Reason != "2 whole checkpoints are newer" {
		t.Errorf("the reason is %q", g[0].Reason)
	}
}

// TestExpireLaws has that the newest whole checkpoint, and whatever a pointer names, stays whatever the policy is, and
// that what went once does not bring others down with it.
func TestExpireLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		var all []checkpoint.Known
		for n := range r.Int64N(12) {
			all = append(all, checkpoint.Known{Dir: fmt.Sprintf("%s/step-%d", []string{"a", "b"}[r.IntN(2)], n), Step: n - 1, Whole: r.IntN(3) > 0, Named: r.IntN(6) == 0})
		}
		p := checkpoint.Policy{Last: r.IntN(4), Every: r.Int64N(4)}
		gone := checkpoint.Expire(slices.Clone(all), p)
		left := slices.DeleteFunc(slices.Clone(all), func(k checkpoint.Known) bool {
			return slices.ContainsFunc(gone, func(g checkpoint.Gone) bool { return g.Dir == k.Dir })
		})
		newest := map[string]checkpoint.Known{}
		for _, k := range all {
			if run := path.Dir(k.Dir); k.Whole && k.Step > newest[run].Step {
				newest[run] = k
			}
			if k.Named && !slices.Contains(left, k) {
				t.Fatalf("%s is named and goes", k.Dir)
			}
		}
		for _, k := range newest {
			if !slices.Contains(left, k) {
				t.Fatalf("%s is the newest and goes, of %+v by %+v", k.Dir, all, p)
			}
		}
		if again := checkpoint.Expire(left, p); len(again) > 0 {
			t.Fatalf("of %+v there go %+v, and then %+v", all, gone, again)
		}
	}
}
