package aws

import "testing"

func TestTrialOn(t *testing.T) {
	trial := Trial{Queue: "a-st-b", Resource: "r", Static: true}
	for node, want := range map[string]bool{
		"a-st-b-st-r-1": true, "a-st-b-st-r-12": true,
		"a-st-b-dy-r-1": false, "a-st-b-st-r-x-1": false, "a-st-b-1": false, "b-st-r-1": false,
	} {
		if got := trial.on(node); got != want {
			t.Errorf("the test job may run on %s: %v", node, got)
		}
	}
}
