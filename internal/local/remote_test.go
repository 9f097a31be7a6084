package local

import (
	"context"
	"testing"
	"time"
)

// TestOutputEnds has a program wait in a child of its own, which has its output, as
// one on a head node does: it must end with its context.
func TestOutputEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := output(ctx, []string{"/bin/sh", "-c", "/bin/sleep 1000 & wait"}); err == nil {
		t.Error("what was told to end did not")
	}
}
