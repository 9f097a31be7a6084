package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestNodesBurnIn has nodes that are powering up in a queue with a burn-in be named with its limit, and no others.
func TestNodesBurnIn(t *testing.T) {
	limits := map[string]time.Duration{"gpu": 15 * time.Minute, "long": time.Hour}
	for _, row := range []struct {
		name  string
		nodes []nodeAnswer
		want  string
	}{
		{"burn_in", []nodeAnswer{{Name: "n-1", State: "powering up", Partitions: []string{"gpu"}}, {Name: "n-2", State: "powering up", Partitions: []string{"gpu"}}},
			"powering up includes the burn-in of new nodes, up to 15 min (BurnIn of muster.yaml): n-[1-2]\n"},
		{"two_partitions", []nodeAnswer{{Name: "n-1", State: "powering up", Partitions: []string{"gpu", "long"}}}, "up to 1 h "},
		{"another_queue", []nodeAnswer{{Name: "c-1", State: "powering up", Partitions: []string{"cpu"}}}, ""},
		{"up", []nodeAnswer{{Name: "n-1", State: "idle", Partitions: []string{"gpu"}}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := nodesAnswer{Nodes: row.nodes}
			answer.addBurnIn(limits)
			var out bytes.Buffer
			if err := answer.write(&out, false, time.Now()); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); row.want == "" && strings.Contains(got, "burn-in") || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
