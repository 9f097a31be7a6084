package cli

import "testing"

// TestWayOut adds to what sbatch says what to do, about the cluster that was named.
func TestWayOut(t *testing.T) {
	a := &app{cluster: "demo"}
	for said, want := range map[string]string{
		"Required partition not available (inactive or drain)":                                  "; if the fleet is stopped, which `muster --cluster demo status` says, `muster --cluster demo fleet start` lets it run",
		"invalid partition specified: x; Invalid partition name specified":                      "; `muster --cluster demo exec -- sinfo --summarize` lists the partitions",
		"Requested partition configuration not available now":                                   "; fewer nodes are in service than the job asks for: `muster --cluster demo nodes` shows which",
		"Batch script contains DOS line breaks":                                                 "",
		"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)": "",
	} {
		if got := a.wayOut(said); got != said+want {
			t.Errorf("%s: got %s", said, got)
		}
	}
}
