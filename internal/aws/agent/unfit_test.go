package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
)

// ridOfTheUnfit waits until the machines that cannot serve are gone, each with its reason, and holds what is kept of them.
func (c *cloud) ridOfTheUnfit(t *testing.T) {
	t.Helper()
	const head = "i-0000000000000head"
	c.await(t, "rid of the node that cannot boot", time.Minute, func() bool {
		events := c.file(head, "var/log/muster/events.jsonl")
		return strings.Contains(events, "boot failed") && strings.Contains(events, "this cannot work") && c.gone("bad-dy-p5-1")
	})
	c.await(t, "rid of the node whose GPUs nobody can use", time.Minute, func() bool {
		events := c.file(head, "var/log/muster/events.jsonl")
		return strings.Contains(events, "look at health: CUDA does not start: error 999 CUDA_ERROR_UNKNOWN") && c.gone("dead-dy-p5-1") &&
			strings.Contains(events, "dead: 2 nodes in a row failed to boot in the same way (each try is paid: p5.48xlarge at $55.04 an hour)")
	})
	c.await(t, "rid of the machine that breaks under load, and its job done by another", 3*time.Minute, func() bool {
		events := c.file(head, "var/log/muster/events.jsonl")
		return strings.Contains(events, `"boot failed","nodes":"worn-dy-p5-1","reason":"burn in: unfit: ranks: `) &&
			strings.Contains(events, `"kind":"burn-in","nodes":"worn-dy-p5-1","reason":"fit after `) && strings.Contains(c.shared("worn.out"), "all-reduce-bandwidth")
	})
	c.keptReport(t, head)
}

// keptReport holds that what a machine found that is gone stays on the head node.
func (c *cloud) keptReport(t *testing.T, head string) {
	t.Helper()
	found := 0
	for line := range strings.Lines(c.file(head, "var/log/muster/events.jsonl")) {
		var e struct{ Kind, Nodes, Report string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind != "boot failed" || e.Nodes != "worn-dy-p5-1" {
			continue
		}
		report, err := verify.Parse([]byte(c.file(head, e.Report)))
		if err != nil || report.Verdict != verify.Fail || !slices.Equal(report.Nodes, []string{"worn-dy-p5-1"}) {
			t.Errorf("%q: %+v, %v", e.Report, report, err)
		}
		found++
	}
	if found == 0 {
		t.Error("no machine was unfit")
	}
}
