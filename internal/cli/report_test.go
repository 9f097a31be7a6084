package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestWaiting_without_a_terminal has a line now and then, and none where nothing is
// to be said.
func TestWaiting_without_a_terminal(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		var out bytes.Buffer
		p := &progress{app: &app{err: &out, quiet: quiet}}
		for s := range 95 {
			p.Waiting("static nodes", "1 of 2", time.Duration(s)*time.Second)
		}
		p.Waiting("test job", "q", 10*time.Second)
		want := 3
		if quiet {
			want = 0
		}
		if got := strings.Count(out.String(), "static nodes: waiting for 1 of 2, "); got != want || strings.Contains(out.String(), "test job") {
			t.Errorf("quiet %v: %d lines:\n%s", quiet, got, &out)
		}
	}
}
