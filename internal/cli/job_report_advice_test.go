package cli

import (
	"fmt"
	"slices"
	"testing"
)

// TestAdviceOnce: what fits several jobs is said once, with the first of them.
func TestAdviceOnce(t *testing.T) {
	r := reportAnswer{By: "job"}
	add := func(key, class, advice string) {
		r.Rows = append(r.Rows, reportRow{Key: key, Advice: advice, Classes: []reportClass{{text: class, NodeHours: 2}}})
	}
	for i := range 10 {
		add(fmt.Sprint(i), "waiting", "wait less")
	}
	add("10", "", "")
	add("11", "hung", "hang less")
	want := []string{"job 0, 1, 2, 3, 4, 5, 6, 7 and 2 more (waiting, 20 h of nodes): wait less", "job 11 (hung, 2 h of nodes): hang less"}
	if got := r.advice(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
