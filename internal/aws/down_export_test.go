package aws_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/step"
)

// TestDownExportsFirst holds that what a head node has still to export is waited for, and that
// what cannot be exported keeps --delete-data from deleting it.
func TestDownExportsFirst(t *testing.T) {
	w := newWorld(t)
	var waits, blocked atomic.Int64
	waits.Store(3)
	blocked.Store(1)
	w.says = func(c *manifest.ClusterStatus) {
		if c.Fleet == "stopped" && waits.Load() > 0 {
			waits.Add(-1)
		}
		n := int(blocked.Load())
		c.Exports = []manifest.Exported{{Path: "/ebs/runs", Looked: time.Now().UTC(), Bucket: "results", Pending: int(waits.Load()) + n, Blocked: n, First: "pipe: it is a pipe"}}
	}
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), plainFile, "", r); err != nil {
		t.Fatal(err)
	}
	_, err := w.down(t.Context(), true, r)
	if err == nil || !strings.Contains(err.Error(), "nothing was deleted: 1 file of /ebs/runs cannot be exported, such as pipe: it is a pipe") {
		t.Fatalf("got %v", err)
	}
	if waits.Load() != 0 {
		t.Errorf("%d files were left behind", waits.Load())
	}
	blocked.Store(0)
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.steps, func(s step.Step) bool { return s.Name == "export what is left" && s.Detail == "nothing waits" })
	j := slices.IndexFunc(r.steps, func(s step.Step) bool { return s.Name == "delete stack demo" })
	if i < 0 || j < i {
		t.Errorf("steps %+v", r.steps)
	}
}
